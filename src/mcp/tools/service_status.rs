//! `service_status`: looks at one service, or at all.

use super::service_start::NAME_CHARS;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "service_status";

/// Characters of a cursor; ours are far shorter.
const CURSOR_CHARS: usize = 512;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStatus {
    /// `package/service`, as the client sent it; all without.
    pub name: Option<String>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
}

impl ServiceStatus {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            name: arguments.text("name", NAME_CHARS),
            cursor: arguments.text("cursor", CURSOR_CHARS),
        };
        arguments.finish(NAME, &["name", "cursor"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("service_status.json"))
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
