//! `/packages`: what is saved, and invoking it.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::packages::{One, Typed, again, list, one};
use super::{Posted, Sent, Shown, query, read, runs};
use crate::api::{App, body};
use crate::error::Fault;
use crate::packages::{self, Invocation, PackageRequest, Target, version_number};
use crate::platform::clock::now_ms;
use crate::run::surface::Surface;
use serde_json::{Map, Value, json};
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
    Ok(Shown::new("Packages", Here::Packages, list(&read(&told), &visitor.csrf)))
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

/// `POST /packages`: saves a version. What is wrong is said where it is, in the form with all that was
/// typed; one more module is the form once more.
///
/// # Errors
///
/// No scope.
pub async fn save(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("packages")?;
    let text = |name: &str| form.text(name).trim().to_owned();
    let texts = form.all("text").map(|text| text.replace("\r\n", "\n"));
    let modules = form.all("path").map(|path| path.trim().to_owned()).zip(texts);
    let mut typed = Typed {
        name: text("name"),
        description: text("description"),
        modules: modules.filter(|(path, text)| !path.is_empty() || !text.is_empty()).collect(),
        exports: text("exports"),
        services: text("services"),
        budget_ms: text("budget"),
        limits: text("limits"),
    };
    let title = "Save a package";
    if form.given("more").is_some() {
        typed.modules.push((String::new(), String::new()));
        let body = again(&typed, None, &visitor.csrf);
        return Ok(Posted::Shown(Shown::new(title, Here::Packages, body)));
    }
    let principal = visitor.principal.name.as_str();
    let saved = async {
        packages::save(&app.db, &app.config, principal, &typed.name, wanted(&typed)?).await
    };
    Ok(match saved.await {
        Ok(_) => Posted::To(format!("/packages/{}", typed.name)),
        Err(fault) => {
            let body = again(&typed, Some(&fault), &visitor.csrf);
            Posted::Shown(Shown::new(title, Here::Packages, body).refused(app, &fault))
        }
    })
}

fn wanted(typed: &Typed) -> Result<PackageRequest, Fault> {
    let mut modules = Map::new();
    for (path, text) in &typed.modules {
        if modules.insert(path.clone(), json!(text)).is_some() {
            return Err(Fault::invalid("modules", format!("{path} is there twice")));
        }
    }
    let mut request = Map::new();
    request.insert("modules".to_owned(), Value::Object(modules));
    request.insert("description".to_owned(), json!(typed.description));
    for (field, text) in [
        ("exports", &typed.exports),
        ("services", &typed.services),
        ("budgetMs", &typed.budget_ms),
        ("limits", &typed.limits),
    ] {
        if !text.is_empty() {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| Fault::invalid(field, format!("is no JSON ({error})")))?;
            request.insert(field.to_owned(), value);
        }
    }
    body::parse(Value::Object(request).to_string().as_bytes())
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
