//! `/v1/services`: start, look at and stop services of packages.

use super::packages::query;
use super::{App, allow, auth, body, json_text, nothing_at, seconds};
use crate::auth::Principal;
use crate::error::Fault;
use crate::packages::Target;
use crate::services::{self, MAX_WAIT_MS, Start};
use worker::{Method, Request, Response};

/// `/v1/services`; `segments` is what follows.
///
/// # Errors
///
/// Whatever refuses the request.
pub async fn route(app: &App, req: Request, segments: &[&str]) -> Result<Response, Fault> {
    match segments {
        [] => {
            allow(&req, &[Method::Get])?;
            list(app, &req).await
        }
        [package, name] => {
            allow(&req, &[Method::Get])?;
            get(app, &req, package, name).await
        }
        [package, name, "start"] => {
            allow(&req, &[Method::Post])?;
            start(app, req, package, name).await
        }
        [package, name, "stop"] => {
            allow(&req, &[Method::Post])?;
            stop(app, &req, package, name).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `GET /v1/services?limit&cursor`.
///
/// # Errors
///
/// A bad page, no scope; the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    let [limit, cursor] = query(req, ["limit", "cursor"])?;
    let (limit, cursor) = (limit.as_deref(), cursor.as_deref());
    json_text(services::list(&app.hands(), &principal.name, limit, cursor).await?, 200)
}

/// `GET /v1/services/:package/:service`.
///
/// # Errors
///
/// No such service, no scope; the database.
pub async fn get(app: &App, req: &Request, package: &str, name: &str) -> Result<Response, Fault> {
    let principal = auth::principal(app, req).await?;
    let target = Target::of(package, name)?;
    if !principal.may("runs") {
        require(&principal, &target)?;
    }
    json_text(services::status(&app.hands(), &principal.name, &target).await?, 200)
}

/// `POST /v1/services/:package/:service/start`.
///
/// # Errors
///
/// Whatever refuses it; then nothing is started.
pub async fn start(
    app: &App,
    mut req: Request,
    package: &str,
    name: &str,
) -> Result<Response, Fault> {
    let principal = auth::principal(app, &req).await?;
    let target = Target::of(package, name)?;
    require(&principal, &target)?;
    let empty = req.headers().get("content-length").ok().flatten().is_some_and(|is| is == "0");
    let start: Start = if empty { Start::default() } else { body::json(&mut req).await? };
    let origin = super::origin(&req);
    let hands = app.hands();
    let started = services::start(&hands, &principal.name, &target, start, &origin).await?;
    json_text(started, 200)
}

/// `POST /v1/services/:package/:service/stop?wait=`.
///
/// # Errors
///
/// No such service, no scope; the database.
pub async fn stop(app: &App, req: &Request, package: &str, name: &str) -> Result<Response, Fault> {
    let principal = auth::principal(app, req).await?;
    let target = Target::of(package, name)?;
    require(&principal, &target)?;
    let wait_ms = seconds(req, "wait", MAX_WAIT_MS)?.unwrap_or(0);
    json_text(services::stop(&app.hands(), &principal.name, &target, wait_ms).await?, 200)
}

/// A service is started and stopped by whoever may invoke it.
fn require(principal: &Principal, target: &Target) -> Result<(), Fault> {
    let scope = target.scope();
    if principal.may(&scope) { Ok(()) } else { Err(auth::missing(&scope)) }
}
