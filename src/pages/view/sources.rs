//! Sources and secrets: what is connected, and with what. A secret's value is never shown.

use super::frame::hidden;
use super::told::{number, word};
use super::{text, time};
use maud::{Markup, html};
use serde_json::Value;

/// Where a source stands, in the words of runs.
fn standing(source: &Value) -> Markup {
    html! { span class={ "state " (if source.get("error").is_some_and(|error| !error.is_null()) { "bad" } else { "good" }) } { (word(source, "state")) } }
}

/// The sources, as `GET /v1/sources` tells them.
#[must_use]
pub fn list(told: &Value, csrf: &str) -> Markup {
    let sources = told.get("sources").and_then(Value::as_array).map(Vec::as_slice);
    let sources = sources.unwrap_or_default();
    html! {
        div.head { h1 { "Sources" } }
        @if sources.is_empty() {
            section.card.empty {
                h2 { "Nothing is connected" }
                p { "A source brings tools: an OpenAPI document, an MCP server, a GraphQL service, another Worker." }
            }
        } @else {
            ul.cards {
                @for source in sources {
                    li.card {
                        h2 { a href={ "/sources/" (word(source, "name")) } { (text::plain(word(source, "name"))) } " " (standing(source)) }
                        p.hint {
                            (word(source, "kind")) ", " (number(source, "toolCount").unwrap_or_default()) " tools"
                            @if let Some(at) = number(source, "refreshedAt") { ", read " (time::moment(at)) }
                        }
                    }
                }
            }
        }
        details.card #connect {
            summary { "Connect one" }
            form method="post" action="/sources" {
                (hidden(csrf))
                label for="name" { "Name" }
                input #name name="name" required maxlength="64" spellcheck="false" placeholder="github";
                label for="settings" { "Settings, JSON, as " code { "PUT /v1/sources/:name" } " takes them" }
                textarea.code #settings name="settings" rows="8" required spellcheck="false" placeholder="{\"kind\": \"openapi\", \"url\": \"https://api.example.com/openapi.json\"}" {}
                button.primary type="submit" { "Connect" }
            }
        }
        p { a href="/secrets" { "Secrets" } " that sources send along" }
    }
}

/// One source, as `GET /v1/sources/:name` tells it, and the paths of its tools.
#[must_use]
pub fn one(told: &Value, tools: &[String], csrf: &str) -> Markup {
    let name = word(told, "name");
    let at = |what: &str| number(told, what).map(time::moment);
    html! {
        div.head {
            p.over { a href="/sources" { "Sources" } }
            h1 { (text::plain(name)) " " (standing(told)) }
            div.choices {
                form method="post" action={ "/sources/" (name) "/refresh" } {
                    (hidden(csrf))
                    button type="submit" { "Read its tools again" }
                }
            }
        }
        @if let Some(error) = told.get("error").filter(|error| !error.is_null()) {
            div.notice.bad { p.said { (text::plain(word(error, "message"))) } p { (text::plain(word(error, "nextStep"))) } }
        }
        section.card {
            dl.facts {
                div { dt { "kind" } dd { (word(told, "kind")) } }
                div { dt { "tools" } dd { (number(told, "toolCount").unwrap_or_default()) } }
                @for (what, says) in [("refreshedAt", "read"), ("refreshAt", "read again"), ("updatedAt", "changed")] {
                    @if let Some(moment) = at(what) { div { dt { (says) } dd { (moment) } } }
                }
            }
        }
        div.split {
            section.card aria-labelledby="settings" {
                h2 #settings { "Settings" }
                (text::json(&told.get("settings").cloned().unwrap_or_default().to_string()))
                @if told.get("leftOut").and_then(Value::as_array).is_some_and(|left| !left.is_empty()) {
                    details #left-out {
                        summary { (number(told, "leftOutCount").unwrap_or_default()) " operations were left out" }
                        (text::json(&told.get("leftOut").cloned().unwrap_or_default().to_string()))
                    }
                }
                details #delete {
                    summary { "Disconnect it" }
                    form method="post" action={ "/sources/" (name) "/delete" } {
                        (hidden(csrf))
                        button.danger type="submit" { "Disconnect " (text::plain(name)) }
                    }
                }
            }
            section.card aria-labelledby="tools" {
                h2 #tools { "Tools" }
                @if tools.is_empty() { p.hint { "It brings none." } }
                ul.plain { @for tool in tools { li { code { (text::plain(tool)) } } } }
            }
        }
    }
}

/// A secret, without its value.
#[derive(Debug, Clone)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// What it may be used for, JSON.
    pub grants: String,
    /// When it was put last.
    pub updated_at: u64,
}

/// The secrets.
#[must_use]
pub fn secrets(secrets: &[Secret], csrf: &str) -> Markup {
    let names = |grants: &Value, name: &str| {
        let list = grants.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    html! {
        div.head { p.over { a href="/sources" { "Sources" } } h1 { "Secrets" } }
        p.hint { "A value goes in and never comes out; it is sealed before it is stored." }
        section.card aria-labelledby="all" {
            h2 #all { "All secrets of yours" }
            @if secrets.is_empty() { p.hint { "There is none." } } @else {
                div.scroll tabindex="0" {
                    table {
                        thead { tr { th scope="col" { "Name" } th scope="col" { "For sources" } th scope="col" { "To hosts" } th scope="col" { "In headers" } th scope="col" { "Put" } th scope="col" { span.unseen { "Delete" } } } }
                        tbody {
                            @for secret in secrets {
                                @let grants: Value = serde_json::from_str(&secret.grants).unwrap_or_default();
                                tr {
                                    td { code { (text::plain(&secret.name)) } }
                                    @for field in ["sources", "hosts", "headers"] { td { (text::plain(&names(&grants, field))) } }
                                    td { (time::moment(secret.updated_at)) }
                                    td {
                                        form method="post" action={ "/secrets/" (secret.name) "/delete" } {
                                            (hidden(csrf))
                                            button.danger.quiet type="submit" { "Delete" span.unseen { " " (text::plain(&secret.name)) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        section.card aria-labelledby="put" {
            h2 #put { "Put a secret" }
            form method="post" action="/secrets" {
                (hidden(csrf))
                label for="name" { "Name" }
                input #name name="name" required maxlength="64" spellcheck="false" placeholder="github-token";
                label for="value" { "Value" }
                input #value type="password" name="value" required autocomplete="off" spellcheck="false";
                label for="sources" { "Sources that may use it, separated by spaces" }
                input #sources name="sources" required spellcheck="false" placeholder="github";
                label for="hosts" { "Hosts that may see it, separated by spaces" }
                input #hosts name="hosts" required spellcheck="false" placeholder="api.github.com";
                button.primary type="submit" { "Put it" }
            }
        }
    }
}
