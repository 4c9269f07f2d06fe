//! `service_start`: has a service of a package kept at work.

use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::{Value, value::RawValue};

pub(super) const NAME: &str = "service_start";

const ARGUMENTS: [&str; 3] = ["name", "params", "version"];

/// Characters of a package's name, a slash and a service's.
pub(super) const NAME_CHARS: usize = 129;

/// The largest number of a version.
const MAX_VERSION: u64 = 4_294_967_295;

/// A service to start.
#[derive(Debug, Clone)]
pub struct ServiceStart {
    /// `package/service`, as the client sent it.
    pub name: String,
    /// Its parameters: an object.
    pub params: Option<Box<RawValue>>,
    /// A version in place of the one that the package's name points at.
    pub version: Option<u64>,
}

impl ServiceStart {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            name: arguments.required_text("name", NAME_CHARS),
            params: arguments.object("params"),
            version: arguments.integer("version", &(1..=MAX_VERSION)),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("service_start.json"))
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
        assert_eq!(properties["version"]["maximum"], MAX_VERSION);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
