//! What an attempt runs: a program of its own, or an export of a package that was prepared when it
//! was saved.

use super::order::Order;
use crate::code::{Options, Prepared, Refusal, prepare};
use crate::error::{Code, Fault};
use crate::run::end::Place;

/// What is run.
#[derive(Debug)]
pub enum Program {
    /// Text that came with the request.
    Text(Box<Prepared>),
    /// Modules that the sandbox has, or reads from the store.
    Package,
}

impl Program {
    /// Prepares what an order names.
    ///
    /// # Errors
    ///
    /// [`Refusal`] of a text.
    pub fn of(order: &Order, options: &Options<'_>) -> Result<Self, Refusal> {
        if order.package.is_some() {
            return Ok(Self::Package);
        }
        prepare(&order.source, options).map(|prepared| Self::Text(Box::new(prepared)))
    }

    /// The text of `program.js`; empty when the sandbox has it.
    #[must_use]
    pub fn module(&self) -> &str {
        match self {
            Self::Text(prepared) => &prepared.module,
            Self::Package => "",
        }
    }

    /// What the author should know.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Text(prepared) => &prepared.warnings,
            Self::Package => &[],
        }
    }

    /// Where a place in `program.js` is in the author's text. A package's is found by its sandbox.
    #[must_use]
    pub fn position(&self, line: u32, column: u32) -> Option<Place> {
        match self {
            Self::Text(prepared) => prepared.position(line, column).map(|place| Place {
                file: None,
                line: place.line,
                column: place.column,
            }),
            Self::Package => None,
        }
    }

    /// The fault behind what the engine says when it refuses a module.
    #[must_use]
    pub fn refused(&self, said: String) -> Fault {
        match self {
            Self::Text(prepared) => match prepared.refusal_from_engine(&said) {
                Some(refusal) => refused(&refusal),
                None => Fault::new(Code::SyntaxRefused, "The engine refused the program.")
                    .caused_by(said),
            },
            Self::Package => {
                let what =
                    said.split("SyntaxError: ").nth(1).unwrap_or("what it says is no syntax");
                let what = what.lines().next().unwrap_or_default().trim();
                let message = format!("The engine refused a module of the package: {what}");
                Fault::new(Code::SyntaxRefused, message)
            }
        }
    }
}

/// A program that was refused, as its author is told.
#[must_use]
pub fn refused(refusal: &Refusal) -> Fault {
    let mut fault = Fault::new(Code::SyntaxRefused, refusal.message.clone());
    if let Some(place) = refusal.place {
        fault = fault.with("line", place.line).with("column", place.column);
    }
    if let Some(excerpt) = &refusal.excerpt {
        fault = fault.with("excerpt", excerpt.as_str());
    }
    fault
}
