//! `run_list`: lists runs.

use super::{output, reads_only, statuses};
use crate::{error::Fault, mcp::arguments::Arguments, run::outcome::Status};
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
    /// Only runs of this status.
    pub status: Option<Status>,
}

impl RunList {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            limit: arguments.integer("limit", &(1..=MOST)),
            cursor: arguments.text("cursor", CURSOR_CHARS),
            status: arguments.word("status", &statuses()).and_then(|word| Status::parse(&word)),
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
                    "enum": statuses(),
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
                        "status": { "type": "string", "enum": statuses() },
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
