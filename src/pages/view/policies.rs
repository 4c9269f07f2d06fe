//! Rules: what they say, a dry run, changing them.

use super::approval;
use super::frame::{hidden, state};
use super::{text, time};
use maud::{Markup, html};

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which tools.
    pub pattern: String,
    /// Its conditions, JSON each.
    pub when: Vec<String>,
    /// `allow`, `ask` or `block`.
    pub action: String,
    /// Why.
    pub note: Option<String>,
    /// How long a person has.
    pub window_ms: Option<u64>,
}

/// A list of rules.
#[derive(Debug)]
pub struct List<'a> {
    /// `all` or `own`.
    pub scope: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The rules.
    pub rules: &'a [Rule],
    /// The same as JSON, if whoever looks may change them.
    pub json: Option<String>,
}

/// A dry run.
#[derive(Debug, Default)]
pub struct Trial<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The argument, JSON.
    pub arguments: &'a str,
    /// What would happen: the action, and which rule says so as JSON.
    pub came_to: Option<(String, String)>,
}

/// The page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The lists.
    pub lists: &'a [List<'a>],
    /// The dry run.
    pub trial: Trial<'a>,
    /// Of its forms.
    pub csrf: &'a str,
}

/// The page.
#[must_use]
pub fn page(page: &Page<'_>) -> Markup {
    html! {
        div.head { h1 { "Policies" } }
        p.hint {
            "Of all rules that match a call, the most restrictive wins. Where none matches, a call that may destroy something is asked about. "
            a href="/docs/policies" { "How rules are written" }
        }
        (trial(page))
        @for list in page.lists { (one(page, list)) }
    }
}

fn trial(page: &Page<'_>) -> Markup {
    let trial = &page.trial;
    html! {
        section.card aria-labelledby="trial" {
            h2 #trial { "Dry run" }
            p.hint { "What would happen to a call, and which rule says so. Nothing is called." }
            @if let Some((action, rule)) = &trial.came_to {
                div.notice role="status" {
                    p { code { (text::plain(trial.tool)) } " " (state(action)) }
                    (decider(rule, action))
                }
            }
            form method="post" action="/policies/test" {
                (hidden(page.csrf))
                label for="tool" { "Tool" }
                input #tool name="tool" required maxlength="512" spellcheck="false" value=(trial.tool) placeholder="mail.send";
                label for="arguments" { "Argument, JSON" }
                textarea.code #arguments name="arguments" rows="3" spellcheck="false" placeholder="{}" { (trial.arguments) }
                button type="submit" { "Try" }
            }
        }
    }
}

fn decider(rule: &str, action: &str) -> Markup {
    if action == "ask" {
        return approval::rule(rule);
    }
    let value: serde_json::Value = serde_json::from_str(rule).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    let index = value.get("index").and_then(serde_json::Value::as_u64).unwrap_or_default();
    html! {
        @match text("scope") {
            Some("all") => { p { "Rule number " (index.saturating_add(1)) " of those for everybody says so." } },
            Some("own") => { p { "Rule number " (index.saturating_add(1)) " of your own says so." } },
            _ => { p { "No rule matches; the tool declares itself " (text("declares").unwrap_or("unknown").replace('_', " ")) "." } },
        }
    }
}

fn one(page: &Page<'_>, list: &List<'_>) -> Markup {
    html! {
        section.card aria-labelledby=(list.scope) {
            h2 id=(list.scope) { (list.title) }
            @if list.rules.is_empty() { p.hint { "There is none." } } @else {
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th.number scope="col" { "Number" } th scope="col" { "Tools" } th scope="col" { "What happens" }
                                th scope="col" { "When all of these hold" } th scope="col" { "Why" }
                                @if list.json.is_some() { th scope="col" { span.unseen { "Remove" } } }
                            }
                        }
                        tbody {
                            @for (rule, number) in list.rules.iter().zip(1_u64..) {
                                tr {
                                    td.number { (number) }
                                    td { code { (text::plain(&rule.pattern)) } }
                                    td {
                                        (state(&rule.action))
                                        @if let Some(window) = rule.window_ms { " " span.hint { "for " (time::span(window)) } }
                                    }
                                    td { @for condition in &rule.when { code { (text::plain(condition)) } br; } }
                                    td { @if let Some(note) = &rule.note { (text::plain(note)) } }
                                    @if list.json.is_some() {
                                        td {
                                            form method="post" action="/policies" {
                                                (hidden(page.csrf))
                                                input type="hidden" name="scope" value=(list.scope);
                                                input type="hidden" name="rule" value=(text::cut(&rule.pattern, 512).0);
                                                button.danger.quiet type="submit" name="remove" value=(number) { "Remove" span.unseen { " rule " (number) } }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(json) = &list.json { (change(page, list, json)) }
        }
    }
}

fn change(page: &Page<'_>, list: &List<'_>, json: &str) -> Markup {
    let id = |name: &str| format!("{}-{name}", list.scope);
    html! {
        details id=(id("add")) {
            summary { "Add a rule" }
            form method="post" action="/policies" {
                (hidden(page.csrf))
                input type="hidden" name="scope" value=(list.scope);
                label for=(id("pattern")) { "Tools" }
                input id=(id("pattern")) name="pattern" required maxlength="512" spellcheck="false" placeholder="mail.*";
                label for=(id("action")) { "What happens" }
                select id=(id("action")) name="action" {
                    option value="ask" { "a person is asked" }
                    option value="block" { "the call is blocked" }
                    option value="allow" { "the call is made" }
                }
                label for=(id("when")) { "When all of these hold, a JSON list; may stay empty" }
                textarea.code id=(id("when")) name="when" rows="2" spellcheck="false" placeholder="[{\"at\": \"/to\", \"notMatches\": \"*@example.com\"}]" {}
                label for=(id("note")) { "Why" }
                input id=(id("note")) name="note" maxlength="512";
                button type="submit" name="add" value="1" { "Add" }
            }
        }
        details id=(id("text")) {
            summary { "Change them as text" }
            form method="post" action="/policies" {
                (hidden(page.csrf))
                input type="hidden" name="scope" value=(list.scope);
                label for=(id("rules")) { "The whole list, JSON" }
                textarea.code id=(id("rules")) name="rules" rows="14" spellcheck="false" { (json) }
                button type="submit" name="replace" value="1" { "Replace the list" }
            }
        }
    }
}
