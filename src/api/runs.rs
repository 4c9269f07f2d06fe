//! `/v1/runs`: run a program, look one up, list them, end one.

use super::{App, allow, auth, body, json_text, ledger, nothing_at, streaming};
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::run::surface::Surface;
use crate::runs::{self, Page, RunRequest};
use futures_util::FutureExt as _;
use worker::{Method, Request, Response};

/// What `/v1/runs` answers to; `rest` are the parts of the path after it.
///
/// # Errors
///
/// As the resource.
pub async fn route(app: &App, req: Request, rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] if req.method() == Method::Post => create(app, req).boxed_local(),
        [] => {
            allow(&req, &[Method::Get, Method::Post])?;
            list(app, req).boxed_local()
        }
        [id] => {
            allow(&req, &[Method::Get])?;
            get(app, req, id).boxed_local()
        }
        [id, "cancel"] => {
            allow(&req, &[Method::Post])?;
            cancel(app, req, id).boxed_local()
        }
        _ => return Err(nothing_at(&req.path())),
    }
    .await
}

/// `POST /v1/runs?hold=`: runs a program and answers its end. Open after a second, the answer is
/// streamed; a hang-up cancels the run.
///
/// # Errors
///
/// Whatever refuses the request before there is a run.
pub async fn create(app: &App, mut req: Request) -> Result<Response, Fault> {
    let arrived_at = now_ms();
    let principal = auth::require(app, &req, "execute").await?;
    let request: RunRequest = body::json(&mut req).await?;
    let hold_ms = super::seconds(&req, "hold", app.config.hold_ms)?.unwrap_or(0);
    let claim = ledger::of_header(&req, ledger::Wanted::of_run(&request))?;
    let name = &principal.name;
    let mut order = runs::order(&app.config, name, Surface::Execute, request, arrived_at)?;
    order.claim = claim;
    order.hold_ms = hold_ms;
    order.origin = super::origin(&req);
    streaming::answer(app, order).await
}

/// `GET /v1/runs/:id`.
///
/// # Errors
///
/// No such run of this principal; the database.
pub async fn get(app: &App, req: Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "runs").await?;
    json_text(runs::get(&app.db, &app.desk, &principal.name, id).await?, 200)
}

/// `POST /v1/runs/:id/cancel`.
///
/// # Errors
///
/// As [`get`].
pub async fn cancel(app: &App, req: Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "execute").await?;
    let ended = runs::cancel(&app.db, &app.desk, &principal.name, id).await?;
    // Whoever waited for it goes on.
    app.hands().take_up_later(id);
    json_text(ended, 200)
}

/// `GET /v1/runs?limit&cursor&status`.
///
/// # Errors
///
/// A bad page; the database.
pub async fn list(app: &App, req: Request) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "runs").await?;
    let pairs = page_of(&req)?;
    json_text(runs::list(&app.db, &principal.name, &Page::of(&pairs)?).await?, 200)
}

/// The parameters of a list, by name.
pub(super) fn page_of(req: &Request) -> Result<Vec<(String, String)>, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    Ok(url.query_pairs().into_owned().collect())
}
