//! `schedule_list`: looks at schedules, or at the times of one.

use super::schedule_put::NAME_CHARS;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "schedule_list";

/// Characters of a cursor; ours are far shorter.
const CURSOR_CHARS: usize = 512;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleList {
    /// The schedule whose times are asked for; all schedules without.
    pub name: Option<String>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
}

impl ScheduleList {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            name: arguments.text("name", NAME_CHARS),
            cursor: arguments.text("cursor", CURSOR_CHARS),
        };
        arguments.finish(NAME, &["name", "cursor"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("schedule_list.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["name"]["maxLength"], NAME_CHARS);
        assert_eq!(properties["cursor"]["maxLength"], CURSOR_CHARS);
    }
}
