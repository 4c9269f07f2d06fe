//! HTTP: one file a resource. Who asks and what, then [`crate::runs`] and its like.
//!
//! A handler gives [`Answer`]s or a [`Fault`]; the one place that turns a fault into HTTP is here.

pub mod approvals;
pub mod auth;
pub mod body;
pub mod compensations;
pub mod health;
pub mod ledger;
pub mod mcp;
pub mod mcp_answers;
pub mod packages;
pub mod policies;
pub mod runs;
pub mod schedules;
pub mod secrets;
pub mod services;
pub mod sources;
pub mod streaming;
pub mod tokens;
pub mod workflows;

use crate::approvals::Hands;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::pages;
use crate::platform::random;
use crate::platform::workflows::Workflows;
use crate::report::desk::{Circumstances, Desk};
use crate::store::db::Db;
use futures_util::FutureExt as _;
use serde_json::json;
use std::rc::Rc;
use worker::{Context, Env, Headers, Method, Request, Response};

/// What every handler has at hand.
#[derive(Debug)]
pub struct App {
    /// Bindings and variables of the deployment.
    pub env: Env,
    /// The request's context, shared with what outlives the answer.
    pub ctx: Rc<Context>,
    /// The checked configuration.
    pub config: Rc<Config>,
    /// The database.
    pub db: Rc<Db>,
    /// Where faults of ours go.
    pub desk: Rc<Desk>,
}

impl App {
    /// Whether this deployment has an engine of durable runs.
    #[must_use]
    pub fn has_workflows(&self) -> bool {
        Workflows::of(&self.env).is_ok()
    }

    /// What taking up a run needs.
    #[must_use]
    pub fn hands(&self) -> Hands {
        Hands {
            ctx: Rc::clone(&self.ctx),
            db: Rc::clone(&self.db),
            config: Rc::clone(&self.config),
            desk: Rc::clone(&self.desk),
            engine: Workflows::of(&self.env).ok(),
        }
    }
}

/// Answers a request. What goes wrong is an answer of the catalogue.
///
/// # Errors
///
/// When the platform cannot make a response at all.
pub async fn answer(req: Request, env: Env, ctx: Context) -> worker::Result<Response> {
    let ctx = Rc::new(ctx);
    let desk = Rc::new(Desk::of(&env, Rc::clone(&ctx)));
    match route(req, env, ctx, &desk).await {
        Ok(response) => Ok(response),
        Err(fault) => {
            desk.take(&fault, &Circumstances::default());
            refusal(&fault)
        }
    }
}

async fn route(
    req: Request,
    env: Env,
    ctx: Rc<Context>,
    desk: &Rc<Desk>,
) -> Result<Response, Fault> {
    let path = req.path();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    if segments == ["health"] {
        allow(&req, &[Method::Get, Method::Head])?;
        return health::answer(&env);
    }
    if let Some(answer) = crate::mcp::well_known(&path) {
        return mcp::respond(answer);
    }
    let config = Config::of(&env)?;
    let db = Rc::new(Db::of(&env)?);
    let app = App { env, ctx, config, db, desk: Rc::clone(desk) };
    if pages::owns(&segments) {
        return pages::answer(&app, req, &segments).boxed_local().await;
    }
    // Each a future of its own: V8 compiles a function whole when it is first called, and all
    // resources in one state machine were 330 KB of it.
    match segments.as_slice() {
        ["mcp"] => mcp::answer(&app, req).boxed_local(),
        ["v1", "runs", id, "resume"] => approvals::resume(&app, &req, id).boxed_local(),
        ["v1", "runs", id, "rollback"] => compensations::rollback(&app, &req, id).boxed_local(),
        ["v1", "runs", rest @ ..] => runs::route(&app, req, rest).boxed_local(),
        ["v1", "compensations"] => compensations::list(&app, req).boxed_local(),
        ["v1", "approvals", rest @ ..] => approvals::route(&app, req, rest).boxed_local(),
        ["v1", "policies", rest @ ..] => policies::route(&app, req, rest).boxed_local(),
        ["v1", "packages", rest @ ..] => packages::route(&app, req, rest).boxed_local(),
        ["v1", "sources" | "tools" | "secrets", ..] => {
            sources::route(&app, req, segments.get(1..).unwrap_or_default()).boxed_local()
        }
        ["v1", "schedules", rest @ ..] => schedules::route(&app, req, rest).boxed_local(),
        ["v1", "services", rest @ ..] => services::route(&app, req, rest).boxed_local(),
        ["v1", "workflows", rest @ ..] => workflows::route(&app, req, rest).boxed_local(),
        ["v1", "tokens", rest @ ..] => tokens::route(&app, req, rest).boxed_local(),
        _ => return Err(nothing_at(&path)),
    }
    .await
}

fn nothing_at(path: &str) -> Fault {
    let shown: String = path.chars().take(200).collect();
    Fault::new(Code::RouteNotFound, format!("There is nothing at {shown}."))
}

/// A parameter of the query in whole seconds, as milliseconds, at most `most_ms`; the only one that
/// the resource has.
fn seconds(req: &Request, name: &str, most_ms: u64) -> Result<Option<u64>, Fault> {
    let url = req.inner().url();
    // The way of a request has no fragment.
    let Some((_, query)) = url.split_once('?') else { return Ok(None) };
    let mut found = None;
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if key != name {
            return Err(Fault::invalid("query", format!("has the one parameter {name}")));
        }
        let ms = value.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000));
        match ms {
            Some(ms) if ms <= most_ms => found = Some(ms),
            _ => {
                let what = format!("must be whole seconds from 0 to {}", most_ms.div_euclid(1_000));
                return Err(Fault::invalid(name, what));
            }
        }
    }
    Ok(found)
}

/// Where this deployment is reached, as the request says: of the links that it gives.
pub(crate) fn origin(req: &Request) -> String {
    origin_of(&req.inner().url()).to_owned()
}

/// The origin of an address as the platform writes it, in its one form: nothing is left to parse.
fn origin_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at.saturating_add(3));
    let path = url.get(host..).and_then(|rest| rest.find('/'));
    let end = path.map_or(url.len(), |at| host.saturating_add(at));
    url.get(..end).unwrap_or_default()
}

/// Refuses a method that the resource does not have.
pub(crate) fn allow(req: &Request, methods: &[Method]) -> Result<(), Fault> {
    if methods.contains(&req.method()) {
        return Ok(());
    }
    let allowed: Vec<String> = methods.iter().map(ToString::to_string).collect();
    let allowed = allowed.join(", ");
    let message = format!("{} is not allowed here; {allowed} is.", req.method());
    Err(Fault::new(Code::MethodNotAllowed, message).with("allow", allowed))
}

/// JSON text as it stands.
pub(crate) fn json_text(text: String, status: u16) -> Result<Response, Fault> {
    let made = || -> worker::Result<Response> {
        let headers = Headers::new();
        headers.set("content-type", "application/json")?;
        headers.set("cache-control", "no-store")?;
        headers.set("x-content-type-options", "nosniff")?;
        Ok(Response::from_bytes(text.into_bytes())?.with_headers(headers).with_status(status))
    };
    made().map_err(|error| internal(&error.to_string()))
}

/// The answer to a request that was refused: status, headers and body of the catalogue's entry.
///
/// # Errors
///
/// When the platform cannot make a response at all.
pub fn refusal(fault: &Fault) -> worker::Result<Response> {
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    headers.set("cache-control", "no-store")?;
    headers.set("x-content-type-options", "nosniff")?;
    headers.set("x-holdfast-code", fault.code.entry().code)?;
    match fault.code {
        Code::MethodNotAllowed => {
            let allowed = fault.details.get("allow").and_then(|allow| allow.as_str());
            headers.set("allow", allowed.unwrap_or("GET"))?;
        }
        Code::TokenMissing => headers.set("www-authenticate", "Bearer")?,
        Code::TokenInvalid => headers.set("www-authenticate", "Bearer error=\"invalid_token\"")?,
        Code::ScopeMissing => {
            let scope = fault.details.get("scope").and_then(|scope| scope.as_str());
            let value = format!(
                "Bearer error=\"insufficient_scope\", scope=\"{}\"",
                scope.unwrap_or_default()
            );
            headers.set("www-authenticate", &value)?;
        }
        Code::IdempotencyInProgress | Code::CapacityExceeded | Code::StorageUnavailable => {
            headers.set("retry-after", "1")?;
        }
        _ => {}
    }
    let body = json!({ "error": fault.to_json() }).to_string();
    // Inside a run the answer is 200 whatever happened; a request that was refused never is.
    let status = if fault.status() < 400 { 400 } else { fault.status() };
    Ok(Response::from_bytes(body.into_bytes())?.with_headers(headers).with_status(status))
}

/// A fault of ours under a fresh correlation id.
pub(crate) fn internal(cause: &str) -> Fault {
    let correlation = random::hex::<8>().unwrap_or_else(|_| "none".to_owned());
    Fault::internal(&correlation, cause)
}

#[cfg(test)]
mod tests {
    //! What is read of an address.

    use super::*;

    #[test]
    fn the_origin_is_what_a_url_parser_says() {
        for url in [
            "https://holdfast.example/",
            "https://holdfast.example:8443/v1/runs?hold=5",
            "http://127.0.0.1:8787/approvals/apr_1?a=/b",
            "http://[::1]:8787/mcp",
        ] {
            let parsed = url::Url::parse(url).unwrap();
            assert_eq!(origin_of(url), parsed.origin().ascii_serialization(), "{url}");
        }
    }
}
