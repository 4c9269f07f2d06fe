//! `GET /health`: whether the worker answers, and which one it is.

use super::{internal, json_text};
use crate::error::Fault;
use serde_json::json;
use worker::{Env, Response};

/// `{ok, version, commitSha}`. Asks neither database nor configuration: it says that the deploy
/// arrived, not that everything behind it works.
///
/// # Errors
///
/// When the platform cannot make a response.
pub fn answer(env: &Env) -> Result<Response, Fault> {
    let sha = env.var("COMMIT_SHA").map_or_else(|_| "dev".to_owned(), |sha| sha.to_string());
    let body = json!({ "ok": true, "version": env!("CARGO_PKG_VERSION"), "commitSha": sha });
    json_text(body.to_string(), 200).map_err(|fault| internal(&fault.message))
}
