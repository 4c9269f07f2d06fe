//! `/v1/packages`: save, look at, roll back and delete packages, and invoke their exports.

use super::ledger::HEADER;
use super::{App, allow, auth, body, json_text, nothing_at, streaming};
use crate::error::{Code, Fault};
use crate::packages::{self, Invocation, PackageRequest, Target};
use crate::platform::clock::now_ms;
use crate::run::surface::Surface;
use futures_util::FutureExt as _;
use serde::Deserialize;
use worker::{Method, Request, Response};

/// `/v1/packages`; `segments` is what follows.
///
/// # Errors
///
/// Whatever refuses the request.
pub async fn route(app: &App, req: Request, segments: &[&str]) -> Result<Response, Fault> {
    match segments {
        [] => {
            allow(&req, &[Method::Get])?;
            list(app, &req).boxed_local()
        }
        [name] => {
            allow(&req, &[Method::Get, Method::Put, Method::Delete])?;
            one(app, req, name).boxed_local()
        }
        [name, "versions"] if req.method() == Method::Get => {
            versions(app, &req, name).boxed_local()
        }
        [name, "version"] if req.method() == Method::Put => point(app, req, name).boxed_local(),
        [name, export] => {
            allow(&req, &[Method::Post])?;
            invoke(app, req, name, export).boxed_local()
        }
        _ => return Err(nothing_at(&req.path())),
    }
    .await
}

/// `PUT`, `GET` and `DELETE /v1/packages/:name`.
///
/// # Errors
///
/// Bad input, no scope, no such package; the database.
pub async fn one(app: &App, mut req: Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "packages").await?;
    let (db, owner) = (&app.db, principal.name.as_str());
    match req.method() {
        Method::Put => {
            let request: PackageRequest = body::json(&mut req).await?;
            json_text(packages::save(db, &app.config, owner, name, request).await?, 201)
        }
        Method::Delete => json_text(packages::delete(db, owner, name).await?, 200),
        _ => {
            let [version] = query(&req, ["version"])?;
            let version = version.as_deref().map(packages::version_number).transpose()?;
            json_text(packages::get(db, owner, name, version).await?, 200)
        }
    }
}

/// `GET /v1/packages?limit&cursor`.
///
/// # Errors
///
/// A bad page, no scope; the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "packages").await?;
    let [limit, cursor] = query(req, ["limit", "cursor"])?;
    let found = packages::list(&app.db, &principal.name, limit.as_deref(), cursor.as_deref());
    json_text(found.await?, 200)
}

/// `GET /v1/packages/:name/versions?limit&cursor`.
///
/// # Errors
///
/// As [`list`]; no such package.
pub async fn versions(app: &App, req: &Request, name: &str) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "packages").await?;
    let [limit, cursor] = query(req, ["limit", "cursor"])?;
    let (limit, cursor) = (limit.as_deref(), cursor.as_deref());
    json_text(packages::versions(&app.db, &principal.name, name, limit, cursor).await?, 200)
}

/// `PUT /v1/packages/:name/version`: points the name at another version, `{"version": 3}`.
///
/// # Errors
///
/// No such package or version, no scope; the database.
pub async fn point(app: &App, mut req: Request, name: &str) -> Result<Response, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        version: u32,
    }
    let principal = auth::require(app, &req, "packages").await?;
    let wanted: Wanted = body::json(&mut req).await?;
    json_text(packages::point(&app.db, &principal.name, name, wanted.version.into()).await?, 200)
}

/// `POST /v1/packages/:name/:export?hold=`: invokes an export and answers its end, as `POST /v1/runs` does.
///
/// # Errors
///
/// Whatever refuses the request before there is a run.
pub async fn invoke(
    app: &App,
    mut req: Request,
    name: &str,
    export: &str,
) -> Result<Response, Fault> {
    let arrived_at = now_ms();
    let principal = auth::principal(app, &req).await?;
    let target = Target::of(name, export)?;
    let scope = target.scope();
    if !principal.may(&scope) {
        return Err(auth::missing(&scope));
    }
    let hold_ms = super::seconds(&req, "hold", app.config.hold_ms)?.unwrap_or(0);
    let empty = req.headers().get("content-length").ok().flatten().is_some_and(|is| is == "0");
    let invocation: Invocation =
        if empty { Invocation::default() } else { body::json(&mut req).await? };
    let claim = match req.headers().get(HEADER).ok().flatten() {
        None => None,
        Some(key) => Some(invocation.claim(&target, HEADER, key)?),
    };
    let order = packages::order_by_memory(
        &app.db,
        &app.config,
        &principal.name,
        &target,
        (Surface::Invocation, invocation),
        arrived_at,
    );
    let mut order = order.await?;
    order.claim = claim;
    order.hold_ms = hold_ms;
    order.origin = super::origin(&req);
    streaming::answer(app, order).await
}

/// The query's parameters, each at most once asked for here.
pub(super) fn query<const N: usize>(
    req: &Request,
    names: [&str; N],
) -> Result<[Option<String>; N], Fault> {
    let url = req.url().map_err(|_| Fault::new(Code::InvalidRequest, "The URL cannot be read."))?;
    let mut found = [const { None }; N];
    for (name, value) in url.query_pairs().into_owned() {
        let slot = names.iter().zip(found.iter_mut()).find(|(known, _)| **known == name);
        let Some((_, slot)) = slot else {
            let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            let what = format!("is not a parameter here; {} are", names.join(" and "));
            return Err(Fault::invalid(&shown, what));
        };
        *slot = Some(value);
    }
    Ok(found)
}
