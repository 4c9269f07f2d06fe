//! Why a program is refused before anything runs.

use std::fmt;

use super::position::Position;

/// A program that cannot be run as it stands: a `syntax_error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, and `line N, column M` where there is a place.
    pub message: String,
    /// Where, in the text as the author sent it.
    pub place: Option<Position>,
    /// The author's line, and below it a caret.
    pub excerpt: Option<String>,
}

impl Refusal {
    /// Refuses for what stands at `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, what: impl fmt::Display) -> Self {
        let position = Position::of(text, offset);
        Self {
            message: format!("line {}, column {}: {what}", position.line, position.column),
            place: Some(position),
            excerpt: position.excerpt(text),
        }
    }

    /// Refuses for something that has no place.
    pub(super) fn without_place(what: impl fmt::Display) -> Self {
        Self { message: what.to_string(), place: None, excerpt: None }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.excerpt {
            Some(excerpt) => write!(f, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// What the platform says when it cannot load a module.
pub(super) struct Said<'m> {
    /// The engine's message.
    pub(super) what: &'m str,
    /// The module it names, and where.
    pub(super) place: Option<(&'m str, Position)>,
}

/// Reads `Uncaught SyntaxError: … at NAME:LINE:COLUMN`; `None` when that is no syntax error.
///
/// Unlike in a stack, the column counts from 0 here (workerd 1.20261117.1).
pub(super) fn engine(message: &str) -> Option<Said<'_>> {
    let (_, error) = message.split_once("SyntaxError: ")?;
    let what = error.lines().next()?.trim();
    let place = error.rsplit_once(" at ").and_then(|(_, place)| {
        let mut parts = place.lines().next()?.trim().rsplitn(3, ':');
        let column: u32 = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        Some((parts.next()?, Position { line, column: column.saturating_add(1) }))
    });
    Some(Said { what, place })
}
