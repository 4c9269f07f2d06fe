//! `workflow_run_list`: lists workflows.

use super::statuses;
use crate::{error::Fault, mcp::arguments::Arguments, run::outcome::Status};
use serde_json::Value;

pub(super) const NAME: &str = "workflow_run_list";

const ARGUMENTS: [&str; 3] = ["limit", "cursor", "status"];

/// Most workflows of one page. D1 returns all rows as one value; a summary is small.
const MOST: u64 = 100;

/// Characters of a cursor; ours are far shorter.
const CURSOR_CHARS: usize = 512;

/// Which workflows to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRunList {
    /// Most workflows of one page, 1 to 100.
    pub limit: Option<u64>,
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// Only workflows of this status.
    pub status: Option<Status>,
}

impl WorkflowRunList {
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
    super::parse(include_str!("workflow_run_list.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_and_words_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["limit"]["maximum"], MOST);
        assert_eq!(properties["cursor"]["maxLength"], CURSOR_CHARS);
        assert_eq!(properties["status"]["enum"], serde_json::json!(statuses()));
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
