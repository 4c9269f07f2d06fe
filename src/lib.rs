//! Holdfast runs programs that AI agents write, at the edge, under watch.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`error`] | the catalogue of errors, the message of a timeout, what leaves the worker |
//! | [`code`] | from what an agent wrote to a module: recover, strip types, guard |
//! | [`report`] | Sentry: what is reported, what is noise, the tunnel |
//!
//! `run`, `code` and `error` are pure: no JavaScript value, no clock, no database. The file
//! `tests/the_rules_are_pure.rs` holds that.

pub mod code;
pub mod error;
pub mod report;
pub mod run;

use worker::{Context, Env, Request, Response, Result, event};

/// Answers HTTP.
#[event(fetch)]
async fn fetch(req: Request, _env: Env, _ctx: Context) -> Result<Response> {
    match req.path().as_str() {
        "/health" => Response::from_json(&serde_json::json!({ "ok": true })),
        _ => Response::error("not found", 404),
    }
}
