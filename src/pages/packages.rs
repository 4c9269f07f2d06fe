//! `/packages`: what is saved, and invoking it.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::packages::{One, list, one};
use super::{Posted, Sent, Shown, query, read, runs};
use crate::api::App;
use crate::error::Fault;
use crate::packages::{self, Invocation, Target, version_number};
use crate::platform::clock::now_ms;
use crate::run::surface::Surface;
use worker::Request;

/// `GET /packages?cursor`.
///
/// # Errors
///
/// No scope, a bad page, the database.
pub async fn index(app: &App, req: &Request, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("packages")?;
    let cursor = query(req, "cursor")?;
    let told = packages::list(&app.db, &visitor.principal.name, None, cursor.as_deref()).await?;
    Ok(Shown::new("Packages", Here::Packages, list(&read(&told))))
}

/// `GET /packages/:name?version`.
///
/// # Errors
///
/// No scope, no such package or version, the database.
pub async fn show(app: &App, req: &Request, visitor: &Visitor, name: &str) -> Result<Shown, Fault> {
    visitor.require("packages")?;
    let version = query(req, "version")?.map(|text| version_number(&text)).transpose()?;
    let principal = visitor.principal.name.as_str();
    let told = packages::get(&app.db, principal, name, version).await?;
    let versions = packages::versions(&app.db, principal, name, Some("100"), None).await?;
    let body = one(&One {
        told: &read(&told),
        versions: &read(&versions),
        may_run: visitor.principal.may("execute"),
        csrf: &visitor.csrf,
    });
    Ok(Shown::new(name, Here::Packages, body))
}

/// `POST /packages/:name/version`, `…/delete`, and `…/:export`, which invokes it.
///
/// # Errors
///
/// No scope, no such package, bad parameters, the database.
pub async fn change(
    app: &App,
    sent: &Sent<'_>,
    (name, what): (&str, &str),
) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    let principal = visitor.principal.name.as_str();
    // The two words come from buttons of ours; an export of such a name is invoked over the API.
    match what {
        "version" => {
            visitor.require("packages")?;
            packages::point(&app.db, principal, name, version_number(form.text("version"))?)
                .await?;
            Ok(Posted::To(format!("/packages/{name}")))
        }
        "delete" => {
            visitor.require("packages")?;
            packages::delete(&app.db, principal, name).await?;
            Ok(Posted::to("/packages"))
        }
        export => {
            let target = Target::of(name, export)?;
            visitor.require(&target.scope())?;
            let params = super::params(form.given("params").unwrap_or("{}"))?;
            let version = form.given("version").map(version_number).transpose()?;
            let invocation = Invocation { params: Some(params), version, ..Invocation::default() };
            let order = packages::order(
                &app.db,
                &app.config,
                principal,
                &target,
                (Surface::Invocation, invocation),
                now_ms(),
            );
            runs::follow(app, &sent.origin, order.await?).await
        }
    }
}
