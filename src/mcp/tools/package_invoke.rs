//! `package_invoke`: invokes an export of a package.

use crate::run::surface::Surface;
use crate::{error::Fault, ledger::key, mcp::arguments::Arguments};
use serde_json::{Value, value::RawValue};

pub(super) const NAME: &str = "package_invoke";

const ARGUMENTS: [&str; 6] = ["name", "params", "version", "budgetMs", "label", "idempotencyKey"];

/// Characters of a package's name, a slash and an export's.
const NAME_CHARS: usize = 129;

/// Characters of a label: a line on a page.
const LABEL_CHARS: usize = 200;

/// The largest number of a version.
const MAX_VERSION: u64 = 4_294_967_295;

/// An export to invoke.
#[derive(Debug, Clone)]
pub struct PackageInvoke {
    /// `name/export`, as the client sent it.
    pub name: String,
    /// Its parameters: an object.
    pub params: Option<Box<RawValue>>,
    /// A version in place of the one that the name points at.
    pub version: Option<u64>,
    /// A budget below the package's, in milliseconds.
    pub budget_ms: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
    /// The same key with the same parameters gives the stored answer.
    pub idempotency_key: Option<String>,
}

impl PackageInvoke {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            name: arguments.required_text("name", NAME_CHARS),
            params: arguments.object("params"),
            version: arguments.integer("version", &(1..=MAX_VERSION)),
            budget_ms: arguments.integer("budgetMs", &(1..=Surface::Invocation.budget_ms())),
            label: arguments.text("label", LABEL_CHARS),
            idempotency_key: arguments.text("idempotencyKey", key::MAX_CHARS),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("package_invoke.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["budgetMs"]["maximum"], Surface::Invocation.budget_ms());
        assert_eq!(properties["name"]["maxLength"], NAME_CHARS);
        assert_eq!(properties["label"]["maxLength"], LABEL_CHARS);
        assert_eq!(properties["version"]["maximum"], MAX_VERSION);
        assert_eq!(properties["idempotencyKey"]["maxLength"], key::MAX_CHARS);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
