//! The list of runs, newest first, and what somebody sees who has none yet.

use super::frame::{hidden, state};
use super::{text, time};
use maud::{Markup, html};

/// One run of the list.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: String,
    /// Where it came from.
    pub surface: String,
    /// The caller's own name for it.
    pub label: Option<String>,
    /// The beginning of its program.
    pub head: String,
    /// When its request arrived.
    pub created_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// Kind of its error.
    pub error_kind: Option<String>,
    /// Whether a run started it.
    pub is_nested: bool,
    /// Tool calls.
    pub calls: u64,
    /// Questions to people.
    pub questions: u64,
    /// The program on its own.
    pub compute_ms: Option<u64>,
}

/// What is filtered by, as the form shows it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Filter<'a> {
    /// Where they stand.
    pub status: &'a str,
    /// Where they came from.
    pub surface: &'a str,
    /// A tool that they called.
    pub tool: &'a str,
    /// A text in their names or first lines.
    pub text: &'a str,
}

impl Filter<'_> {
    fn is_empty(&self) -> bool {
        [self.status, self.surface, self.tool, self.text].iter().all(|field| field.is_empty())
    }
}

/// The page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The runs.
    pub runs: &'a [Run],
    /// What they were filtered by.
    pub filter: Filter<'a>,
    /// Whether these are not the newest.
    pub is_later: bool,
    /// Where the next ones are.
    pub older: Option<String>,
    /// Whether whoever looks may run programs.
    pub may_run: bool,
    /// Of its forms.
    pub csrf: &'a str,
    /// Now.
    pub now: u64,
}

const STATUSES: &[(&str, &str)] = &[
    ("", "any status"),
    ("running", "running"),
    ("waiting_approval", "waiting for people"),
    ("parked", "parked"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
];

const SURFACES: &[(&str, &str)] = &[
    ("", "any surface"),
    ("execute", "execute"),
    ("invocation", "invocation"),
    ("workflow", "workflow"),
];

/// A program that shows what a run is, for whoever has none.
pub const FIRST: &str = "// A first program: it stores a value, waits a moment, and reads it back.
const greeting = `Hello at ${new Date().toISOString()}`;
await tools.storage.set({ key: \"first-run\", value: { greeting } });
console.log(\"stored\", greeting);
await sleep(300);
const { value } = await tools.storage.get({ key: \"first-run\" });
console.log(\"read it back\");
return value;
";

/// The list.
#[must_use]
pub fn page(page: &Page<'_>) -> Markup {
    let is_first = page.runs.is_empty() && page.filter.is_empty() && !page.is_later;
    html! {
        div.head { h1 { "Runs" } }
        @if !is_first { (filter(&page.filter)) }
        div #live {
            @if is_first { (first(page)) }
            @else if page.runs.is_empty() {
                section.card.empty {
                    h2 { "No run is like that" }
                    p { a href="/" { "Show all runs" } }
                }
            } @else {
                div.card.scroll { (table(page)) }
                @if page.is_later || page.older.is_some() {
                    nav.choices aria-label="Pages of runs" {
                        @if page.is_later { a.button href="/" { "Newest" } }
                        @if let Some(older) = &page.older { a.button href=(older) rel="next" { "Older" } }
                    }
                }
            }
        }
        @if page.may_run && !is_first {
            details.card #run-one {
                summary { "Run a program" }
                form method="post" action="/runs" {
                    (hidden(page.csrf))
                    label for="code" { "Program" }
                    textarea.code #code name="code" rows="8" required spellcheck="false" {}
                    button.primary type="submit" { "Run" }
                }
            }
        }
    }
}

fn filter(filter: &Filter<'_>) -> Markup {
    let choice = |name: &str, chosen: &str, options: &[(&str, &str)]| {
        html! {
            select id=(name) name=(name) {
                @for (value, says) in options {
                    option value=(value) selected[*value == chosen] { (says) }
                }
            }
        }
    };
    html! {
        form.filter method="get" action="/" role="search" aria-label="Filter the runs" {
            div { label for="status" { "Status" } (choice("status", filter.status, STATUSES)) }
            div { label for="surface" { "Surface" } (choice("surface", filter.surface, SURFACES)) }
            div { label for="tool" { "Tool" } input #tool name="tool" value=(filter.tool) placeholder="mail.send" maxlength="512" spellcheck="false"; }
            div { label for="text" { "Text" } input #text name="text" type="search" value=(filter.text) maxlength="200"; }
            button type="submit" { "Filter" }
            @if !filter.is_empty() { a.button.quiet href="/" { "Clear" } }
        }
    }
}

fn table(page: &Page<'_>) -> Markup {
    html! {
        table.runs {
            thead {
                tr {
                    th scope="col" { "Run" }
                    th scope="col" { "Status" }
                    th scope="col" { "Surface" }
                    th.number scope="col" { "Took" }
                    th.number scope="col" { "Own time" }
                    th.number scope="col" { "Calls" }
                    th.number scope="col" { "People" }
                    th scope="col" { "When" }
                }
            }
            tbody {
                @for run in page.runs {
                    tr {
                        td.what { (name(run)) }
                        td {
                            (state(&run.status))
                            @if let Some(kind) = &run.error_kind {
                                @if run.status == "failed" { " " span.hint { (kind.replace('_', " ")) } }
                            }
                        }
                        td data-name="surface" { (run.surface) @if run.is_nested { " (nested)" } }
                        td.number data-name="took" {
                            (time::span(run.ended_at.unwrap_or(page.now).saturating_sub(run.created_at)))
                        }
                        td.number data-name="own time" { @match run.compute_ms { Some(ms) => { (time::span(ms)) }, None => { "–" } } }
                        td.number data-name="calls" { (run.calls) }
                        td.number data-name="people" { (run.questions) }
                        td { (time::moment(run.created_at)) }
                    }
                }
            }
        }
    }
}

fn name(run: &Run) -> Markup {
    let headline = text::headline(&run.head);
    html! {
        a href={ "/runs/" (run.id) } {
            @if let Some(label) = &run.label { (text::plain(label)) }
            @else if headline.is_empty() { "An empty program" }
            @else { (text::plain(headline)) }
        }
        @if run.label.is_some() { code { (text::plain(headline)) } }
    }
}

fn first(page: &Page<'_>) -> Markup {
    html! {
        section.card.empty {
            h2 { "Nothing has run yet" }
            @if page.may_run {
                p { "Run a first program and look at where its time goes:" }
                form method="post" action="/runs" {
                    (hidden(page.csrf))
                    input type="hidden" name="code" value=(FIRST);
                    input type="hidden" name="label" value="A first program";
                    button.primary type="submit" { "Run a first program" }
                }
                (super::program::listing(FIRST, &[]))
                p { a href="/docs/execute" { "What a program can do" } }
            } @else {
                p { "Programs that agents send appear here." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! A list shows what was sent as text, and every run once.

    use super::*;

    fn run(n: u64) -> Run {
        Run {
            id: format!("run_{n}"),
            status: "failed".to_owned(),
            surface: "execute".to_owned(),
            label: (n.is_multiple_of(2)).then(|| "<img src=x onerror=alert(1)>".to_owned()),
            head: format!("return \"</script><script>alert({n})</script>\""),
            created_at: n,
            ended_at: Some(n),
            error_kind: Some("timed_out".to_owned()),
            is_nested: false,
            calls: 1,
            questions: 0,
            compute_ms: None,
        }
    }

    fn of<'a>(runs: &'a [Run], filter: Filter<'a>) -> String {
        let page = Page {
            runs,
            filter,
            is_later: false,
            older: None,
            may_run: true,
            csrf: "c",
            now: 9_000,
        };
        super::page(&page).0
    }

    #[test]
    fn names_and_programs_are_text() {
        let runs: Vec<Run> = (0..1_000).map(run).collect();
        let shown = of(&runs, Filter { text: "\"><script>", ..Filter::default() });
        assert_eq!(shown.matches("<script").count(), 0);
        assert_eq!(shown.matches("<img").count(), 0);
        assert_eq!(shown.matches("href=\"/runs/run_").count(), 1_000);
    }

    #[test]
    fn whoever_has_no_run_is_offered_a_first_one() {
        assert!(of(&[], Filter::default()).contains("Run a first program"));
        let none = of(&[], Filter { tool: "mail.send", ..Filter::default() });
        assert!(!none.contains("first program") && none.contains("No run is like that"));
    }
}
