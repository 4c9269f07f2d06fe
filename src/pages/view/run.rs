//! One run: its outcome, its timeline, its program, its calls, its lines.

use super::frame::{fact, hidden, state};
use super::program::{Mark, listing};
use super::timeline::{Timeline, markup};
use super::{text, time};
use maud::{Markup, html};
use serde::Deserialize;

/// A dispatch as the table shows it.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its number.
    pub n: u32,
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub state: String,
    /// The argument, without secrets.
    pub arguments: String,
    /// The reply, without secrets.
    pub reply: Option<String>,
    /// How many bytes went and came.
    pub bytes: (u64, Option<u64>),
    /// When it was called.
    pub called_at: u64,
    /// When it came back.
    pub returned_at: Option<u64>,
}

/// A line that the program logged.
#[derive(Debug, Clone, Deserialize)]
pub struct Line {
    /// `debug`, `log`, `info`, `warn` or `error`.
    pub level: String,
    /// Its text.
    pub text: String,
    /// Program time, in ms.
    pub at: u64,
}

/// What failed.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// The message.
    pub message: String,
    /// The code of the catalogue.
    pub code: String,
    /// What to do next.
    pub next_step: String,
    /// Where in the program, from 1.
    pub line: Option<u64>,
    /// The module, of a package.
    pub file: Option<String>,
}

/// A run beside this one.
#[derive(Debug, Clone)]
pub struct Relative {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: String,
    /// Its name for itself.
    pub label: Option<String>,
}

/// A question that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Until when.
    pub expires_at: u64,
}

/// What whoever looks may do.
#[derive(Debug, Clone, Copy)]
pub struct May {
    /// Cancel it.
    pub cancel: bool,
    /// Run its program again.
    pub again: bool,
    /// Undo what it did.
    pub undo: bool,
}

/// What can be undone of what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// By how many calls.
    pub steps: u64,
    /// The run that undoes it, once there is one.
    pub by: Option<String>,
}

/// The run.
#[derive(Debug)]
pub struct Page<'a> {
    /// Its id.
    pub id: &'a str,
    /// Where it stands.
    pub status: &'a str,
    /// Where it came from.
    pub surface: &'a str,
    /// The caller's own name for it.
    pub label: Option<&'a str>,
    /// Its program; of an invocation `package@version/export`.
    pub source: &'a str,
    /// Its parameters, without secrets, JSON.
    pub params: &'a str,
    /// Its value, JSON.
    pub result: Option<&'a str>,
    /// What failed.
    pub wrong: Option<Wrong>,
    /// What was lost or should be known.
    pub warnings: &'a [String],
    /// What it emitted for people, JSON.
    pub emitted: &'a [String],
    /// What it logged.
    pub lines: &'a [Line],
    /// Its calls.
    pub calls: &'a [Call],
    /// What waits for people.
    pub waiting: &'a [Waiting],
    /// Its time.
    pub timeline: &'a Timeline,
    /// The program on its own, and with calls in flight.
    pub spent: (u64, u64),
    /// The run that started it.
    pub parent: Option<&'a Relative>,
    /// The runs that it started.
    pub children: &'a [Relative],
    /// What of it can be undone.
    pub undo: Option<&'a Undo>,
    /// What can be done.
    pub may: May,
    /// Of its forms.
    pub csrf: &'a str,
    /// Of the examples: `https://holdfast.example.com`.
    pub origin: &'a str,
}

/// The page.
#[must_use]
pub fn page(page: &Page<'_>) -> Markup {
    let headline = text::headline(page.source);
    html! {
        div #live {
            div.head {
                p.over { a href="/" { "Runs" } " › " (page.surface) " › " code { (page.id) } }
                h1 {
                    @match page.label {
                        Some(label) => { (text::plain(label)) },
                        None if headline.is_empty() => { "An empty program" },
                        None => { (text::plain(headline)) },
                    }
                    " " (state(page.status))
                }
                (actions(page))
            }
            @if !page.waiting.is_empty() {
                div.notice role="status" {
                    @for waiting in page.waiting {
                        p {
                            "Waits for a person: "
                            a href={ "/approvals/" (waiting.id) } { "decide about " code { (text::plain(&waiting.tool)) } }
                            " until " (time::moment(waiting.expires_at))
                        }
                    }
                }
            }
            (outcome(page))
            section.card aria-labelledby="time" {
                h2 #time { "Where its time went" }
                (facts(page))
                (markup(page.timeline))
            }
            div.split.even {
                (program(page))
                section.card aria-labelledby="logs" {
                    h2 #logs { "Logs" }
                    (logs(page.lines))
                }
            }
            (calls(page))
            (relatives(page))
            (copies(page))
        }
    }
}

/// What can be undone, and the way to do it.
fn undo(page: &Page<'_>) -> Markup {
    let Some(Undo { steps, by }) = page.undo else { return html! {} };
    html! {
        h3 { "Undoing" }
        @if let Some(by) = by {
            p { "What it did is undone by " a href={ "/runs/" (by) } { "another run" } "." }
        } @else {
            p {
                "What it did can be undone by " (steps) @if *steps == 1 { " call" } @else { " calls" }
                ", each under the policy, in a run of their own."
            }
            @if page.may.undo {
                form method="post" action={ "/runs/" (page.id) "/rollback" } {
                    (hidden(page.csrf))
                    button.danger #undo type="submit" { "Undo" }
                }
            }
        }
    }
}

fn actions(page: &Page<'_>) -> Markup {
    html! {
        div.choices {
            @if page.may.cancel {
                form method="post" action={ "/runs/" (page.id) "/cancel" } {
                    (hidden(page.csrf))
                    button.danger #cancel type="submit" { "Cancel" }
                }
            }
            @if page.may.again {
                form method="post" action={ "/runs/" (page.id) "/again" } {
                    (hidden(page.csrf))
                    button #again type="submit" { "Run again" }
                }
            }
        }
    }
}

fn outcome(page: &Page<'_>) -> Markup {
    html! {
        section.card aria-labelledby="outcome" {
            h2 #outcome { "Outcome" }
            @if let Some(wrong) = &page.wrong {
                div class={ "notice" @if page.status == "failed" { " bad" } } {
                    p.said { (text::plain(&wrong.message)) }
                    p { (text::plain(&wrong.next_step)) " " a href={ "/docs/errors/" (wrong.code) } { (wrong.code) } }
                    @match (wrong.line, &wrong.file) {
                        (Some(line), Some(file)) => { p { "Line " (line) " of the module " code { (text::plain(file)) } } },
                        (Some(line), None) => { p { a href={ "#L" (line) } { "Line " (line) " of the program" } } },
                        (None, _) => {},
                    }
                }
            } @else if let Some(result) = page.result {
                (text::json(result))
            } @else if page.status == "running" {
                p { "It is at work." }
            } @else if page.status == "completed" {
                p { "It came to its end without a value." }
            } @else {
                p { "It waits; nothing is held meanwhile." }
            }
            @for value in page.emitted { h3 { "Emitted" } (text::json(value)) }
            @if !page.warnings.is_empty() {
                h3 { "Warnings" }
                ul { @for warning in page.warnings { li { (text::plain(warning)) } } }
            }
            (undo(page))
        }
    }
}

fn facts(page: &Page<'_>) -> Markup {
    let timeline = page.timeline;
    let (compute_ms, tools_ms) = page.spent;
    html! {
        dl.facts {
            (fact("began", &time::moment(timeline.from)))
            (fact("took", &html! { (time::span(timeline.to.saturating_sub(timeline.from))) }))
            (fact("on its own", &html! { (time::span(compute_ms)) }))
            (fact("with calls in flight", &html! { (time::span(tools_ms)) }))
            @if !timeline.questions.is_empty() { (fact("people", &html! { (time::span(timeline.people_ms())) })) }
            (fact("attempts", &html! { (timeline.attempts.len()) }))
            (fact("budget", &html! { (time::span(timeline.budget_ms)) }))
        }
        br;
    }
}

fn program(page: &Page<'_>) -> Markup {
    let wrong = page.wrong.as_ref().filter(|wrong| wrong.file.is_none());
    let line = wrong.and_then(|wrong| wrong.line);
    let mark = line.map(|line| Mark { line, kind: "bad", says: "failed here".to_owned() });
    html! {
        section.card aria-labelledby="program" {
            h2 #program { "Program" }
            @if page.surface == "invocation" {
                @let (package, rest) = page.source.split_once('@').unwrap_or((page.source, ""));
                p { "The package " a href={ "/packages/" (package) } { (text::plain(package)) } ", version and export " code { (text::plain(rest)) } }
            } @else { (listing(page.source, mark.as_slice())) }
            @if !matches!(page.params, "" | "{}" | "null") {
                h3 { "Parameters" }
                (text::json(page.params))
            }
        }
    }
}

/// The lines that a run logged.
#[must_use]
pub fn logs(lines: &[Line]) -> Markup {
    html! {
        @if lines.is_empty() { p.hint { "It logged nothing." } } @else {
            pre.logs tabindex="0" aria-label="Logs" {
                @for line in lines {
                    span class={ "log " (line.level) } {
                        span.at { (time::span(line.at)) }
                        span.words {
                            @if matches!(line.level.as_str(), "warn" | "error") { span.unseen { (line.level) ": " } }
                            (text::plain(&line.text))
                        }
                    }
                }
            }
        }
    }
}

fn calls(page: &Page<'_>) -> Markup {
    html! {
        section.card aria-labelledby="calls" {
            h2 #calls { "Tool calls" }
            @if page.calls.is_empty() { p.hint { "It called no tool." } } @else {
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th.number scope="col" { "Call" }
                                th scope="col" { "Tool" }
                                th scope="col" { "State" }
                                th.number scope="col" { "From" }
                                th.number scope="col" { "Took" }
                                th scope="col" { "Argument" }
                                th scope="col" { "Reply" }
                            }
                        }
                        tbody {
                            @for call in page.calls {
                                tr id={ "call-" (call.n) } {
                                    td.number { (call.n) }
                                    td { code { (text::plain(&call.tool)) } }
                                    td { (state(&call.state)) }
                                    td.number { (time::span(call.called_at.saturating_sub(page.timeline.from))) }
                                    td.number {
                                        @match call.returned_at {
                                            Some(at) => { (time::span(at.saturating_sub(call.called_at))) },
                                            None => { "–" },
                                        }
                                    }
                                    td.brief-code { (value(&call.arguments, Some(call.bytes.0))) }
                                    td.brief-code { @if let Some(reply) = &call.reply { (value(reply, call.bytes.1)) } }
                                }
                            }
                        }
                    }
                }
                p.hint { "Values whose names say that they are secret are taken out; long ones are cut." }
            }
        }
    }
}

fn value(text: &str, bytes: Option<u64>) -> Markup {
    let (brief, left) = text::cut(text, 400);
    html! {
        @if left == 0 { code { (text::plain(text)) } } @else {
            details {
                summary { code { (text::plain(brief)) "…" } }
                code { (text::plain(text)) }
            }
        }
        @if let Some(bytes) = bytes { @if bytes > 4_096 { span.hint { (bytes) " bytes" } } }
    }
}

fn relatives(page: &Page<'_>) -> Markup {
    let one = |run: &Relative| {
        html! {
            a href={ "/runs/" (run.id) } {
                @match &run.label { Some(label) => { (text::plain(label)) }, None => { (run.id) } }
            }
            " " (state(&run.status))
        }
    };
    html! {
        @if page.parent.is_some() || !page.children.is_empty() {
            section.card aria-labelledby="relatives" {
                h2 #relatives { "Runs beside it" }
                @if let Some(parent) = page.parent { p { "Started by " (one(parent)) } }
                @if !page.children.is_empty() {
                    p { "It started" }
                    ul { @for child in page.children { li { (one(child)) } } }
                }
            }
        }
    }
}

/// Programs and parameters that are shown once more to be copied, in bytes at most.
const MAX_COPIED_BYTES: usize = 65_536;

/// The same run, as a client would send it.
fn copies(page: &Page<'_>) -> Markup {
    let bytes = page.source.len().saturating_add(page.params.len());
    if page.surface != "execute" || page.source.is_empty() || bytes > MAX_COPIED_BYTES {
        return html! {};
    }
    let params = serde_json::from_str::<serde_json::Value>(page.params).unwrap_or_default();
    let mut body = serde_json::json!({ "code": page.source });
    if let Some(fields) = body.as_object_mut()
        && !params.is_null()
        && params != serde_json::json!({})
    {
        fields.insert("params".to_owned(), params);
    }
    let curl = format!(
        "curl -s {}/v1/runs \\\n  -H \"Authorization: Bearer $HOLDFAST_TOKEN\" \\\n  \
         -H 'Content-Type: application/json' \\\n  --data-binary @- <<'JSON'\n{body}\nJSON",
        page.origin
    );
    let call = serde_json::json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "execute", "arguments": body },
    });
    let mcp = serde_json::to_string_pretty(&call).unwrap_or_default();
    html! {
        details.card #copies {
            summary { "Send it yourself" }
            @for (id, name, command) in [("as-curl", "With curl", &curl), ("as-mcp", "As an MCP call", &mcp)] {
                h3 { (name) }
                pre id=(id) tabindex="0" { (text::seen(command)) }
                button.quiet type="button" data-copy=(id) { "Copy" }
            }
            p.hint { "Secret values of the parameters are taken out here, too." }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Whatever a program says, a page shows it as text.

    use super::*;
    use crate::pages::view::timeline::Dispatch;

    fn shown(evil: &str, calls: u32) -> String {
        let timeline = Timeline {
            from: 0,
            to: 10_000,
            budget_ms: 90_000,
            ceiling_ms: None,
            attempts: vec![],
            dispatches: (0..calls)
                .map(|n| Dispatch {
                    n,
                    tool: evil.to_owned(),
                    state: "returned".to_owned(),
                    called_at: u64::from(n),
                    returned_at: Some(9_000),
                })
                .collect(),
            questions: vec![],
        };
        let call = |n| Call {
            n,
            tool: evil.to_owned(),
            state: "returned".to_owned(),
            arguments: evil.to_owned(),
            reply: Some(evil.to_owned()),
            bytes: (3, None),
            called_at: 0,
            returned_at: Some(1),
        };
        let calls: Vec<Call> = (0..calls).map(call).collect();
        let own = vec![evil.to_owned()];
        let page = Page {
            id: "run_1",
            status: "failed",
            surface: "execute",
            label: Some(evil),
            source: evil,
            params: evil,
            result: Some(evil),
            wrong: Some(Wrong {
                message: evil.to_owned(),
                code: "HF_E1301".to_owned(),
                next_step: evil.to_owned(),
                line: Some(1),
                file: None,
            }),
            warnings: &own,
            emitted: &own,
            lines: &[Line { level: "log".to_owned(), text: evil.to_owned(), at: 1 }],
            calls: &calls,
            waiting: &[],
            timeline: &timeline,
            spent: (1, 2),
            parent: None,
            children: &[],
            undo: Some(&Undo { steps: 2, by: None }),
            may: May { cancel: true, again: true, undo: true },
            csrf: "c",
            origin: "https://holdfast.example.com",
        };
        super::page(&page).0
    }

    #[test]
    fn markup_is_text_wherever_it_stands() {
        for evil in [
            "<script>alert(1)</script>",
            "</pre></code></title><img src=x onerror=alert(1)>",
            "\" onfocus=alert(1) autofocus x=\"",
            "' onclick='alert(1)",
            "<svg/onload=alert(1)>",
            "</svg><style>*{display:none}</style>",
            "<!--",
            "&lt;script&gt;",
            "javascript:alert(1)",
            "\u{202e}<script>\u{2066}",
        ] {
            let page = shown(evil, 3);
            for bad in
                ["<script", "<img", "<style", "<svg/", "<!--", "onfocus=alert(1) autofocus x=\"\""]
            {
                assert!(!page.contains(bad), "{evil} gave {bad}");
            }
            assert!(!page.contains('\u{202e}') && !page.contains('\u{2066}'));
            // Every attribute that there is was ours: none was opened by a quote of theirs.
            assert!(
                !page.contains("\" onfocus") && !page.contains("' onclick='alert(1)'"),
                "{evil}"
            );
        }
    }

    #[test]
    fn lines_of_a_megabyte_and_many_calls_stay_small() {
        let long = "x".repeat(1_000_000);
        // It stands in two dozen places; each shows 64 KiB of it at most.
        let page = shown(&long, 1).len();
        assert!(page < 24 * 65_536, "a long line is cut wherever it stands: {page}");
        let many = shown("mail.send", 256);
        assert_eq!(many.matches("id=\"call-").count(), 256);
        assert!(many.len() < 400_000, "{}", many.len());
    }
}
