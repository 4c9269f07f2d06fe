//! `run_list`, `workflow_run_list`: list runs, and workflows.

use super::statuses;
use crate::{error::Fault, mcp::arguments::Arguments, run::outcome::Status};
use serde_json::Value;

pub(super) const NAME: &str = "run_list";
pub(super) const OF_WORKFLOWS: &str = "workflow_run_list";

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
    pub(super) fn read(tool: &'static str, mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            limit: arguments.integer("limit", &(1..=MOST)),
            cursor: arguments.text("cursor", CURSOR_CHARS),
            status: arguments.word("status", &statuses()).and_then(|word| Status::parse(&word)),
        };
        arguments.finish(tool, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("run_list.json"))
}

pub(super) fn definition_of_workflows() -> Value {
    super::parse(include_str!("workflow_run_list.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_have_the_numbers_and_words_of_the_code() {
        for (definition, name) in [(definition(), NAME), (definition_of_workflows(), OF_WORKFLOWS)]
        {
            assert_eq!(definition["name"], name);
            let properties = &definition["inputSchema"]["properties"];
            assert_eq!(properties["limit"]["maximum"], MOST);
            assert_eq!(properties["cursor"]["maxLength"], CURSOR_CHARS);
            assert_eq!(properties["status"]["enum"], serde_json::json!(statuses()));
            for name in ARGUMENTS {
                assert!(properties.get(name).is_some(), "{name}");
            }
        }
    }
}
