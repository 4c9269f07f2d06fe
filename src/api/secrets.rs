//! `/v1/secrets`: put, list the names, delete. A value goes in and never comes out.

use super::{App, auth, body, json_text};
use crate::error::Fault;
use crate::store::secrets as table;
use crate::tools::secret::{Grants, MAX_BYTES, MIN_BYTES, is_name};
use crate::tools::vault;
use serde::Deserialize;
use serde_json::{Value, json};
use worker::{Method, Request, Response};

/// Secrets of one principal at most.
const MAX_SECRETS: usize = 500;

/// A secret to put.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// Its value.
    pub value: String,
    /// Sources that may use it.
    pub sources: Vec<String>,
    /// Hosts that it may be shown to.
    pub hosts: Vec<String>,
    /// Headers that it may stand in; `authorization` without.
    pub headers: Option<Vec<String>>,
    /// Parameters of the URL that it may stand in.
    #[serde(default)]
    pub query: Vec<String>,
    /// Cookies that it may be.
    #[serde(default)]
    pub cookies: Vec<String>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").finish_non_exhaustive()
    }
}

/// `GET /v1/secrets`: names and grants.
///
/// # Errors
///
/// No scope; the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "secrets").await?;
    let secrets: Vec<Value> = table::list(&app.db, &principal.name)
        .await?
        .iter()
        .map(|secret| shown(&secret.name, &secret.grants, secret.created_at, secret.updated_at))
        .collect();
    json_text(json!({ "secrets": secrets }).to_string(), 200)
}

fn shown(name: &str, grants: &str, created_at: u64, updated_at: u64) -> Value {
    let mut shown = serde_json::from_str::<Value>(grants).unwrap_or_else(|_| json!({}));
    if let Some(members) = shown.as_object_mut() {
        members.insert("name".to_owned(), json!(name));
        members.insert("createdAt".to_owned(), json!(created_at));
        members.insert("updatedAt".to_owned(), json!(updated_at));
    }
    shown
}

/// `PUT` and `DELETE /v1/secrets/:name`.
///
/// # Errors
///
/// A bad name or value, no scope, no such secret; no key in the environment; the database.
pub async fn one(app: &App, mut req: Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "secrets").await?;
    let owner = principal.name.as_str();
    if req.method() == Method::Delete {
        if !table::delete(&app.db, owner, name).await? {
            return Err(vault::not_found(name));
        }
        return json_text(json!({ "name": name, "deleted": true }).to_string(), 200);
    }
    let wanted: Wanted = body::json(&mut req).await?;
    json_text(put(app, owner, name, wanted).await?.to_string(), 200)
}

/// Puts a secret; what is told of it.
///
/// # Errors
///
/// A bad name or value; no key in the environment; the database.
pub async fn put(app: &App, owner: &str, name: &str, wanted: Wanted) -> Result<Value, Fault> {
    if !is_name(name) {
        let what = "must be of small letters, digits, _ and -, begin with a letter, and have 64 \
                    characters at most";
        return Err(Fault::invalid("name", what));
    }
    let bytes = wanted.value.len();
    if !(MIN_BYTES..=MAX_BYTES).contains(&bytes) {
        return Err(Fault::invalid("value", format!("must have {MIN_BYTES} to {MAX_BYTES} bytes")));
    }
    if wanted.value.chars().any(char::is_control) {
        return Err(Fault::invalid("value", "must not have control characters"));
    }
    let grants = Grants {
        sources: wanted.sources,
        hosts: wanted.hosts,
        headers: wanted.headers.unwrap_or_else(|| vec!["authorization".to_owned()]),
        query: wanted.query,
        cookies: wanted.cookies,
    };
    grants.check()?;
    let known = table::list(&app.db, owner).await?;
    if known.len() >= MAX_SECRETS && known.iter().all(|secret| secret.name != name) {
        let most = u64::try_from(MAX_SECRETS).unwrap_or(u64::MAX);
        return Err(Fault::limit("secrets", "The number of secrets", None, most, "secrets"));
    }
    vault::put(&app.db, &app.config.secrets_keys, owner, name, &wanted.value, &grants).await?;
    let mut told = serde_json::to_value(&grants).unwrap_or_default();
    if let Some(members) = told.as_object_mut() {
        members.insert("name".to_owned(), json!(name));
    }
    Ok(told)
}
