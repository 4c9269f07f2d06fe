//! A program with its line numbers, and the lines that matter marked.

use super::text;
use maud::{Markup, html};

/// A mark at a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The line, from 1.
    pub line: u64,
    /// `wait` or `bad`.
    pub kind: &'static str,
    /// What it says.
    pub says: String,
}

/// Lines that are shown at most; a program of more says so.
const MAX_LINES: usize = 20_000;

/// The program.
#[must_use]
pub fn listing(source: &str, marks: &[Mark]) -> Markup {
    let left = source.lines().count().saturating_sub(MAX_LINES);
    html! {
        pre.program tabindex="0" aria-label="The program" {
            @for (line, number) in source.lines().take(MAX_LINES).zip(1_u64..) {
                @let mark = marks.iter().find(|mark| mark.line == number);
                span class={ "line" @if let Some(mark) = mark { " marked " (mark.kind) } }
                    id={ "L" (number) } {
                    span.number aria-hidden="true" { (number) }
                    span.code { (text::plain(line)) @if line.is_empty() { " " } }
                    @if let Some(mark) = mark { span.says { (mark.says) } }
                }
                "\n"
            }
            @if left > 0 { span.cut { "… " (left) " more lines" } }
        }
    }
}

/// Lines in which a tool is called by its name, from 1: where a call may have been made whose place was
/// not recorded.
#[must_use]
pub fn lines_calling(source: &str, path: &str) -> Vec<u64> {
    let lines = source.lines().zip(1_u64..);
    lines.filter(|(line, _)| calls(line, path)).map(|(_, number)| number).collect()
}

fn calls(line: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let code = line.trim_start();
    !code.starts_with("//")
        && line.match_indices(path).any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            let after = line.get(at.saturating_add(path.len())..).unwrap_or_default();
            let after = after.trim_start();
            let bare = !before.ends_with(is_name) && !before.ends_with('.');
            (bare || before.ends_with("tools."))
                && (after.starts_with('(') || after.starts_with("?.("))
        })
}

#[cfg(test)]
mod tests {
    //! A call is found by its name, and nothing else is.

    use super::*;

    #[test]
    fn lines_that_call_a_tool_are_found() {
        let source = "// tools.mail.send(x)\nawait tools.mail.send({})\nconst s = mail.send\n\
                      storage.mail.send()\ntools.mail.sender()\n  tools.mail.send ( {} )";
        assert_eq!(lines_calling(source, "mail.send"), [2, 6]);
    }

    #[test]
    fn a_program_is_text_line_by_line() {
        let mark = Mark { line: 2, kind: "wait", says: "waits here".to_owned() };
        let shown = listing("a <b>\n</pre>\n", &[mark]).0;
        assert!(shown.contains("a &lt;b&gt;") && shown.contains("&lt;/pre&gt;"), "{shown}");
        assert_eq!(shown.matches("waits here").count(), 1);
        assert!(shown.contains("id=\"L2\""));
    }
}
