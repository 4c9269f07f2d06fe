//! `workflow_cancel`: ends a workflow.

use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "workflow_cancel";

/// Characters of a run id; ours are far shorter.
const ID_CHARS: usize = 128;

/// A workflow to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowCancel {
    /// The id, as the client sent it; it may be anybody's or nobody's.
    pub run_id: String,
}

impl WorkflowCancel {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self { run_id: arguments.required_text("runId", ID_CHARS) };
        arguments.finish(NAME, &["runId"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("workflow_cancel.json"))
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
