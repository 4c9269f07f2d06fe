//! Results: what a model reads of a run, and what a program reads of it.

use super::{discover::server_info, rpc_error::RpcError};
use crate::error::{Fault, Kind};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// How a tool ended: in an outcome, or in a fault before there was one.
pub type ToolAnswer = Result<ToolOutcome, Fault>;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The run, as the HTTP API gives it, or the list of runs. An object.
    pub structured: Value,
    /// The run failed or was cancelled. Looking up a failed run is no error.
    pub is_error: bool,
    /// The stored answer to an earlier call with the same idempotency key.
    pub replayed: bool,
}

/// The result of a tool call.
///
/// # Errors
///
/// A fault of ours is an error of the protocol: a model cannot correct anything by it.
pub(super) fn of_tool(outcome: &ToolAnswer) -> Result<Value, RpcError> {
    match outcome {
        Err(fault) if fault.kind() == Kind::InternalError => Err(RpcError::internal(fault)),
        Err(fault) => Ok(of_fault(fault)),
        Ok(outcome) => {
            let structured = &outcome.structured;
            let words = if outcome.is_error {
                failure(structured)
            } else {
                waiting(structured).unwrap_or_else(|| structured.to_string())
            };
            let mut result = json!({
                "content": [{ "type": "text", "text": words }],
                "structuredContent": structured,
                "isError": outcome.is_error,
            });
            if outcome.replayed {
                meta(&mut result, "holdfast/replayed", Value::Bool(true));
            }
            Ok(result)
        }
    }
}

/// The result of a call that came to no run: the model reads it and corrects itself.
pub(super) fn of_fault(fault: &Fault) -> Value {
    let structured = json!({ "error": fault.message, "errorDetails": fault.to_json() });
    json!({
        "content": [{ "type": "text", "text": failure(&structured) }],
        "structuredContent": structured,
        "isError": true,
    })
}

/// Adds what every complete result of the modern era has.
pub(super) fn complete(result: &mut Value) {
    if let Value::Object(members) = result {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    meta(result, "io.modelcontextprotocol/serverInfo", server_info());
}

/// JSON text of a type that cannot fail to be written: its keys are strings.
pub(super) fn text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What a model reads of a failure: the message, what to do about it, how far it came.
fn failure(run: &Value) -> String {
    let details = run.get("errorDetails");
    let text_of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let message = text_of(run.get("error"))
        .or_else(|| text_of(details.and_then(|details| details.get("message"))))
        .unwrap_or_else(|| "the run did not complete".to_owned());
    let mut out = format!("Error: {message}");
    if let Some(next) = text_of(details.and_then(|details| details.get("nextStep"))) {
        let _ = write!(out, "\n\nNext step: {next}");
    }
    if let Some(id) = text_of(run.get("id")) {
        let _ = write!(out, "\n\nRun: {id}");
    }
    let list = |name: &str| run.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
    if let Some(warnings) = list("warnings") {
        out.push_str("\n\nWarnings:");
        for warning in warnings {
            let _ = write!(out, "\n{}", plain(warning));
        }
    }
    if let Some(logs) = list("logs") {
        out.push_str("\n\nLogs:");
        for line in logs {
            let level = line.get("level").and_then(Value::as_str).unwrap_or("log");
            let _ = write!(out, "\n[{level}] {}", plain(line.get("text").unwrap_or(line)));
        }
    }
    out
}

/// What a model reads of a run that waits for a person; `None` for any other run.
fn waiting(run: &Value) -> Option<String> {
    if run.get("status")?.as_str()? != "waiting_approval" {
        return None;
    }
    let id = run.get("id")?.as_str()?;
    let addresses: Vec<&str> = run
        .get("approvals")?
        .as_array()?
        .iter()
        .filter_map(|approval| approval.get("approveUrl")?.as_str())
        .collect();
    if addresses.is_empty() {
        return None;
    }
    Some(format!(
        "Waiting for approval. Ask the user to open {} , then call run_get with runId {id}.\n\n{run}",
        addresses.join(" , ")
    ))
}

/// Text bare, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Sets one key of a result's `_meta`.
fn meta(result: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = result
        && let Value::Object(meta) =
            members.entry("_meta").or_insert_with(|| Value::Object(Map::new()))
    {
        meta.insert(key.to_owned(), value);
    }
}
