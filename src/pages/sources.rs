//! `/sources` and `/secrets`: what is connected, and with what.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::sources::{Secret, list, one, secrets};
use super::{Posted, Sent, Shown};
use crate::api::secrets::{self, Wanted};
use crate::api::{App, body};
use crate::error::{Code, Fault};
use crate::store::{secrets as secrets_table, sources as table};
use crate::tools::connect::{Hands, not_found};
use crate::tools::source::{Later, Settings};
use std::rc::Rc;

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
/// No scope, bad settings, the database.
pub async fn connect(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("sources")?;
    let name = form.text("name").trim();
    let settings: Settings = body::parse(form.text("settings").as_bytes())?;
    hands(app).put(&visitor.principal.name, name, settings).await?;
    Ok(Posted::To(format!("/sources/{name}")))
}

/// `POST /sources/:name/refresh` and `…/delete`.
///
/// # Errors
///
/// No scope, no such source, the database.
pub async fn change(
    app: &App,
    sent: &Sent<'_>,
    (name, what): (&str, &str),
) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    visitor.require("sources")?;
    let principal = visitor.principal.name.as_str();
    if what == "refresh" {
        hands(app).refresh(principal, name).await?;
        return Ok(Posted::To(format!("/sources/{name}")));
    }
    if !table::delete(&app.db, principal, name).await? {
        return Err(not_found(name));
    }
    Ok(Posted::to("/sources"))
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
/// No scope, a bad name or value, the database.
pub async fn put_secret(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
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
    Ok(Posted::to("/secrets"))
}

/// `POST /secrets/:name/delete`.
///
/// # Errors
///
/// No scope, no such secret, the database.
pub async fn delete_secret(app: &App, sent: &Sent<'_>, name: &str) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    visitor.require("secrets")?;
    if secrets_table::delete(&app.db, &visitor.principal.name, name).await? {
        return Ok(Posted::to("/secrets"));
    }
    Err(Fault::new(Code::RouteNotFound, "There is no such secret to delete."))
}
