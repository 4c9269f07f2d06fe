//! `run_get`: looks a run up.

use super::{reads_only, run_output};
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::{Value, json};

pub(super) const NAME: &str = "run_get";

/// Characters of a run id; ours are far shorter.
const ID_CHARS: usize = 128;

/// A run to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunGet {
    /// The id, as the client sent it; it may be anybody's or nobody's.
    pub run_id: String,
}

impl RunGet {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self { run_id: arguments.required_text("runId", ID_CHARS) };
        arguments.finish(NAME, &["runId"], call)
    }
}

pub(super) fn definition() -> Value {
    json!({
        "name": NAME,
        "title": "Look a run up",
        "description": "Answers with one of your runs by its id: status, result or error with its \
                        next step, logs and timing. The id stays valid after the run has ended.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "runId": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": ID_CHARS,
                    "description": "The id that execute or run_list answered.",
                },
            },
            "required": ["runId"],
            "additionalProperties": false,
        },
        "outputSchema": run_output(),
        "annotations": reads_only(),
    })
}
