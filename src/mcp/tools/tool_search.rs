//! `tool_search`: finds tools that programs can call.

use crate::{
    error::Fault,
    mcp::arguments::Arguments,
    tools::find::{MAX_PAGE, Search},
};
use serde_json::Value;

pub(super) const NAME: &str = "tool_search";

const ARGUMENTS: [&str; 4] = ["query", "source", "limit", "cursor"];

/// Characters of a query: some words.
const QUERY_CHARS: usize = 500;

/// Characters of a source's name.
const SOURCE_CHARS: usize = 64;

/// Characters of a cursor: it may be a path.
const CURSOR_CHARS: usize = 512;

pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Search, Fault> {
    let call = Search {
        query: arguments.text("query", QUERY_CHARS).unwrap_or_default(),
        source: arguments.text("source", SOURCE_CHARS),
        limit: arguments.integer("limit", &(1..=MAX_PAGE)),
        cursor: arguments.text("cursor", CURSOR_CHARS),
    };
    arguments.finish(NAME, &ARGUMENTS, call)
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("tool_search.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["limit"]["maximum"], MAX_PAGE);
        assert_eq!(properties["query"]["maxLength"], QUERY_CHARS);
        assert_eq!(properties["source"]["maxLength"], SOURCE_CHARS);
        assert_eq!(properties["cursor"]["maxLength"], CURSOR_CHARS);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
