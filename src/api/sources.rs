//! `/v1/sources`: connect services, look at them, have them read again. `/v1/tools`: what they brought.

use super::{App, allow, auth, body, json_text, nothing_at, secrets};
use crate::error::Fault;
use crate::store::sources as table;
use crate::tools::connect::{Hands, not_found};
use crate::tools::find::{self, Search};
use crate::tools::source::{Later, Settings};
use serde_json::{Value, json};
use std::rc::Rc;
use worker::{Method, Request, Response};

/// Bytes of a body: a document of 5 MB, as text in JSON.
const MAX_BODY_BYTES: usize = 12_582_912;

/// `/v1/sources`, `/v1/tools` and `/v1/secrets`; `segments` begins with one of these words.
///
/// # Errors
///
/// Whatever refuses the request.
pub async fn route(app: &App, req: Request, segments: &[&str]) -> Result<Response, Fault> {
    match segments {
        ["sources"] => {
            allow(&req, &[Method::Get])?;
            list(app, &req).await
        }
        ["sources", name] => {
            allow(&req, &[Method::Get, Method::Put, Method::Delete])?;
            one(app, req, name).await
        }
        ["sources", name, what @ ("refresh" | "test")] => {
            allow(&req, &[Method::Post])?;
            ask(app, &req, name, what).await
        }
        ["tools"] => {
            allow(&req, &[Method::Get])?;
            search(app, &req).await
        }
        ["tools", path] => {
            allow(&req, &[Method::Get])?;
            describe(app, &req, path).await
        }
        ["secrets"] => {
            allow(&req, &[Method::Get])?;
            secrets::list(app, &req).await
        }
        ["secrets", name] => {
            allow(&req, &[Method::Put, Method::Delete])?;
            secrets::one(app, req, name).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

fn hands(app: &App) -> Hands {
    Hands {
        env: app.env.clone(),
        db: Rc::clone(&app.db),
        config: Rc::clone(&app.config),
        later: Later::of(Rc::clone(&app.ctx)),
    }
}

fn answer(value: &Value) -> Result<Response, Fault> {
    json_text(value.to_string(), 200)
}

/// `GET /v1/sources`.
///
/// # Errors
///
/// No scope; the database.
async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "sources").await?;
    answer(&hands(app).list(&principal.name).await?)
}

/// `PUT`, `GET` and `DELETE /v1/sources/:name`; `PUT` with `?dryRun=1` keeps nothing.
///
/// # Errors
///
/// Bad settings, no scope, no such source; the database.
async fn one(app: &App, mut req: Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "sources").await?;
    let owner = principal.name.as_str();
    match req.method() {
        Method::Put => {
            let dry = is_dry(&req)?;
            let settings: Settings = body::json_of(&mut req, MAX_BODY_BYTES).await?;
            let hands = hands(app);
            answer(&if dry {
                hands.try_out(owner, name, settings).await?
            } else {
                hands.put(owner, name, settings).await?
            })
        }
        Method::Delete => {
            if !table::delete(&app.db, owner, name).await? {
                return Err(not_found(name));
            }
            answer(&json!({ "name": name, "deleted": true }))
        }
        _ => answer(&hands(app).get(owner, name).await?),
    }
}

/// `POST /v1/sources/:name/refresh` and `…/test`.
///
/// # Errors
///
/// No scope, no such source; the database. A source that does not answer is told as such.
async fn ask(app: &App, req: &Request, name: &str, what: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "sources").await?;
    let hands = hands(app);
    answer(&match what {
        "refresh" => hands.refresh(&principal.name, name).await?,
        _ => hands.test(&principal.name, name).await?,
    })
}

fn is_dry(req: &Request) -> Result<bool, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let mut dry = false;
    for (name, value) in url.query_pairs() {
        dry = match (name.as_ref(), value.as_ref()) {
            ("dryRun" | "dry_run", "1" | "true") => true,
            ("dryRun" | "dry_run", "0" | "false") => false,
            ("dryRun" | "dry_run", _) => return Err(Fault::invalid("dryRun", "must be 1 or 0")),
            _ => return Err(Fault::invalid("query", "has the one parameter dryRun")),
        };
    }
    Ok(dry)
}

/// `GET /v1/tools?query&source&limit&cursor`.
///
/// # Errors
///
/// A bad page, no scope; the database.
async fn search(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "execute").await?;
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let mut wanted = Search::default();
    for (name, value) in url.query_pairs() {
        let value = value.into_owned();
        match name.as_ref() {
            "query" => wanted.query = value,
            "source" => wanted.source = Some(value),
            "cursor" => wanted.cursor = Some(value),
            "limit" => {
                let limit = value.parse::<u64>();
                wanted.limit =
                    Some(limit.map_err(|_| Fault::invalid("limit", "must be a whole number"))?);
            }
            _ => {
                let what = "has the parameters query, source, limit and cursor";
                return Err(Fault::invalid("query", what));
            }
        }
    }
    json_text(find::search(&app.db, &principal.name, &wanted).await?, 200)
}

/// `GET /v1/tools/:path`.
///
/// # Errors
///
/// No such tool, no scope; the database.
async fn describe(app: &App, req: &Request, path: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "execute").await?;
    json_text(find::describe(&app.db, &principal.name, path).await?, 200)
}
