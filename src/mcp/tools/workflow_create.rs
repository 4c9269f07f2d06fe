//! `workflow_create`: starts a durable run.

use crate::run::segment::MAX_RETRIES;
use crate::{error::Fault, ledger::key, mcp::arguments::Arguments};
use serde_json::{Value, value::RawValue};

pub(super) const NAME: &str = "workflow_create";

const ARGUMENTS: [&str; 8] =
    ["code", "package", "version", "params", "runAt", "label", "retries", "idempotencyKey"];

/// Characters of a package's name, a slash and an export's.
const NAME_CHARS: usize = 129;

/// Characters of a label: a line on a page.
const LABEL_CHARS: usize = 200;

/// Characters of a date, its zone included.
const DATE_CHARS: usize = 64;

/// The largest number of a version.
const MAX_VERSION: u64 = 4_294_967_295;

/// A workflow to create.
#[derive(Debug, Clone)]
pub struct WorkflowCreate {
    /// The program, as the client sent it.
    pub code: Option<String>,
    /// In its place an export, `name/export`.
    pub package: Option<String>,
    /// A version in place of the one that the name points at.
    pub version: Option<u64>,
    /// What the program sees as `params`: an object.
    pub params: Option<Box<RawValue>>,
    /// When it begins, as the client wrote it.
    pub run_at: Option<String>,
    /// A name for people.
    pub label: Option<String>,
    /// How often a program that failed is taken back.
    pub retries: Option<u64>,
    /// The same key with the same request gives the same workflow.
    pub idempotency_key: Option<String>,
}

impl WorkflowCreate {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            code: arguments.text("code", usize::MAX),
            package: arguments.text("package", NAME_CHARS),
            version: arguments.integer("version", &(1..=MAX_VERSION)),
            params: arguments.object("params"),
            run_at: arguments.text("runAt", DATE_CHARS),
            label: arguments.text("label", LABEL_CHARS),
            retries: arguments.integer("retries", &(0..=MAX_RETRIES)),
            idempotency_key: arguments.text("idempotencyKey", key::MAX_CHARS),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("workflow_create.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::surface::Surface;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["package"]["maxLength"], NAME_CHARS);
        assert_eq!(properties["label"]["maxLength"], LABEL_CHARS);
        assert_eq!(properties["runAt"]["maxLength"], DATE_CHARS);
        assert_eq!(properties["version"]["maximum"], MAX_VERSION);
        assert_eq!(properties["retries"]["maximum"], MAX_RETRIES);
        assert_eq!(properties["idempotencyKey"]["maxLength"], key::MAX_CHARS);
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
        let budget = format!("{} s of own time", Surface::Workflow.budget_ms() / 1_000);
        assert!(definition["description"].as_str().is_some_and(|text| text.contains(&budget)));
    }
}
