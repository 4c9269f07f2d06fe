//! `run_list`: lists runs.

use super::{STATUSES, output, reads_only};
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::{Value, json};

pub(super) const NAME: &str = "run_list";

const ARGUMENTS: [&str; 3] = ["limit", "cursor", "status"];

/// Most runs of one page. D1 returns all rows as one value; a summary is small.
const MOST: u64 = 100;

/// Characters of a cursor; ours are far shorter.
const CURSOR_CHARS: usize = 512;

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunList {
    /// Most runs of one page, 1 to 100.
    pub limit: Option<u64>,
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// Only runs of this status; one of [`STATUSES`].
    pub status: Option<&'static str>,
}

impl RunList {
    pub(super) fn read(mut arguments: Arguments) -> Result<Self, Fault> {
        let call = Self {
            limit: arguments.integer("limit", &(1..=MOST)),
            cursor: arguments.text("cursor", CURSOR_CHARS),
            status: arguments.word("status", &STATUSES),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    json!({
        "name": NAME,
        "title": "List runs",
        "description": "Lists your runs, newest first, without their results and logs. \
                        For the next page send nextCursor as cursor.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST,
                    "description": "Most runs of one page.",
                },
                "cursor": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": CURSOR_CHARS,
                    "description": "nextCursor of the page before.",
                },
                "status": {
                    "type": "string",
                    "enum": STATUSES,
                    "description": "Only runs of this status.",
                },
            },
            "additionalProperties": false,
        },
        "outputSchema": output(
            &json!({
                "runs": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string" },
                        "status": { "type": "string", "enum": STATUSES },
                    },
                    "required": ["id", "status"],
                } },
                "nextCursor": {
                    "type": ["string", "null"],
                    "description": "Absent or null on the last page.",
                },
            }),
            &["runs"],
        ),
        "annotations": reads_only(),
    })
}
