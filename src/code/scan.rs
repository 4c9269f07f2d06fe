//! Finds tokens that the tree has no place for: it keeps no parenthesis, semicolon or keyword.

use oxc_span::Span;

use super::edits::offset;
use super::position::is_line_end;

/// The first offset from `at` on that is neither white space nor comment.
pub(super) fn skip_trivia(text: &str, at: u32) -> u32 {
    let mut at = offset(at);
    loop {
        let rest = text.get(at..).unwrap_or("");
        let skipped = if rest.starts_with("//") {
            rest.find(is_line_end).unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end.saturating_add(4))
        } else {
            rest.find(|c: char| !is_space(c)).unwrap_or(rest.len())
        };
        if skipped == 0 {
            return u32::try_from(at).unwrap_or(u32::MAX);
        }
        at = at.saturating_add(skipped);
    }
}

/// The end of `token` if it is the next one from `at` on.
pub(super) fn after(text: &str, at: u32, token: &str) -> Option<u32> {
    let start = skip_trivia(text, at);
    let length = u32::try_from(token.len()).ok()?;
    text.get(offset(start)..)?.starts_with(token).then(|| start.saturating_add(length))
}

/// The words from `at` on, up to the first token that is none.
pub(super) fn words(text: &str, at: u32, end: u32) -> impl Iterator<Item = (&str, Span)> {
    let mut at = at;
    std::iter::from_fn(move || {
        at = skip_trivia(text, at);
        let rest = text.get(offset(at)..offset(end))?;
        let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let word = rest.get(..length).filter(|word| !word.is_empty())?;
        let span = Span::sized(at, u32::try_from(length).ok()?);
        at = span.end;
        Some((word, span))
    })
}

/// Whether there is a line end in `text` between two offsets.
pub(super) fn has_line_end(text: &str, from: u32, to: u32) -> bool {
    text.get(offset(from)..offset(to)).is_some_and(|part| part.contains(is_line_end))
}

/// White space of JavaScript, line ends included.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() && c != '\u{85}' || c == '\u{feff}'
}

/// A character of an identifier, as far as scanning over words needs to know.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '$' | '_' | '\\')
}
