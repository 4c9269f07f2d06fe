//! Schedules: the list, one with its times to come and those that were, and the form that puts one.

use super::frame::{fact, hidden, more, press, state};
use super::told::{list as all, number, part, word};
use super::{fault, program, text, time};
use crate::error::Fault;
use maud::{Markup, html};
use serde_json::Value;

/// What stands in the form, as somebody typed it.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// Its name.
    pub name: String,
    /// `cron`, `every` or `once`.
    pub rule: String,
    /// The expression, the interval or the moment.
    pub when: String,
    /// The zone.
    pub zone: String,
    /// An export of a package.
    pub package: String,
    /// Or a program.
    pub code: String,
    /// Its parameters, JSON.
    pub params: String,
    /// Whatever else there is of its runs, JSON.
    pub rest: String,
    /// What becomes of missed times.
    pub missed: String,
    /// Whether it does not fire.
    pub paused: bool,
}

/// The two pages of what begins by itself.
#[must_use]
pub fn tabs(here: &str) -> Markup {
    html! {
        nav.tabs aria-label="What begins by itself" {
            ul {
                @for (place, name) in [("/schedules", "Schedules"), ("/services", "Services")] {
                    li { a href=(place) aria-current=[(here == place).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// The list, as `GET /v1/schedules` tells it, and the form if whoever looks may have something run.
#[must_use]
pub fn list(told: &Value, may_put: bool, csrf: &str) -> Markup {
    let schedules = all(told, "schedules");
    html! {
        div.head { h1 { "Schedules" } }
        (tabs("/schedules"))
        @if schedules.is_empty() {
            section.card.empty {
                h2 { "Nothing is scheduled" }
                p { "A schedule has a program or an export of a package run at its times, each time once. " a href="/docs/schedules" { "More about schedules" } }
            }
        } @else {
            ul.cards {
                @for schedule in schedules {
                    @let name = word(schedule, "name");
                    li.card {
                        h2 { a href={ "/schedules/" (name) } { (text::plain(name)) } " " (state(word(schedule, "state"))) }
                        p { (rule(schedule)) ": " (work(schedule)) }
                        p.hint {
                            @match number(schedule, "nextAt") {
                                Some(at) => { "Next " (time::moment(at)) },
                                None => { "It has no next time" },
                            }
                        }
                    }
                }
            }
            (more(told, "/schedules"))
        }
        @if may_put {
            details.card #put {
                summary { "Put a schedule" }
                (form(&Typed::default(), None, csrf))
            }
        }
    }
}

/// When it fires, in words.
fn rule(told: &Value) -> Markup {
    let every = number(told, "everyMs");
    html! {
        @if let Some(cron) = told.get("cron").and_then(Value::as_str) {
            code { (text::plain(cron)) } " in " (text::plain(word(told, "zone")))
        } @else if let Some(every) = every { "Every " (time::span(every)) }
        @else { "Once, " (time::moment(number(told, "once").unwrap_or_default())) }
    }
}

/// What it runs, in words.
fn work(told: &Value) -> Markup {
    let run = told.get("run").unwrap_or(&Value::Null);
    html! {
        @match word(run, "package") {
            "" => {
                @if run.get("workflow").is_some() { "a workflow" }
                @else { "the program " code { (text::plain(text::headline(word(run, "code")))) } }
            }
            target => { a href={ "/packages/" (target.split('/').next().unwrap_or_default()) } { code { (text::plain(target)) } } }
        }
    }
}

/// One schedule.
#[derive(Debug)]
pub struct One<'a> {
    /// As `GET /v1/schedules/:name` tells it, secrets taken out of its parameters.
    pub told: &'a Value,
    /// Its times, as `GET /v1/schedules/:name/history` tells them.
    pub past: &'a Value,
    /// Its next times.
    pub next: &'a [u64],
    /// What the form starts with, if whoever looks may change it.
    pub typed: Option<&'a Typed>,
    /// Of its forms.
    pub csrf: &'a str,
}

/// One schedule.
#[must_use]
pub fn one(page: &One<'_>) -> Markup {
    let told = page.told;
    let name = word(told, "name");
    let place = format!("/schedules/{name}");
    let run = told.get("run").unwrap_or(&Value::Null);
    html! {
        div #live {
            div.head {
                p.over { a href="/schedules" { "Schedules" } }
                h1 { (text::plain(name)) " " (state(word(told, "state"))) }
                @if page.typed.is_some() { (buttons(page, &place)) }
            }
            section.card {
                dl.facts {
                    (fact("fires", &rule(told)))
                    (fact("runs", &work(told)))
                    (fact("missed times are", &html! { @if word(told, "missed") == "skip" { "left out" } @else { "made up for" } }))
                    (fact("changed", &time::moment(number(told, "updatedAt").unwrap_or_default())))
                }
            }
            div.split.even {
                section.card aria-labelledby="next" {
                    h2 #next { "Next times" }
                    @if page.next.is_empty() { p.hint { "There is none." } }
                    ul.plain { @for at in page.next { li { (time::moment(*at)) } } }
                }
                section.card aria-labelledby="work" {
                    h2 #work { "What it runs" }
                    @match run.get("code").and_then(Value::as_str) {
                        Some(code) => { (program::listing(code, &[])) },
                        None => { p { (work(told)) } },
                    }
                    @for (field, says) in [("workflow", "The workflow"), ("params", "Parameters")] {
                        @if let Some(value) = part(run, field) { h3 { (says) } (text::json(&value.to_string())) }
                    }
                }
            }
            section.card aria-labelledby="past" {
                h2 #past { "Last times" }
                (past(page.past))
                (more(page.past, &place))
            }
        }
        @if let Some(typed) = page.typed {
            details.card #put {
                summary { "Change it" }
                (form(typed, None, page.csrf))
            }
            details.card #delete {
                summary { "Delete it" }
                p { "Its history goes with it; runs that it began go on." }
                (press(page.csrf, &format!("{place}/delete"), "danger", &format!("Delete {name}")))
            }
        }
    }
}

fn buttons(page: &One<'_>, place: &str) -> Markup {
    let press = |what: &str, says: &str| press(page.csrf, &format!("{place}/{what}"), "", says);
    html! {
        div.choices {
            (press("run", "Run now"))
            @match word(page.told, "state") {
                "active" => { (press("pause", "Pause")) },
                "paused" => { (press("resume", "Resume")) },
                _ => {},
            }
        }
    }
}

/// What became of its times.
fn past(told: &Value) -> Markup {
    let times = all(told, "firings");
    if times.is_empty() {
        return html! { p.hint { "None has come yet." } };
    }
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { th scope="col" { "Time" } th scope="col" { "State" } th scope="col" { "What became of it" } } }
                tbody {
                    @for one in times {
                        tr {
                            td {
                                (time::moment(number(one, "at").unwrap_or_default()))
                                @if one.get("manual").and_then(Value::as_bool) == Some(true) { " " span.hint { "asked for" } }
                            }
                            td { (state(if part(one, "status").is_some() { word(one, "status") } else { word(one, "state") })) }
                            td {
                                @if let Some(run) = one.get("runId").and_then(Value::as_str) { a href={ "/runs/" (run) } { "Its run" } }
                                @if let Some(missed) = number(one, "missed") { "Missed and left out: " (missed) @if missed == 1 { " time" } @else { " times" } }
                                @if let Some(error) = part(one, "error") { (text::plain(word(error, "message"))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The page of a schedule that could not be put, with all that was typed.
#[must_use]
pub fn again(typed: &Typed, wrong: &Fault, csrf: &str) -> Markup {
    html! {
        div.head { p.over { a href="/schedules" { "Schedules" } } h1 { "Put a schedule" } }
        section.card { (form(typed, Some(wrong), csrf)) }
    }
}

fn form(typed: &Typed, wrong: Option<&Fault>, csrf: &str) -> Markup {
    let option = |now: &str, value: &str, says: &str| {
        html! { option value=(value) selected[now == value] { (says) } }
    };
    html! {
        form method="post" action="/schedules" {
            (hidden(csrf))
            @if let Some(wrong) = wrong { (fault::placed(wrong)) }
            div.fields {
                div {
                    label for="name" { "Name" }
                    input #name name="name" required maxlength="64" spellcheck="false" value=(typed.name) placeholder="morning";
                }
                div {
                    label for="rule" { "It fires" }
                    select #rule name="rule" {
                        (option(&typed.rule, "cron", "at times of a cron expression"))
                        (option(&typed.rule, "every", "at an interval"))
                        (option(&typed.rule, "once", "once"))
                    }
                }
                div {
                    label for="when" { "When" }
                    input #when name="when" required maxlength="512" spellcheck="false" value=(typed.when) placeholder="0 9 * * MON-FRI" aria-describedby="when-about";
                }
                div {
                    label for="zone" { "Time zone" }
                    input #zone name="zone" maxlength="64" spellcheck="false" value=(typed.zone) placeholder="UTC";
                }
            }
            p.hint #when-about {
                "A cron expression such as " code { "0 9 * * MON-FRI" } ", an interval such as " code { "1h 30m" }
                ", or a moment such as " code { "2027-01-31T09:00" } ". An interval has no zone."
            }
            label for="package" { "It runs the export of a package" }
            input #package name="package" maxlength="130" spellcheck="false" value=(typed.package) placeholder="reports/daily";
            (area("code", "or this program", &typed.code, 6, "return 1;"))
            (area("params", "Parameters, JSON", &typed.params, 2, "{}"))
            (area("rest", "Whatever else there is of its runs, JSON: version, budgetMs, label, limits, or workflow", &typed.rest, 2, "{}"))
            label for="missed" { "Times that were missed are" }
            select #missed name="missed" {
                (option(&typed.missed, "skip", "left out"))
                (option(&typed.missed, "catch_up", "made up for"))
            }
            fieldset { label { input type="checkbox" name="paused" value="1" checked[typed.paused]; "It does not fire until it is resumed" } }
            button.primary type="submit" { "Put it" }
        }
    }
}

/// A field for a text of several lines. The line that a browser drops at the beginning is put in.
#[must_use]
pub fn area(name: &str, says: &str, text: &str, rows: u32, example: &str) -> Markup {
    html! {
        label for={ "of-" (name) } { (says) }
        textarea.code id={ "of-" (name) } name=(name) rows=(rows) spellcheck="false" placeholder=(example) { "\n" (text) }
    }
}
