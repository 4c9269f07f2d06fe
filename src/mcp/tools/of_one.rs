//! The tools that take one text: which run, which tool, which service.

use super::service_start;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const RUN_GET: &str = "run_get";
pub(super) const RESUME: &str = "resume";
pub(super) const RUN_ROLLBACK: &str = "run_rollback";
pub(super) const WORKFLOW_CANCEL: &str = "workflow_cancel";
pub(super) const TOOL_DESCRIBE: &str = "tool_describe";
pub(super) const SERVICE_STOP: &str = "service_stop";

/// Characters of a run id; ours are far shorter.
const ID_CHARS: usize = 128;

/// Characters of a path: three parts of a name each.
const PATH_CHARS: usize = 512;

/// What the text of a tool is called, and how long it may be.
fn field(tool: &str) -> (&'static str, usize) {
    match tool {
        TOOL_DESCRIBE => ("path", PATH_CHARS),
        SERVICE_STOP => ("name", service_start::NAME_CHARS),
        _ => ("runId", ID_CHARS),
    }
}

/// The text, as the client sent it; it may name anybody's or nobody's.
pub(super) fn read(tool: &'static str, mut arguments: Arguments<'_>) -> Result<String, Fault> {
    let (field, chars) = field(tool);
    let text = arguments.required_text(field, chars);
    arguments.finish(tool, &[field], text)
}

pub(super) fn definition(tool: &str) -> Value {
    super::parse(match tool {
        RUN_GET => include_str!("run_get.json"),
        RESUME => include_str!("resume.json"),
        RUN_ROLLBACK => include_str!("run_rollback.json"),
        WORKFLOW_CANCEL => include_str!("workflow_cancel.json"),
        TOOL_DESCRIBE => include_str!("tool_describe.json"),
        _ => include_str!("service_stop.json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_have_the_numbers_of_the_code() {
        for tool in [RUN_GET, RESUME, RUN_ROLLBACK, WORKFLOW_CANCEL, TOOL_DESCRIBE, SERVICE_STOP] {
            let definition = definition(tool);
            let (field, chars) = field(tool);
            assert_eq!(definition["name"], tool);
            let schema = &definition["inputSchema"];
            assert_eq!(schema["properties"][field]["maxLength"], chars, "{tool}");
            assert_eq!(schema["required"], serde_json::json!([field]), "{tool}");
        }
    }
}
