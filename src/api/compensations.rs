//! `/v1/compensations`: by which call what a tool did is undone; and `/v1/runs/:id/rollback`.

use super::policies::list_of;
use super::{App, allow, auth, body, json_text, streaming};
use crate::attempt::Order;
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::rollback as undo;
use crate::store::compensations;
use crate::store::lists::{self, Lists};
use crate::tools::compensation::{self, Declaration, Declarations};
use crate::tools::policy::Scope;
use serde::Deserialize;
use serde_json::json;
use worker::{Method, Request, Response};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    #[serde(default = "own")]
    scope: Scope,
    list: Vec<Declaration>,
}

const fn own() -> Scope {
    Scope::Own
}

/// `/v1/compensations`: the lists.
///
/// # Errors
///
/// Another method; no scope, a wrong declaration, the database.
pub async fn list(app: &App, req: Request) -> Result<Response, Fault> {
    allow(&req, &[Method::Get, Method::Put, Method::Delete])?;
    match req.method() {
        Method::Put => put(app, req).await,
        Method::Delete => remove(app, &req).await,
        _ => get(app, &req).await,
    }
}

/// `GET /v1/compensations`: `{all, own, sources}`.
async fn get(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "policies").await?;
    shown(&compensations::of(&app.db, &principal.name).await?)
}

/// `PUT /v1/compensations`: replaces a list as a whole.
async fn put(app: &App, mut req: Request) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "policies").await?;
    let wanted: Wanted = body::json(&mut req).await?;
    let text = compensation::check("list", &wanted.list)?;
    let of = list_of(&principal, wanted.scope)?;
    lists::put(&app.db, Lists::Compensations, &of, &text, &principal.name, now_ms()).await?;
    shown(&compensations::of(&app.db, &principal.name).await?)
}

/// `DELETE /v1/compensations?scope=own`: removes a list.
async fn remove(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "policies").await?;
    let scope = super::policies::scope_of(req)?;
    lists::remove(&app.db, Lists::Compensations, &list_of(&principal, scope)?).await?;
    shown(&compensations::of(&app.db, &principal.name).await?)
}

fn shown(declarations: &Declarations) -> Result<Response, Fault> {
    let Declarations { own, sources, all } = declarations;
    json_text(json!({ "all": all, "own": own, "sources": sources }).to_string(), 200)
}

/// `/v1/runs/:id/rollback`.
///
/// # Errors
///
/// Another method; no scope, no such run, one that is not undone, the database.
pub async fn rollback(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    allow(req, &[Method::Get, Method::Post])?;
    if req.method() == Method::Post {
        return roll_back(app, req, id).await;
    }
    look(app, req, id).await
}

/// `GET /v1/runs/:id/rollback`: what can be undone of a run, and the run that does or did it.
async fn look(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "runs").await?;
    json_text(undo::look(&app.db, &principal.name, id).await?, 200)
}

/// `POST /v1/runs/:id/rollback`: undoes what a run did, by a run of its own, and answers that run as
/// `POST /v1/runs` does. Asked again it answers the same run.
async fn roll_back(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let arrived_at = now_ms();
    let principal = auth::require(app, req, "execute").await?;
    let order = undo::order(&app.db, &app.config, &principal.name, id, arrived_at).await?;
    let order = Order { origin: super::origin(req), ..order };
    streaming::answer(app, order).await
}
