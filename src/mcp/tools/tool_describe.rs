//! `tool_describe`: says how a tool is called from a program.

use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "tool_describe";

/// Characters of a path: three parts of a name each.
const PATH_CHARS: usize = 512;

/// Which tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescribe {
    /// Its path.
    pub path: String,
}

impl ToolDescribe {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self { path: arguments.required_text("path", PATH_CHARS) };
        arguments.finish(NAME, &["path"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("tool_describe.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        assert_eq!(definition["inputSchema"]["properties"]["path"]["maxLength"], PATH_CHARS);
    }
}
