//! `service_stop`: asks a service to stop.

use super::service_start::NAME_CHARS;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const NAME: &str = "service_stop";

/// A service to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStop {
    /// `package/service`, as the client sent it.
    pub name: String,
}

impl ServiceStop {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self { name: arguments.required_text("name", NAME_CHARS) };
        arguments.finish(NAME, &["name"], call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("service_stop.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        assert_eq!(definition["inputSchema"]["properties"]["name"]["maxLength"], NAME_CHARS);
    }
}
