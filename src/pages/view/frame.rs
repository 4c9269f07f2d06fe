//! What stands around every page: the head, the header with what waits, the way to the content.

use super::text;
use crate::pages::assets;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

/// The page of a path, in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// A page that the header does not name.
    Elsewhere,
    /// Runs.
    Runs,
    /// What waits for people.
    Approvals,
    /// Packages.
    Packages,
    /// Schedules and services.
    Schedules,
    /// Sources and secrets.
    Sources,
    /// Rules.
    Policies,
    /// Tokens.
    Tokens,
    /// The documentation.
    Docs,
}

/// The links of the header.
const LINKS: &[(Here, &str, &str)] = &[
    (Here::Runs, "/", "Runs"),
    (Here::Approvals, "/approvals", "Approvals"),
    (Here::Packages, "/packages", "Packages"),
    (Here::Schedules, "/schedules", "Schedules"),
    (Here::Sources, "/sources", "Sources"),
    (Here::Policies, "/policies", "Policies"),
    (Here::Tokens, "/tokens", "Tokens"),
    (Here::Docs, "/docs", "Docs"),
];

/// Who looks.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// The principal.
    pub name: &'a str,
    /// What its forms carry.
    pub csrf: &'a str,
    /// Whether Cloudflare Access says so, which then ends it, too.
    pub by_access: bool,
    /// How many questions wait for it.
    pub waiting: u64,
}

/// What stands around a page.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The page's own name.
    pub title: &'a str,
    /// Where it is.
    pub here: Here,
    /// Who looks, if somebody is signed in.
    pub who: Option<Who<'a>>,
    /// Where the page hears of changes, if it changes by itself.
    pub live: Option<&'a str>,
}

/// The whole document.
#[must_use]
pub fn document(frame: &Frame<'_>, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) " · Holdfast" }
                link rel="icon" type="image/svg+xml" href=(assets::path("icon.svg"));
                link rel="stylesheet" href=(assets::path("style.css"));
                script src=(assets::path("page.js")) defer {}
            }
            body data-live=[frame.live] {
                a.skip href="#main" { "Skip to the content" }
                (header(frame))
                main #main tabindex="-1" { (body) }
                footer { "Holdfast " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
    .0
}

fn header(frame: &Frame<'_>) -> Markup {
    html! {
        header.top {
            a.brand href="/" { img src=(assets::path("icon.svg")) alt="" width="22" height="22"; "Holdfast" }
            nav aria-label="Pages" {
                ul {
                    @for (here, path, name) in LINKS {
                        @if frame.who.is_some() || *here == Here::Docs {
                            li {
                                a href=(path) aria-current=[(*here == frame.here).then_some("page")] {
                                    (name)
                                    @if let (Here::Approvals, Some(who)) = (*here, frame.who)
                                        && who.waiting > 0 {
                                        " " span.badge #waiting {
                                            (who.waiting) span.unseen { " waiting" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(who) = frame.who.filter(|who| who.by_access) {
                div.who {
                    span.name title="Signed in as" { (text::plain(who.name)) }
                    a.button.quiet href="/cdn-cgi/access/logout" { "Sign out" }
                }
            } @else if let Some(who) = frame.who {
                form.who method="post" action="/sign-out" {
                    (hidden(who.csrf))
                    span.name title="Signed in as" { (text::plain(who.name)) }
                    button.quiet type="submit" { "Sign out" }
                }
            } @else {
                a.button.quiet href="/sign-in" { "Sign in" }
            }
        }
    }
}

/// What every form carries, so that no other page can send it.
#[must_use]
pub fn hidden(csrf: &str) -> Markup {
    html! { input type="hidden" name="csrf" value=(csrf); }
}

/// A form that is one button, which says `says`. `class` is the button's.
#[must_use]
pub fn press(csrf: &str, place: &str, class: &str, says: &str) -> Markup {
    html! {
        form method="post" action=(place) {
            (hidden(csrf))
            button class=(class) type="submit" { (text::plain(says)) }
        }
    }
}

/// The way on through a list: `place` is where, without the cursor.
#[must_use]
pub fn more(told: &Value, place: &str) -> Markup {
    html! {
        @if let Some(next) = told.get("nextCursor").and_then(Value::as_str) {
            nav.choices aria-label="More of this list" { a.button href={ (place) "?cursor=" (next) } rel="next" { "More" } }
        }
    }
}

/// A thing that is called something, in a list of facts.
#[must_use]
pub fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// A word for where something stands, in its colour.
#[must_use]
pub fn state(word: &str) -> Markup {
    let kind = match word {
        "completed" | "allowed" | "returned" | "allow" | "active" => "good",
        "failed" | "declined" | "block" | "refused" | "backing_off" => "bad",
        "waiting_approval" | "open" | "parked" | "ask" | "paused" => "wait",
        "running" | "called" | "starting" | "stopping" | "restarting" | "due" => "busy",
        _ => "past",
    };
    html! { span class={ "state " (kind) } { (word.replace('_', " ")) } }
}
