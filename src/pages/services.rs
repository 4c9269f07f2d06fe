//! `/services`: what is kept at work, starting and stopping it.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::services::{One, Typed, again, list, one};
use super::{Posted, Sent, Shown, query, read};
use crate::api::App;
use crate::error::{Code, Fault};
use crate::packages::{self, Target};
use crate::services::{self, Start};
use serde_json::Value;
use worker::Request;

/// `GET /services?cursor`.
///
/// # Errors
///
/// No scope, a bad page, the database.
pub async fn index(app: &App, req: &Request, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("runs")?;
    let (hands, cursor) = (app.hands(), query(req, "cursor")?);
    let told = services::list(&hands, &visitor.principal.name, None, cursor.as_deref()).await?;
    let body = list(&read(&told), visitor.principal.may_run_something(), &visitor.csrf);
    Ok(Shown::new("Services", Here::Schedules, body))
}

/// `GET /services/:package/:service`; one that is declared and was never started is there, too.
///
/// # Errors
///
/// No scope, no such service, the database.
pub async fn show(
    app: &App,
    visitor: &Visitor,
    (package, name): (&str, &str),
) -> Result<Shown, Fault> {
    let target = Target::of(package, name)?;
    let may_run = visitor.principal.may(&target.scope());
    if !may_run {
        visitor.require("runs")?;
    }
    let principal = visitor.principal.name.as_str();
    let told = match services::status(&app.hands(), principal, &target).await {
        Ok(told) => read(&told),
        Err(fault) if fault.code == Code::ServiceNotFound => {
            packages::service(&app.db, principal, &target, None).await?;
            Value::Null
        }
        Err(fault) => return Err(fault),
    };
    let name = target.to_string();
    let body = one(&One { name: &name, told: &told, may_run, csrf: &visitor.csrf });
    let shown = Shown::new(&name, Here::Schedules, body);
    Ok(if told.is_null() { shown } else { shown.live(&format!("/live?service={name}")) })
}

/// `POST /services`: starts one. What is wrong is said above the form, which keeps what was typed.
///
/// # Errors
///
/// None that the page does not tell.
pub async fn start(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    let text = |name: &str| form.text(name).trim().to_owned();
    let typed =
        Typed { service: text("service"), params: text("params"), version: text("version") };
    let start = async {
        let target = Target::read(&typed.service)?;
        visitor.require(&target.scope())?;
        let params = form.given("params").map(super::params).transpose()?;
        let version = form.given("version").map(packages::version_number).transpose()?;
        let (hands, principal) = (app.hands(), &visitor.principal.name);
        let start = Start { params, version };
        services::start(&hands, principal, &target, start, &sent.origin).await
    };
    match start.await {
        Ok(_) => Ok(Posted::To(format!("/services/{}", typed.service))),
        Err(fault) => {
            let body = again(&typed, &fault, &visitor.csrf);
            let shown = Shown::new("Start a service", Here::Schedules, body);
            Ok(Posted::Shown(shown.refused(app, &fault)))
        }
    }
}

/// `POST /services/:package/:service/stop`. The page follows how it ends.
///
/// # Errors
///
/// No scope, no such service, the database.
pub async fn stop(
    app: &App,
    sent: &Sent<'_>,
    (package, name): (&str, &str),
) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    let target = Target::of(package, name)?;
    visitor.require(&target.scope())?;
    services::stop(&app.hands(), &visitor.principal.name, &target, 0).await?;
    Ok(Posted::To(format!("/services/{target}")))
}
