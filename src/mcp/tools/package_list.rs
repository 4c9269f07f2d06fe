//! `package_list`: lists packages.

use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "package_list";

const ARGUMENTS: [&str; 2] = ["limit", "cursor"];

/// Most packages of one page.
const MOST: u64 = 100;

/// Characters of a cursor; ours are far shorter.
const CURSOR_CHARS: usize = 512;

/// Which packages to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageList {
    /// Most packages of one page, 1 to 100.
    pub limit: Option<u64>,
    /// Where an earlier page ended.
    pub cursor: Option<String>,
}

impl PackageList {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            limit: arguments.integer("limit", &(1..=MOST)),
            cursor: arguments.text("cursor", CURSOR_CHARS),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("package_list.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["limit"]["maximum"], MOST);
        assert_eq!(properties["cursor"]["maxLength"], CURSOR_CHARS);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
