//! `/schedules`: what begins at its times, and having it begin now, later or never.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::schedules::{One, Typed, again, list, one};
use super::{Posted, Sent, Shown, query, read, runs};
use crate::api::{App, body};
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::schedules::{self, Begun, Put, Work};
use crate::tools::policy::redacted;
use serde_json::{Value, json};
use worker::Request;

/// Next times that a page shows.
const NEXT: usize = 5;

/// `GET /schedules?cursor`.
///
/// # Errors
///
/// No scope, a bad page, the database.
pub async fn index(app: &App, req: &Request, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("runs")?;
    let (hands, cursor) = (app.hands(), query(req, "cursor")?);
    let told = schedules::list(&hands, &visitor.principal.name, None, cursor.as_deref()).await?;
    let body = list(&read(&told), visitor.principal.may_run_something(), &visitor.csrf);
    Ok(Shown::new("Schedules", Here::Schedules, body))
}

/// `GET /schedules/:name?cursor`: the cursor is of its history.
///
/// # Errors
///
/// No scope, no such schedule, the database.
pub async fn show(app: &App, req: &Request, visitor: &Visitor, name: &str) -> Result<Shown, Fault> {
    visitor.require("runs")?;
    let (hands, cursor) = (app.hands(), query(req, "cursor")?);
    let principal = visitor.principal.name.as_str();
    let whole = schedules::whole_of(&hands, principal, name, NEXT, now_ms()).await?;
    let past = schedules::history(&hands, principal, name, None, cursor.as_deref()).await?;
    let may_change = whole.work.scope().is_ok_and(|scope| visitor.principal.may(&scope));
    let typed = may_change.then(|| typed(&whole.told, &whole.work));
    let mut told = whole.told;
    if let Some(run) = told.get_mut("run") {
        *run = redacted(run);
    }
    let body = one(&One {
        told: &told,
        past: &read(&past),
        next: &whole.next,
        typed: typed.as_ref(),
        csrf: &visitor.csrf,
    });
    let shown = Shown::new(name, Here::Schedules, body);
    Ok(if cursor.is_none() { shown.live(&format!("/live?schedule={name}")) } else { shown })
}

/// The form of a schedule as it stands.
fn typed(told: &Value, work: &Work) -> Typed {
    use super::view::time::iso;
    use super::view::told::{number, part, word};
    let (rule, when) = match (part(told, "cron"), number(told, "everyMs")) {
        (Some(_), _) => ("cron", word(told, "cron").to_owned()),
        (None, Some(ms)) => ("every", format!("{}s", ms.div_euclid(1_000))),
        (None, None) => ("once", number(told, "once").map(iso).unwrap_or_default()),
    };
    // What has a field of its own stands there.
    let rest = Work { code: None, package: None, params: None, ..work.clone() };
    let rest = json!(rest);
    Typed {
        name: word(told, "name").to_owned(),
        rule: rule.to_owned(),
        when,
        zone: word(told, "zone").to_owned(),
        package: work.package.clone().unwrap_or_default(),
        code: work.code.clone().unwrap_or_default(),
        params: work.params.as_deref().map_or("", |params| params.get()).to_owned(),
        rest: if rest == json!({}) { String::new() } else { rest.to_string() },
        missed: word(told, "missed").to_owned(),
        paused: word(told, "state") == "paused",
    }
}

/// `POST /schedules`: puts one. What is wrong is said above the form, which keeps what was typed.
///
/// # Errors
///
/// None that the page does not tell.
pub async fn put(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    let text = |name: &str| form.text(name).trim().to_owned();
    let typed = Typed {
        name: text("name"),
        rule: text("rule"),
        when: text("when"),
        zone: text("zone"),
        package: text("package"),
        code: form.lines("code"),
        params: text("params"),
        rest: text("rest"),
        missed: text("missed"),
        paused: form.given("paused").is_some(),
    };
    let put = async {
        let wanted = wanted(&typed)?;
        let scope = wanted.run.scope()?;
        visitor.require(&scope)?;
        let principal = &visitor.principal.name;
        schedules::put(&app.hands(), principal, &typed.name, wanted, &sent.origin).await
    };
    match put.await {
        Ok(_) => Ok(Posted::To(format!("/schedules/{}", typed.name))),
        Err(fault) => {
            let body = again(&typed, &fault, &visitor.csrf);
            let shown = Shown::new("Put a schedule", Here::Schedules, body);
            Ok(Posted::Shown(shown.refused(app, &fault)))
        }
    }
}

fn wanted(typed: &Typed) -> Result<Put, Fault> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut run: Work = match typed.rest.as_str() {
        "" => Work::default(),
        rest => body::parse(rest.as_bytes())?,
    };
    if !typed.package.is_empty() {
        run.package = given(&typed.package);
    }
    if !typed.code.trim().is_empty() {
        run.code = given(&typed.code);
    }
    if !typed.params.is_empty() {
        run.params = Some(super::params(&typed.params)?);
    }
    let when = given(&typed.when);
    let of = |rule: &str| when.clone().filter(|_| typed.rule == rule);
    let missed = schedules::rule::Missed::parse(&typed.missed);
    Ok(Put {
        cron: of("cron"),
        zone: given(&typed.zone),
        every: of("every").map(Value::String),
        once: of("once").map(Value::String),
        run,
        missed: missed.ok_or_else(|| Fault::invalid("missed", "must be skip or catch_up"))?,
        paused: typed.paused,
    })
}

/// `POST /schedules/:name/pause`, `…/resume`, `…/run` and `…/delete`.
///
/// # Errors
///
/// No scope, no such schedule, the database.
pub async fn change(
    app: &App,
    sent: &Sent<'_>,
    (name, what): (&str, &str),
) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    let (hands, principal) = (app.hands(), visitor.principal.name.as_str());
    let scope = schedules::work(&hands, principal, name).await?.scope()?;
    visitor.require(&scope)?;
    match what {
        "run" => {
            if let Begun::Run(order) =
                schedules::run_now(&hands, principal, name, &sent.origin).await?
            {
                return runs::follow(app, &sent.origin, *order).await;
            }
        }
        "delete" => {
            schedules::delete(&hands, principal, name).await?;
            return Ok(Posted::to("/schedules"));
        }
        _ => {
            schedules::pause(&hands, principal, name, what == "pause").await?;
        }
    }
    Ok(Posted::To(format!("/schedules/{name}")))
}
