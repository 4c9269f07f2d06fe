//! Text of programs and tools as it is shown: as text, and nothing in it hidden.

use maud::{Markup, PreEscaped, Render as _, html};
use serde_json::Value;
use std::fmt::Write as _;

/// The most of one text that a page shows, in bytes: a line of a megabyte is cut, and says so.
const MAX_SHOWN_BYTES: usize = 65_536;

/// The most of a name, in bytes: a tool's is no longer.
const MAX_NAME_BYTES: usize = 512;

/// Shows a text. Characters that would turn its direction, hide or join others are shown by their
/// number: what a person reads must be what runs.
#[must_use]
pub fn plain(text: &str) -> Markup {
    let (text, left) = cut(text, MAX_SHOWN_BYTES);
    html! {
        (seen(text))
        @if left > 0 { span.cut { " … " (left) " more bytes" } }
    }
}

/// As [`plain`], whole.
#[must_use]
pub fn seen(text: &str) -> Markup {
    if !text.chars().any(hides) {
        return text.render();
    }
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(hides) {
        let last = part.chars().next_back().filter(|c| hides(*c));
        let kept = last.map_or(part, |c| part.strip_suffix(c).unwrap_or(part));
        kept.render_to(&mut out);
        if let Some(c) = last {
            let number = u32::from(c);
            let mark = html! { span.odd { (format!("U+{number:04X}")) } };
            out.push_str(&mark.0);
        }
    }
    PreEscaped(out)
}

/// The same of a name, for an attribute, which holds no markup.
#[must_use]
pub fn words(text: &str) -> String {
    let (text, _) = cut(text, MAX_NAME_BYTES);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            let number = u32::from(c);
            // Writing to a String cannot fail.
            let _ = write!(out, "U+{number:04X}");
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character is not seen, or changes how others are.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text of at most so many bytes, and how many were left out.
#[must_use]
pub fn cut(text: &str, most: usize) -> (&str, usize) {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    (text.get(..end).unwrap_or_default(), text.len().saturating_sub(end))
}

/// A JSON value, indented. Text that is no JSON is shown as it is.
#[must_use]
pub fn json(text: &str) -> Markup {
    let pretty = serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    html! { pre.json tabindex="0" { (plain(pretty.as_deref().unwrap_or(text))) } }
}

/// What a program is, for a list: the first line of it that tells something, of its beginning.
#[must_use]
pub fn headline(source: &str) -> &str {
    let telling = |line: &&str| {
        !line.is_empty()
            && !["//", "/*", "*", "import ", "\"use ", "'use ", "```", "{", "}"]
                .iter()
                .any(|start| line.starts_with(start))
    };
    let lines = || source.lines().map(str::trim);
    let found = lines().find(telling).or_else(|| lines().find(|line| !line.is_empty()));
    cut(found.unwrap_or_default(), 160).0
}

#[cfg(test)]
mod tests {
    //! What is shown is what there is.

    use super::*;

    #[test]
    fn markup_is_text() {
        let shown = plain("<script>alert(1)</script> & \"x\" </pre>").0;
        assert!(!shown.contains('<'), "{shown}");
        assert!(shown.contains("&lt;script&gt;"));
    }

    #[test]
    fn what_hides_is_seen() {
        let shown = seen("a\u{202e}b\u{0}c\u{200b}").0;
        assert_eq!(
            shown,
            "a<span class=\"odd\">U+202E</span>b<span class=\"odd\">U+0000</span>c\
             <span class=\"odd\">U+200B</span>"
        );
        assert_eq!(seen("عربي\tטקסט\n").0, "عربي\tטקסט\n");
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let shown = plain(&"é".repeat(500_000)).0;
        assert!(shown.len() < 70_000);
        assert!(shown.contains("934464 more bytes"));
    }

    #[test]
    fn the_first_telling_line_names_a_program() {
        let cases = [
            ("// head\n\nimport x from \"y\";\nconst a = 1;\nreturn a", "const a = 1;"),
            ("// only this", "// only this"),
            ("", ""),
            ("  return 42  ", "return 42"),
        ];
        for (source, line) in cases {
            assert_eq!(headline(source), line);
        }
    }
}
