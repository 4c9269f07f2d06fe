//! Services: the list, and one with what its last stretch does.

use super::frame::{fact, hidden, more, press, state};
use super::run::{Line, logs};
use super::schedules::{area, tabs};
use super::told::{list as all, number, part, word};
use super::{fault, text, time};
use crate::error::Fault;
use maud::{Markup, html};
use serde_json::Value;

/// What stands in the form that starts one, as somebody typed it.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// `package/service`.
    pub service: String,
    /// Its parameters, JSON.
    pub params: String,
    /// A version.
    pub version: String,
}

/// The list, as `GET /v1/services` tells it.
#[must_use]
pub fn list(told: &Value, may_start: bool, csrf: &str) -> Markup {
    let services = all(told, "services");
    html! {
        div.head { h1 { "Services" } }
        (tabs("/services"))
        @if services.is_empty() {
            section.card.empty {
                h2 { "No service was started" }
                p { "A service is an export of a package that is kept at work until it is stopped; the package declares it. " a href="/docs/services" { "More about services" } }
            }
        } @else {
            ul.cards {
                @for service in services {
                    @let name = word(service, "service");
                    li.card {
                        h2 { a href={ "/services/" (name) } { (text::plain(name)) } " " (state(word(service, "state"))) }
                        p.hint {
                            "Stretch " (number(service, "stretch").unwrap_or_default())
                            @if let Some(at) = number(service, "nextAt") { ", the next one " (time::moment(at)) }
                            ", started " (time::moment(number(service, "startedAt").unwrap_or_default()))
                        }
                    }
                }
            }
            (more(told, "/services"))
        }
        @if may_start {
            details.card #start {
                summary { "Start one" }
                (form(&Typed::default(), None, csrf))
            }
        }
    }
}

/// One service.
#[derive(Debug)]
pub struct One<'a> {
    /// `package/service`.
    pub name: &'a str,
    /// As `GET /v1/services/:package/:service` tells it; null when it was never started.
    pub told: &'a Value,
    /// Whether whoever looks may start and stop it.
    pub may_run: bool,
    /// Of its forms.
    pub csrf: &'a str,
}

/// One service.
#[must_use]
pub fn one(page: &One<'_>) -> Markup {
    let told = page.told;
    let stands = if told.is_null() { "stopped" } else { word(told, "state") };
    let is_wanted = word(told, "wanted") == "running";
    let package = page.name.split('/').next().unwrap_or_default();
    let moment = |name: &str| number(told, name).map(time::moment);
    html! {
        div #live {
            div.head {
                p.over { a href="/services" { "Services" } " › " a href={ "/packages/" (package) } { (text::plain(package)) } }
                h1 { (text::plain(page.name)) " " (state(stands)) }
                div.choices {
                    @if page.may_run && is_wanted {
                        (press(page.csrf, &format!("/services/{}/stop", page.name), "danger", "Stop"))
                    }
                }
            }
            @for waiting in all(told, "approvals") {
                div.notice role="status" {
                    p { a href={ "/approvals/" (word(waiting, "id")) } { "It waits for a person to decide about a call" } }
                }
            }
            @if let Some(error) = part(told, "lastError") {
                div.notice.bad { p.said { (text::plain(word(error, "message"))) } p { (text::plain(word(error, "nextStep"))) } }
            }
            section.card {
                @if told.is_null() { p { "It was never started." } } @else {
                    dl.facts {
                        (fact("stretch", &html! { (number(told, "stretch").unwrap_or_default()) }))
                        (fact("version", &html! { @match number(told, "version") { Some(version) => { (version) }, None => { "the current one" } } }))
                        (fact("failed soon, in a row", &html! { (number(told, "failures").unwrap_or_default()) }))
                        @for (field, says) in [("startedAt", "started"), ("stoppedAt", "stopped"), ("nextAt", "next stretch"), ("alarmAt", "alarm")] {
                            @if let Some(moment) = moment(field) { (fact(says, &moment)) }
                        }
                        @if let Some(run) = told.get("runId").and_then(Value::as_str) {
                            (fact("last stretch", &html! { a href={ "/runs/" (run) } { "Its run" } }))
                        }
                    }
                }
            }
            @if !told.is_null() {
                section.card aria-labelledby="logs" {
                    h2 #logs { "Logs of its last stretch" }
                    (logs(&lines(told)))
                }
            }
        }
        @if page.may_run && !is_wanted {
            @let typed = Typed {
                service: page.name.to_owned(),
                params: part(told, "params").map(Value::to_string).unwrap_or_default(),
                version: number(told, "version").map(|version| version.to_string()).unwrap_or_default(),
            };
            section.card aria-labelledby="start" { h2 #start { "Start it" } (form(&typed, None, page.csrf)) }
        }
    }
}

fn lines(told: &Value) -> Vec<Line> {
    let line = |line: &Value| Line {
        level: word(line, "level").to_owned(),
        text: word(line, "text").to_owned(),
        at: number(line, "at").unwrap_or_default(),
    };
    all(told, "logs").iter().map(line).collect()
}

/// The page of a service that could not be started, with all that was typed.
#[must_use]
pub fn again(typed: &Typed, wrong: &Fault, csrf: &str) -> Markup {
    html! {
        div.head { p.over { a href="/services" { "Services" } } h1 { "Start a service" } }
        section.card { (form(typed, Some(wrong), csrf)) }
    }
}

fn form(typed: &Typed, wrong: Option<&Fault>, csrf: &str) -> Markup {
    html! {
        form method="post" action="/services" {
            (hidden(csrf))
            @if let Some(wrong) = wrong { (fault::placed(wrong)) }
            label for="service" { "Service" }
            input #service name="service" required maxlength="130" spellcheck="false" value=(typed.service) placeholder="inbox/watch";
            (area("params", "Parameters, JSON", &typed.params, 3, "{}"))
            label for="version" { "Version; the current one without" }
            input #version name="version" maxlength="10" inputmode="numeric" value=(typed.version);
            button.primary type="submit" { "Start it" }
        }
    }
}
