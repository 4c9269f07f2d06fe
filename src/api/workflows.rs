//! `/v1/workflows`: create a durable run, look one up, list them, end one.

use super::{App, allow, auth, body, json_text, nothing_at, origin};
use crate::error::Fault;
use crate::runs::Page;
use crate::workflows::{self, WorkflowRequest};
use worker::{Method, Request, Response};

/// Answers a request; `rest`: its path below `/v1/workflows`.
///
/// # Errors
///
/// A path or a method that there is not; as below.
pub async fn route(app: &App, req: Request, rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] => {
            allow(&req, &[Method::Get, Method::Post])?;
            if req.method() == Method::Post {
                create(app, req).await
            } else {
                list(app, &req).await
            }
        }
        [id] => {
            allow(&req, &[Method::Get])?;
            get(app, &req, id).await
        }
        [id, "cancel"] => {
            allow(&req, &[Method::Post])?;
            cancel(app, &req, id).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `POST /v1/workflows`: 201 with the id, 200 where the key has one already.
///
/// # Errors
///
/// Whatever refuses it, before anything is created.
async fn create(app: &App, mut req: Request) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "execute").await?;
    let header = req.headers().get("idempotency-key").ok().flatten();
    let mut request: WorkflowRequest = body::json(&mut req).await?;
    if let Some(key) = header {
        if request.idempotency_key.as_ref().is_some_and(|other| *other != key) {
            let what = "differs from the header Idempotency-Key";
            return Err(Fault::invalid("idempotencyKey", what));
        }
        request.idempotency_key = Some(key);
    }
    let origin = origin(&req);
    let created = workflows::create(&app.hands(), &principal.name, &origin, request).await?;
    let response = json_text(created.text, if created.replayed { 200 } else { 201 })?;
    if created.replayed {
        let marked = response.headers().set("idempotency-replayed", "true");
        marked.map_err(|error| super::internal(&error.to_string()))?;
    }
    Ok(response)
}

/// `GET /v1/workflows/:id`.
///
/// # Errors
///
/// No such workflow of this principal; the database.
async fn get(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    json_text(workflows::get(&app.hands(), &principal.name, id).await?, 200)
}

/// `POST /v1/workflows/:id/cancel`.
///
/// # Errors
///
/// As [`get`].
async fn cancel(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "execute").await?;
    json_text(workflows::cancel(&app.hands(), &principal.name, id).await?, 200)
}

/// `GET /v1/workflows?limit&cursor&status`.
///
/// # Errors
///
/// A bad page; the database.
async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    let pairs = super::runs::page_of(req)?;
    let page = Page::of(&pairs)?;
    json_text(workflows::list(&app.hands(), &principal.name, &page).await?, 200)
}
