//! `/sources` and `/secrets`: what is connected, and with what.

use super::form::Form;
use super::session::Visitor;
use super::view::frame::Here;
use super::view::sources::{Secret, list, one, secrets};
use super::{Shown, respond};
use crate::api::secrets::{self, Wanted};
use crate::api::{App, body};
use crate::error::{Code, Fault};
use crate::store::{secrets as secrets_table, sources as table};
use crate::tools::connect::{Hands, not_found};
use crate::tools::source::{Later, Settings};
use std::rc::Rc;
use worker::{Request, Response};

fn hands(app: &App) -> Hands {
    Hands {
        env: app.env.clone(),
        db: Rc::clone(&app.db),
        config: Rc::clone(&app.config),
        later: Later::of(Rc::clone(&app.ctx)),
    }
}

/// `GET /sources`.
///
/// # Errors
///
/// No scope, the database.
pub async fn index(app: &App, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("sources")?;
    let told = hands(app).list(&visitor.principal.name).await?;
    Ok(Shown::new("Sources", Here::Sources, list(&told, &visitor.csrf)))
}

/// `GET /sources/:name`.
///
/// # Errors
///
/// No scope, no such source, the database.
pub async fn show(app: &App, visitor: &Visitor, name: &str) -> Result<Shown, Fault> {
    visitor.require("sources")?;
    let principal = visitor.principal.name.as_str();
    let told = hands(app).get(principal, name).await?;
    let tools = table::paths(&app.db, principal, name).await?;
    let mut tools: Vec<String> = tools.into_iter().map(|tool| tool.path).collect();
    tools.sort_unstable();
    Ok(Shown::new(name, Here::Sources, one(&told, &tools, &visitor.csrf)))
}

/// `POST /sources`: connects one.
///
/// # Errors
///
/// A form that is not ours, no scope, bad settings, the database.
pub async fn connect(app: &App, mut req: Request, visitor: &Visitor) -> Result<Response, Fault> {
    let form = Form::read(&mut req, &visitor.csrf).await?;
    visitor.require("sources")?;
    let name = form.text("name").trim();
    let settings: Settings = body::parse(form.text("settings").as_bytes())?;
    hands(app).put(&visitor.principal.name, name, settings).await?;
    respond::see_other(&format!("/sources/{name}"))
}

/// `POST /sources/:name/refresh` and `…/delete`.
///
/// # Errors
///
/// A form that is not ours, no scope, no such source, the database.
pub async fn change(
    app: &App,
    mut req: Request,
    visitor: &Visitor,
    (name, what): (&str, &str),
) -> Result<Response, Fault> {
    Form::read(&mut req, &visitor.csrf).await?;
    visitor.require("sources")?;
    let principal = visitor.principal.name.as_str();
    if what == "refresh" {
        hands(app).refresh(principal, name).await?;
        return respond::see_other(&format!("/sources/{name}"));
    }
    if !table::delete(&app.db, principal, name).await? {
        return Err(not_found(name));
    }
    respond::see_other("/sources")
}

/// `GET /secrets`: their names.
///
/// # Errors
///
/// No scope, the database.
pub async fn all_secrets(app: &App, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("secrets")?;
    let rows = secrets_table::list(&app.db, &visitor.principal.name).await?;
    let known: Vec<Secret> = rows
        .into_iter()
        .map(|row| Secret { name: row.name, grants: row.grants, updated_at: row.updated_at })
        .collect();
    Ok(Shown::new("Secrets", Here::Sources, secrets(&known, &visitor.csrf)))
}

/// `POST /secrets`: puts one.
///
/// # Errors
///
/// A form that is not ours, no scope, a bad name or value, the database.
pub async fn put_secret(app: &App, mut req: Request, visitor: &Visitor) -> Result<Response, Fault> {
    let form = Form::read(&mut req, &visitor.csrf).await?;
    visitor.require("secrets")?;
    let words = |field| form.text(field).split_whitespace().map(str::to_owned).collect();
    let wanted = Wanted {
        value: form.text("value").to_owned(),
        sources: words("sources"),
        hosts: words("hosts"),
        headers: None,
        query: Vec::new(),
        cookies: Vec::new(),
    };
    secrets::put(app, &visitor.principal.name, form.text("name").trim(), wanted).await?;
    respond::see_other("/secrets")
}

/// `POST /secrets/:name/delete`.
///
/// # Errors
///
/// A form that is not ours, no scope, no such secret, the database.
pub async fn delete_secret(
    app: &App,
    mut req: Request,
    visitor: &Visitor,
    name: &str,
) -> Result<Response, Fault> {
    Form::read(&mut req, &visitor.csrf).await?;
    visitor.require("secrets")?;
    if secrets_table::delete(&app.db, &visitor.principal.name, name).await? {
        return respond::see_other("/secrets");
    }
    Err(Fault::new(Code::RouteNotFound, "There is no such secret to delete."))
}
