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
