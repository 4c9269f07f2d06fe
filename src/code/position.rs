//! Where something is in a text: offsets in bytes, positions as people and V8 count them.
//!
//! Lines end where JavaScript ends them: LF, CR, CRLF, U+2028, U+2029.

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in UTF-16 units, from 1.
    pub column: u32,
}

/// Longest piece of a line that an excerpt shows, in characters: what fits a terminal.
const EXCERPT_CHARS: usize = 100;

impl Position {
    /// The position of the byte at `offset`.
    #[must_use]
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let (mut line, mut start) = (1_u32, 0);
        for (at, end) in line_ends(before) {
            // Between CR and LF there is no new line yet.
            if at.saturating_add(end) > before.len() {
                break;
            }
            line = line.saturating_add(1);
            start = at.saturating_add(end);
        }
        let column = utf16_len(before.get(start..).unwrap_or("")).saturating_add(1);
        Self { line, column }
    }

    /// The offset of this position, at most the end of its line; `None` when there is no such line.
    #[must_use]
    pub(super) fn offset(self, text: &str) -> Option<usize> {
        let (start, line) = line_at(text, self.line)?;
        let mut units = self.column.saturating_sub(1);
        for (at, c) in line.char_indices() {
            if units == 0 {
                return Some(start.saturating_add(at));
            }
            units = units.saturating_sub(if c.len_utf16() == 2 { 2 } else { 1 });
        }
        Some(start.saturating_add(line.len()))
    }

    /// The line at this position, and below it a caret. A long line is cut around the caret.
    #[must_use]
    pub(super) fn excerpt(self, text: &str) -> Option<String> {
        let (start, line) = line_at(text, self.line)?;
        let caret = line.get(..self.offset(text)?.checked_sub(start)?)?.chars().count();
        let from = caret.saturating_sub(EXCERPT_CHARS / 2);
        let shown: String = line.chars().skip(from).take(EXCERPT_CHARS).collect();
        // A tab stays a tab, so that the caret stands below its character.
        let pad: String = line
            .chars()
            .skip(from)
            .take(caret.saturating_sub(from))
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        Some(format!("{}\n{pad}^", shown.trim_end()))
    }
}

/// Whether JavaScript ends a line at `c`.
pub(super) const fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Length of `text` in UTF-16 units.
pub(super) fn utf16_len(text: &str) -> u32 {
    let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// Offset and length of every line end.
fn line_ends(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices(is_line_end).filter_map(move |(at, end)| {
        let rest = text.get(at..)?;
        if end == "\n" && text.get(..at)?.ends_with('\r') {
            return None;
        }
        Some((at, if rest.starts_with("\r\n") { 2 } else { end.len() }))
    })
}

/// Offset and text of a line, counted from 1, without its end.
fn line_at(text: &str, line: u32) -> Option<(usize, &str)> {
    let mut start = 0;
    let mut left = line.checked_sub(1)?;
    for (at, end) in line_ends(text) {
        if left == 0 {
            return Some((start, text.get(start..at)?));
        }
        left = left.saturating_sub(1);
        start = at.saturating_add(end);
    }
    (left == 0).then(|| text.get(start..).map(|line| (start, line)))?
}
