//! Results: what a model reads of a run, and what a program reads of it.

use super::{discover::server_info, era::Era, rpc_error::RpcError};
use crate::{
    error::{Fault, Kind},
    run::outcome::Status,
};
use serde::{Deserialize, Serialize};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::{borrow::Cow, fmt::Write as _};

/// How a tool ended: in an outcome, or in a fault before there was one.
pub type ToolAnswer = Result<ToolOutcome, Fault>;

/// What a tool answers.
#[derive(Debug, Clone)]
pub struct ToolOutcome {
    /// The run as the HTTP API gives it, or the list of runs: an object. Kept as JSON text, so
    /// that keys stay in the order of the program and numbers keep their digits.
    pub structured: Box<RawValue>,
    /// The run failed or was cancelled. Looking up a failed run is no error.
    pub is_error: bool,
    /// The stored answer to an earlier call with the same idempotency key.
    pub replayed: bool,
}

impl ToolOutcome {
    /// The outcome of a call that ran a program: an error if the run failed or was cancelled.
    ///
    /// # Errors
    ///
    /// When the response is no JSON object with a `status`.
    pub fn of_run(response: String, replayed: bool) -> Result<Self, serde_json::Error> {
        /// The one member that decides.
        #[derive(Deserialize)]
        struct Ended<'a> {
            #[serde(borrow)]
            status: Cow<'a, str>,
        }
        let status = Status::parse(&serde_json::from_str::<Ended<'_>>(&response)?.status);
        let is_error = matches!(status, Some(Status::Failed | Status::Cancelled));
        Ok(Self { structured: RawValue::from_string(response)?, is_error, replayed })
    }

    /// The outcome of a look at what is stored, whatever the state of the runs that it shows.
    ///
    /// # Errors
    ///
    /// When the response is no JSON.
    pub fn of_look(response: String) -> Result<Self, serde_json::Error> {
        let structured = RawValue::from_string(response)?;
        Ok(Self { structured, is_error: false, replayed: false })
    }
}

/// The result of `tools/call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallResult {
    content: [Text; 1],
    structured_content: Box<RawValue>,
    is_error: bool,
    #[serde(skip)]
    replayed: bool,
}

#[derive(Debug, Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

/// A result with what its era has around it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Framed<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(flatten)]
    own: &'a T,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    meta: Meta,
}

/// `_meta` of a result.
#[derive(Debug, Serialize)]
struct Meta {
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    server_info: Option<Value>,
    #[serde(rename = "holdfast/replayed", skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

impl Meta {
    fn is_empty(&self) -> bool {
        self.server_info.is_none() && !self.replayed
    }
}

impl<'a, T> Framed<'a, T> {
    /// A legacy result stands alone; a modern one says that it is complete and who answered.
    pub(super) fn new(era: Era, own: &'a T, replayed: bool) -> Self {
        let (result_type, server_info) = match era {
            Era::Legacy => (None, None),
            Era::Modern => (Some("complete"), Some(server_info())),
        };
        Self { result_type, own, meta: Meta { server_info, replayed } }
    }

    /// A result that asks for something first; legacy clients never get one.
    pub(super) fn asking(own: &'a T) -> Self {
        let meta = Meta { server_info: Some(server_info()), replayed: false };
        Self { result_type: Some("input_required"), own, meta }
    }
}

impl CallResult {
    /// The result of a call that ended.
    ///
    /// # Errors
    ///
    /// A fault of ours is an error of the protocol: a model cannot correct anything by it.
    pub(super) fn of(outcome: &ToolAnswer) -> Result<Self, RpcError> {
        match outcome {
            Err(fault) if fault.kind() == Kind::InternalError => Err(RpcError::internal(fault)),
            Err(fault) => Self::of_fault(fault),
            Ok(outcome) => {
                let structured = &outcome.structured;
                let text = match Told::read(structured) {
                    Some(run) if outcome.is_error => run.failure(),
                    Some(run) => {
                        run.waiting(structured).unwrap_or_else(|| structured.get().to_owned())
                    }
                    None => structured.get().to_owned(),
                };
                Ok(Self::new(text, structured.clone(), outcome.is_error, outcome.replayed))
            }
        }
    }

    /// The result of a call that came to no run: the model reads it and corrects itself.
    pub(super) fn of_fault(fault: &Fault) -> Result<Self, RpcError> {
        let whole = json!({ "error": fault.message, "errorDetails": fault.to_json() });
        let structured = to_raw_value(&whole).map_err(|_| RpcError::internal(fault))?;
        let text = Told::read(&structured).map_or_else(String::new, |run| run.failure());
        Ok(Self::new(text, structured, true, false))
    }

    fn new(text: String, structured: Box<RawValue>, is_error: bool, replayed: bool) -> Self {
        let content = [Text { r#type: "text", text }];
        Self { content, structured_content: structured, is_error, replayed }
    }

    /// The same with the JSON in one place instead of two, where a client would refuse the whole.
    pub(super) fn without_copy(mut self) -> Self {
        let [text] = &mut self.content;
        if text.text.len() >= self.structured_content.get().len() {
            text.text = format!(
                "The result, {} bytes of JSON, stands in structuredContent only.",
                self.structured_content.get().len()
            );
        }
        self
    }

    /// Whether it was answered before.
    pub(super) fn replayed(&self) -> bool {
        self.replayed
    }
}

/// What is told of a run in words; a list of runs and a fault have few of the members.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    error: Option<Value>,
    error_details: Option<Value>,
    warnings: Vec<Value>,
    logs: Vec<Value>,
    approvals: Vec<Value>,
    rollback_steps: Option<u64>,
}

impl<'a> Told<'a> {
    fn read(structured: &'a RawValue) -> Option<Self> {
        serde_json::from_str(structured.get()).ok()
    }

    /// A failure: the message, what to do about it, how far the program came.
    fn failure(&self) -> String {
        let detail = |name: &str| self.error_details.as_ref()?.get(name)?.as_str();
        let message = self.error.as_ref().and_then(Value::as_str).or_else(|| detail("message"));
        let mut out = format!("Error: {}", message.unwrap_or("the run did not complete"));
        if let Some(next) = detail("nextStep") {
            let _ = write!(out, "\n\nNext step: {next}");
        }
        if let Some(id) = &self.id {
            let _ = write!(out, "\n\nRun: {id}");
        }
        if let (Some(steps), Some(id)) = (self.rollback_steps, &self.id) {
            let _ = write!(
                out,
                "\n\nWhat it did can be undone by {steps} calls: call run_rollback with runId {id}."
            );
        }
        if !self.warnings.is_empty() {
            out.push_str("\n\nWarnings:");
            for warning in &self.warnings {
                let _ = write!(out, "\n{}", plain(warning));
            }
        }
        if !self.logs.is_empty() {
            out.push_str("\n\nLogs:");
            for line in &self.logs {
                let level = line.get("level").and_then(Value::as_str).unwrap_or("log");
                let _ = write!(out, "\n[{level}] {}", plain(line.get("text").unwrap_or(line)));
            }
        }
        out
    }

    /// A run that waits for a person, and where the person decides, or that is at work; `None` for any
    /// other.
    fn waiting(&self, structured: &RawValue) -> Option<String> {
        if self.status.as_deref() == Some(Status::Running.as_str()) {
            let id = self.id.as_deref().filter(|id| id.starts_with("run_"))?;
            let say = format!("Still at work. Call resume with runId {id} to wait for it.");
            return Some(format!("{say}\n\n{structured}"));
        }
        if self.status.as_deref() != Some(Status::WaitingApproval.as_str()) {
            return None;
        }
        let addresses = self.approvals.iter().filter_map(|approval| {
            let part = |name: &str| approval.get(name)?.as_str();
            Some(format!("{} ({})", part("approveUrl")?, part("tool").unwrap_or("a call")))
        });
        let addresses: Vec<String> = addresses.collect();
        let id = self.id.as_deref().filter(|_| !addresses.is_empty())?;
        Some(format!(
            "Waiting for approval. Ask the user to open {}, then call resume with runId {id}.\
             \n\n{structured}",
            addresses.join(" and ")
        ))
    }
}

/// Text bare, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
