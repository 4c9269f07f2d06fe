//! Edits to a text, collected in any order and made in one pass, and the way back.
//!
//! No edit adds or removes a line end, so lines stay and columns shift.

use std::borrow::Cow;

use oxc_span::Span;

use super::position::{Position, is_line_end};

/// What stands in the place of a replaced stretch.
#[derive(Debug)]
enum Content<'t> {
    /// This text, and the line ends of what was there.
    Text(Cow<'t, str>),
    /// White space of the same width in UTF-16 units, the line ends kept.
    Blank {
        /// Stands for the first character, which is ASCII.
        first: Option<char>,
        /// Stands for the last character, which is ASCII.
        last: Option<char>,
    },
}

/// The order of edits at one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Closes something: the innermost, which was met last, comes first.
    Close(std::cmp::Reverse<u32>),
    /// Ends a statement, after all that closes in it.
    End,
    /// Opens something: the outermost, which was met first, comes first.
    Open(u32),
    /// Replaces what follows.
    Replace,
}

#[derive(Debug)]
struct Edit<'t> {
    start: usize,
    end: usize,
    rank: Rank,
    content: Content<'t>,
}

/// Edits to one text.
///
/// `order` says when a node was met, parents before children: it decides what is inside of what
/// where several edits fall on one offset.
#[derive(Debug, Default)]
pub(super) struct Edits<'t> {
    edits: Vec<Edit<'t>>,
}

impl<'t> Edits<'t> {
    /// Opens something before `at`.
    pub(super) fn open(&mut self, at: u32, order: u32, text: impl Into<Cow<'t, str>>) {
        self.push(at, at, Rank::Open(order), Content::Text(text.into()));
    }

    /// Closes something before `at`.
    pub(super) fn close(&mut self, at: u32, order: u32, text: impl Into<Cow<'t, str>>) {
        self.push(at, at, Rank::Close(std::cmp::Reverse(order)), Content::Text(text.into()));
    }

    /// Ends the statement that ends at `at`.
    pub(super) fn end_statement(&mut self, at: u32) {
        self.push(at, at, Rank::End, Content::Text(Cow::Borrowed(";")));
    }

    /// Puts `text` in the place of `span`, whose line ends stay.
    pub(super) fn replace(&mut self, span: Span, text: impl Into<Cow<'t, str>>) {
        self.push(span.start, span.end, Rank::Replace, Content::Text(text.into()));
    }

    /// Makes `span` white space.
    pub(super) fn blank(&mut self, span: Span) {
        self.blank_with(span, None, None);
    }

    /// Makes `span` an empty statement: the white space begins with a semicolon, so that what
    /// stood apart before still does.
    pub(super) fn blank_statement(&mut self, span: Span) {
        self.blank_with(span, Some(';'), None);
    }

    /// Makes `span`, which begins and ends with ASCII, white space but for its first and last character.
    pub(super) fn blank_with(&mut self, span: Span, first: Option<char>, last: Option<char>) {
        if !span.is_empty() {
            self.push(span.start, span.end, Rank::Replace, Content::Blank { first, last });
        }
    }

    fn push(&mut self, start: u32, end: u32, rank: Rank, content: Content<'t>) {
        self.edits.push(Edit { start: offset(start), end: offset(end), rank, content });
    }

    /// Makes the edits, between `before` and `after`.
    pub(super) fn apply(mut self, text: &str, before: &str, after: &str) -> (String, Map) {
        self.edits.sort_by_key(|edit| (edit.start, edit.rank));
        let added: usize = self.edits.iter().map(Edit::longest).sum();
        let mut out = String::with_capacity(
            [before.len(), text.len(), added, after.len()].iter().sum::<usize>(),
        );
        let mut pieces = Vec::with_capacity(self.edits.len().saturating_mul(2).saturating_add(2));
        out.push_str(before);
        let mut at = 0;
        for edit in self.edits {
            // An edit inside a stretch that is gone has nothing left to do.
            if edit.start < at {
                debug_assert!(false, "edits overlap at {}", edit.start);
                continue;
            }
            if edit.start > at {
                pieces.push(Piece { out: out.len(), source: at, copied: true });
                out.push_str(text.get(at..edit.start).unwrap_or(""));
            }
            pieces.push(Piece { out: out.len(), source: edit.start, copied: false });
            edit.content.write(text.get(edit.start..edit.end).unwrap_or(""), &mut out);
            at = edit.end;
        }
        pieces.push(Piece { out: out.len(), source: at, copied: true });
        out.push_str(text.get(at..).unwrap_or(""));
        pieces.push(Piece { out: out.len(), source: text.len(), copied: false });
        out.push_str(after);
        (out, Map { pieces })
    }
}

impl Edit<'_> {
    fn longest(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.len(),
            Content::Blank { .. } => 0,
        }
    }
}

impl Content<'_> {
    fn write(&self, replaced: &str, out: &mut String) {
        match self {
            Self::Text(text) => {
                out.push_str(text);
                out.extend(replaced.chars().filter(|c| is_line_end(*c)));
            }
            Self::Blank { first, last } => {
                let end = replaced.len().saturating_sub(1);
                for (at, c) in replaced.char_indices() {
                    match (at, first, last) {
                        (0, Some(first), _) => out.push(*first),
                        (at, _, Some(last)) if at == end => out.push(*last),
                        _ if is_line_end(c) => out.push(c),
                        _ => out.extend(std::iter::repeat_n(' ', c.len_utf16())),
                    }
                }
            }
        }
    }
}

/// A stretch of the text that was made.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins in the text that was made.
    out: usize,
    /// Where it comes from.
    source: usize,
    /// Whether it is a copy; if not, all of it comes from one place.
    copied: bool,
}

/// From the text that was made back to the one that was edited.
#[derive(Debug, Clone)]
pub(super) struct Map {
    pieces: Vec<Piece>,
}

impl Map {
    /// Where the byte at `out` comes from; `None` when it stands before or after the program.
    pub(super) fn source(&self, out: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|piece| piece.out <= out);
        let piece = self.pieces.get(next.checked_sub(1)?)?;
        if piece.copied {
            Some(piece.source.saturating_add(out.saturating_sub(piece.out)))
        } else {
            // The last piece stands for what comes after the program.
            (next < self.pieces.len()).then_some(piece.source)
        }
    }

    /// Where a position of `made` comes from in `source`.
    pub(super) fn position(&self, made: &str, source: &str, at: Position) -> Option<Position> {
        Some(Position::of(source, self.source(at.offset(made)?)?))
    }
}

/// An offset of a span.
pub(super) fn offset(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
