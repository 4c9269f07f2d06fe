//! What waits for a person: the list, and one question with all that is needed to decide it.

use super::frame::{hidden, state};
use super::program::{Mark, lines_calling, listing};
use super::{text, time};
use maud::{Markup, html};
use serde_json::Value;

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// The run.
    pub run: String,
    /// The dispatch.
    pub n: u32,
    /// The tool.
    pub tool: String,
    /// Its argument, secrets taken out, JSON.
    pub arguments: String,
    /// What asked, JSON as a policy's decision has it.
    pub rule: String,
    /// Where it stands.
    pub state: String,
    /// Whether it is allowed for the rest of the run.
    pub for_run: bool,
    /// Why it was decided so.
    pub reason: Option<String>,
    /// Who decided: the id of a token.
    pub decided_by: Option<String>,
    /// When it was asked.
    pub created_at: u64,
    /// Until when.
    pub expires_at: u64,
    /// When it was decided.
    pub decided_at: Option<u64>,
    /// Where in the program it was put, from 1.
    pub line: Option<u64>,
}

/// A call that the run made before.
#[derive(Debug, Clone)]
pub struct Done {
    /// Its number.
    pub n: u32,
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub state: String,
}

/// One question and what belongs to it.
#[derive(Debug)]
pub struct Page<'a> {
    /// It.
    pub question: &'a Question,
    /// The program and its parameters, secrets taken out of them, if they are kept.
    pub input: Option<(&'a str, &'a str)>,
    /// The run's name for itself.
    pub label: Option<&'a str>,
    /// What the run called so far.
    pub done: &'a [Done],
    /// What else of the run waits.
    pub others: &'a [&'a Question],
    /// Whether whoever looks may decide.
    pub may_decide: bool,
    /// Of its forms.
    pub csrf: &'a str,
    /// Now.
    pub now: u64,
}

/// One question.
#[must_use]
pub fn page(page: &Page<'_>) -> Markup {
    let question = page.question;
    let is_open = question.state == "open";
    html! {
        div.head {
            p.over {
                a href="/approvals" { "Approvals" } " › call " (question.n) " of "
                a href={ "/runs/" (question.run) } {
                    @match page.label { Some(label) => { (text::plain(label)) }, None => { (question.run) } }
                }
            }
            h1 { code { (text::plain(&question.tool)) } " " (state(&question.state)) }
        }
        div.split {
            div {
                (standing(page))
                section.card aria-labelledby="arguments" {
                    h2 #arguments { "Arguments" }
                    p.hint { "Values whose names say that they are secret are taken out." }
                    (text::json(&question.arguments))
                }
                section.card aria-labelledby="why" {
                    h2 #why { "Why you are asked" }
                    (rule(&question.rule))
                }
            }
            div {
                section.card aria-labelledby="program" {
                    h2 #program { "The program" }
                    @match page.input {
                        Some((source, params)) => {
                            @let marks = marks(question, source);
                            @if question.line.is_none() && !marks.is_empty() {
                                p.hint {
                                    @if marks.len() == 1 { "The marked line calls the tool." }
                                    @else { "The marked lines call the tool; which of them waits was not recorded." }
                                }
                            }
                            (listing(source, &marks))
                            @if params != "{}" && params != "null" {
                                h3 { "Its parameters" }
                                (text::json(params))
                            }
                        }
                        None => { p.hint { "The program is not kept any more." } }
                    }
                }
                section.card aria-labelledby="done" {
                    h2 #done { "What it did so far" }
                    (so_far(question, page.done))
                }
                @if !page.others.is_empty() {
                    section.card aria-labelledby="others" {
                        h2 #others { "What else of this run waits" }
                        ul.plain {
                            @for other in page.others {
                                li {
                                    a href={ "/approvals/" (other.id) } { "Call " (other.n) ": " code { (text::plain(&other.tool)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if !is_open {
            p { a href={ "/runs/" (question.run) } { "See how the run went on" } }
        }
    }
}

/// What stands, or the form that decides.
fn standing(page: &Page<'_>) -> Markup {
    let question = page.question;
    let decided = question.decided_at.map(time::moment);
    html! {
        section.card.decide aria-labelledby="decide" {
            @if question.state == "open" {
                h2 #decide { "Decide" }
                p {
                    "Asked " (time::moment(question.created_at)) ". Until " (time::moment(question.expires_at)) ", "
                    strong { (time::span(question.expires_at.saturating_sub(page.now))) " from now" }
                    "; after that the call fails as expired. The run waits and costs nothing meanwhile."
                }
                @if page.may_decide { (form(page)) } @else {
                    p.notice { "You may look, and not decide: this needs a token with the scope " code { "approve" } ". The admin token may not decide." }
                }
            } @else {
                h2 #decide { "What stands" }
                p {
                    @match question.state.as_str() {
                        "allowed" if question.for_run => { "Allowed, and so is every later call of this tool in this run" },
                        "allowed" => { "Allowed" },
                        "declined" => { "Declined: the program was told so, with the reason" },
                        "expired" => { "Nobody decided in time; the program was told that it expired, not that it was declined" },
                        _ => { "The run ended for another reason, and the question with it" },
                    }
                    @if let Some(decided) = decided { ", " (decided) }
                    @if let Some(by) = &question.decided_by { " by " code { (text::plain(by)) } }
                    "."
                }
                @if let Some(reason) = &question.reason { blockquote { (text::plain(reason)) } }
                p.hint { "The first decision stands and cannot be changed." }
            }
        }
    }
}

fn form(page: &Page<'_>) -> Markup {
    html! {
        form method="post" action={ "/approvals/" (page.question.id) } {
            (hidden(page.csrf))
            label for="reason" { "Reason" }
            textarea #reason name="reason" rows="2" maxlength="1000" aria-describedby="reason-about" {}
            p.hint #reason-about { "May stay empty. The program is told it when you decline." }
            div.choices {
                button.primary type="submit" name="decision" value="allow" { "Allow this call" }
                button type="submit" name="decision" value="allow_run" { "Allow for the rest of this run" }
                button.danger type="submit" name="decision" value="decline" { "Decline" }
                button.danger type="submit" name="decision" value="cancel" { "Cancel the run" }
            }
        }
    }
}

fn so_far(question: &Question, done: &[Done]) -> Markup {
    let before = done.iter().filter(|call| call.n != question.n);
    if before.clone().next().is_none() {
        return html! { p.hint { "Nothing: this is its first call." } };
    }
    html! {
        ol.calls start="0" {
            @for call in before {
                li value=(call.n) { code { (text::plain(&call.tool)) } " " (state(&call.state)) }
            }
        }
    }
}

/// Where the program waits: the recorded line, or the lines that call the tool.
fn marks(question: &Question, source: &str) -> Vec<Mark> {
    let says = if question.state == "open" { "waits for you here" } else { "asked here" };
    let lines = match question.line {
        Some(line) => vec![line],
        None => lines_calling(source, &question.tool),
    };
    let mark = |line| Mark { line, kind: "wait", says: says.to_owned() };
    lines.into_iter().map(mark).collect()
}

/// A rule in words.
#[must_use]
pub fn rule(json: &str) -> Markup {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let scope = value.get("scope").and_then(Value::as_str).unwrap_or_default();
    let of = match scope {
        "all" => "A rule for everybody",
        "own" => "A rule of your own",
        _ => {
            return html! {
                p {
                    "No rule matches. The tool declares itself "
                    strong { (value.get("declares").and_then(Value::as_str).unwrap_or("unknown").replace('_', " ")) }
                    ", and such a call is asked about."
                }
            };
        }
    };
    let index = value.get("index").and_then(Value::as_u64).unwrap_or_default();
    let rule = value.get("rule").cloned().unwrap_or_default();
    let pattern = rule.get("pattern").and_then(Value::as_str).unwrap_or_default();
    html! {
        p { (of) " (number " (index.saturating_add(1)) " of the list) asks about " code { (text::plain(pattern)) } "." }
        @if let Some(note) = rule.get("note").and_then(Value::as_str) { blockquote { (text::plain(note)) } }
        @if let Some(conditions) = rule.get("when").and_then(Value::as_array) {
            p { "Because all of these hold:" }
            ul { @for condition in conditions { li { code { (text::plain(&condition.to_string())) } } } }
        }
    }
}

/// The list.
#[derive(Debug)]
pub struct List<'a> {
    /// The state that is shown.
    pub state: &'a str,
    /// The questions.
    pub questions: &'a [Question],
    /// Now.
    pub now: u64,
}

/// The states of a question, as the list filters by them.
pub const STATES: &[(&str, &str)] = &[
    ("open", "Waiting"),
    ("allowed", "Allowed"),
    ("declined", "Declined"),
    ("expired", "Expired"),
    ("dropped", "Dropped"),
];

/// What waits, or was decided.
#[must_use]
pub fn list(list: &List<'_>) -> Markup {
    html! {
        div.head { h1 { "Approvals" } }
        nav.tabs aria-label="Where they stand" {
            ul {
                @for (state, name) in STATES {
                    li {
                        a href={ "/approvals?state=" (state) }
                            aria-current=[(*state == list.state).then_some("page")] { (name) }
                    }
                }
            }
        }
        div #live {
            @if list.questions.is_empty() {
                section.card.empty {
                    @if list.state == "open" {
                        h2 { "Nothing waits for you" }
                        p { "A call that a rule asks about appears here, and its run waits. " a href="/policies" { "The rules" } }
                    } @else { p { "There is none." } }
                }
            } @else {
                ul.cards {
                    @for question in list.questions {
                        li.card {
                            h2 { a href={ "/approvals/" (question.id) } { code { (text::plain(&question.tool)) } } " " (state(&question.state)) }
                            p.brief { code { (text::plain(text::cut(&question.arguments, 240).0)) } }
                            p.hint {
                                "Asked " (time::moment(question.created_at)) " by "
                                a href={ "/runs/" (question.run) } { "its run" }
                                @if question.state == "open" {
                                    ", " (time::span(question.expires_at.saturating_sub(list.now))) " left"
                                } @else if let Some(at) = question.decided_at { ", decided " (time::moment(at)) }
                                "."
                            }
                        }
                    }
                }
            }
        }
    }
}
