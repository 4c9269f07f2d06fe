//! `run_rollback`: undoes what a run did.

use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "run_rollback";

/// Characters of a run id; ours are far shorter.
const ID_CHARS: usize = 128;

/// A run to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRollback {
    /// The id, as the client sent it; it may be anybody's or nobody's.
    pub run_id: String,
}

impl RunRollback {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self { run_id: arguments.required_text("runId", ID_CHARS) };
        arguments.finish(NAME, &["runId"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("run_rollback.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        assert_eq!(definition["inputSchema"]["properties"]["runId"]["maxLength"], ID_CHARS);
    }
}
