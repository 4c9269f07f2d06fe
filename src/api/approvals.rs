//! `/v1/approvals`: what waits for a person, and the person's decision; and going on with a run.

use super::{App, allow, auth, body, json_text, nothing_at, streaming};
use crate::approvals::{self, Decide};
use crate::error::Fault;
use worker::{Method, Request, Response};

/// What `/v1/approvals` answers to; `rest` are the parts of the path after it.
///
/// # Errors
///
/// As the resource.
pub async fn route(app: &App, req: Request, rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] => {
            allow(&req, &[Method::Get])?;
            list(app, &req).await
        }
        [id] if req.method() == Method::Post => decide(app, req, id).await,
        [id] => {
            allow(&req, &[Method::Get, Method::Post])?;
            get(app, &req, id).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `GET /v1/approvals?state=open`.
///
/// # Errors
///
/// No scope, an unknown state, the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "approve").await?;
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let mut state = None;
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "state" => state = Some(value.into_owned()),
            _ => return Err(Fault::invalid("query", "has the one parameter state")),
        }
    }
    json_text(approvals::list(&app.db, &principal.name, state.as_deref()).await?, 200)
}

/// `GET /v1/approvals/:id`.
///
/// # Errors
///
/// No scope, no such approval, the database.
pub async fn get(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "approve").await?;
    json_text(approvals::get(&app.db, &principal.name, id).await?, 200)
}

/// `POST /v1/approvals/:id`: decides, and has the run go on.
///
/// # Errors
///
/// No scope, no such approval, another decision that stands, the database.
pub async fn decide(app: &App, mut req: Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "approve").await?;
    let by = auth::token_id(&req).unwrap_or_else(|| principal.name.clone());
    let wanted: Decide = body::json(&mut req).await?;
    let row = approvals::decide(&app.db, &app.desk, (&principal.name, &by), id, &wanted).await?;
    app.hands().take_up_later(&row.run_id);
    json_text(approvals::view(&row).to_string(), 200)
}

/// `POST /v1/runs/:id/resume?wait=45`: waits for the run's outcome, never decides. Open after a second,
/// the answer is streamed; a hang-up cancels nothing.
///
/// # Errors
///
/// No scope, no such run, the database.
pub async fn resume(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "execute").await?;
    let most = approvals::RESUME_WAIT_MS;
    let wait_ms = super::seconds(req, "wait", most)?.unwrap_or(most);
    let wait = approvals::Wait::at_most(wait_ms);
    let came = approvals::resume(app.hands(), principal.name, id.to_owned(), None, wait);
    streaming::json(streaming::look(came).await)
}
