//! `/v1/schedules`: put, look at, pause, resume, run now and delete schedules.

use super::packages::query;
use super::{App, allow, auth, body, json_text, nothing_at, streaming};
use crate::auth::Principal;
use crate::error::Fault;
use crate::schedules::{self, Begun, Put, Work};
use worker::{Method, Request, Response};

/// Finds the resource below `/v1/schedules`.
///
/// # Errors
///
/// As the resource; no such one, or not by this method.
pub async fn route(app: &App, req: Request, rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] => {
            allow(&req, &[Method::Get])?;
            list(app, &req).await
        }
        [name] => {
            allow(&req, &[Method::Get, Method::Put, Method::Delete])?;
            one(app, req, name).await
        }
        [name, "history"] => {
            allow(&req, &[Method::Get])?;
            history(app, &req, name).await
        }
        [name, change @ ("pause" | "resume")] => {
            allow(&req, &[Method::Post])?;
            pause(app, &req, name, *change == "pause").await
        }
        [name, "run"] => {
            allow(&req, &[Method::Post])?;
            run(app, &req, name).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `GET /v1/schedules?limit&cursor`.
///
/// # Errors
///
/// A bad page, no scope; the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    let [limit, cursor] = query(req, ["limit", "cursor"])?;
    let (limit, cursor) = (limit.as_deref(), cursor.as_deref());
    json_text(schedules::list(&app.hands(), &principal.name, limit, cursor).await?, 200)
}

/// `PUT`, `GET` and `DELETE /v1/schedules/:name`.
///
/// # Errors
///
/// Bad input, no scope, no such schedule; the database.
pub async fn one(app: &App, mut req: Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::principal(app, &req).await?;
    let hands = app.hands();
    match req.method() {
        Method::Put => {
            let wanted: Put = body::json(&mut req).await?;
            require(&principal, &wanted.run)?;
            let origin = super::origin(&req);
            json_text(schedules::put(&hands, &principal.name, name, wanted, &origin).await?, 200)
        }
        Method::Delete => {
            require(&principal, &schedules::work(&hands, &principal.name, name).await?)?;
            json_text(schedules::delete(&hands, &principal.name, name).await?, 200)
        }
        _ => {
            if !principal.may("runs") {
                return Err(auth::missing("runs"));
            }
            json_text(schedules::get(&hands, &principal.name, name).await?, 200)
        }
    }
}

/// `GET /v1/schedules/:name/history?limit&cursor`.
///
/// # Errors
///
/// A bad page, no scope, no such schedule; the database.
pub async fn history(app: &App, req: &Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    let [limit, cursor] = query(req, ["limit", "cursor"])?;
    let (limit, cursor) = (limit.as_deref(), cursor.as_deref());
    json_text(schedules::history(&app.hands(), &principal.name, name, limit, cursor).await?, 200)
}

/// `POST /v1/schedules/:name/pause` and `/resume`.
///
/// # Errors
///
/// No scope, no such schedule, one whose time has passed; the database.
pub async fn pause(app: &App, req: &Request, name: &str, paused: bool) -> Result<Response, Fault> {
    let principal = auth::principal(app, req).await?;
    let hands = app.hands();
    require(&principal, &schedules::work(&hands, &principal.name, name).await?)?;
    json_text(schedules::pause(&hands, &principal.name, name, paused).await?, 200)
}

/// `POST /v1/schedules/:name/run`: runs it once, now, and answers as `POST /v1/runs` does.
///
/// # Errors
///
/// No scope, no such schedule; whatever refuses the run.
pub async fn run(app: &App, req: &Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::principal(app, req).await?;
    let hands = app.hands();
    require(&principal, &schedules::work(&hands, &principal.name, name).await?)?;
    let origin = super::origin(req);
    match schedules::run_now(&hands, &principal.name, name, &origin).await? {
        Begun::Run(order) => streaming::answer(app, *order).await,
        Begun::Workflow(text) => json_text(text, 200),
    }
}

/// A schedule is managed by whoever may have its work run.
fn require(principal: &Principal, work: &Work) -> Result<(), Fault> {
    let scope = work.scope()?;
    if principal.may(&scope) { Ok(()) } else { Err(auth::missing(&scope)) }
}
