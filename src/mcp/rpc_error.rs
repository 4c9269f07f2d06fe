//! JSON-RPC errors: code, HTTP status and catalogue entry of each.
//!
//! The status of a request that was never dispatched is the specification's; an error of a
//! dispatched one travels with 200, since a 4xx can send a client back to `initialize` and a 5xx
//! invites it to repeat a call that may have had effects.

use super::{
    answer::{Answer, json_text},
    era::{Era, LEGACY, MODERN},
    id::Id,
    refusal::{shown, with_code},
};
use crate::error::{Code, Fault};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An error response, still without the id of its request.
#[derive(Debug, Clone)]
pub(super) struct RpcError {
    status: u16,
    rpc_code: i32,
    fault: Box<Fault>,
    /// What the specification wants in `data`, beside the entry of the catalogue.
    data: Map<String, Value>,
}

/// The response on the wire. `id` is left out when it could not be read: the schemas make it
/// optional in errors and do not allow null.
#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: i32,
    message: &'a str,
    data: Value,
}

impl RpcError {
    fn new(status: u16, rpc_code: i32, fault: Fault) -> Self {
        Self { status, rpc_code, fault: Box::new(fault), data: Map::new() }
    }

    fn request(status: u16, rpc_code: i32, message: impl Into<String>) -> Self {
        Self::new(status, rpc_code, Fault::new(Code::InvalidRequest, message))
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.data.insert(name.to_owned(), value);
        self
    }

    /// The body is not JSON in UTF-8.
    pub(super) fn not_json(reason: impl std::fmt::Display) -> Self {
        let message = format!("The body is not JSON: {reason}.");
        Self::new(400, -32700, Fault::new(Code::InvalidJson, message))
    }

    /// The body is JSON and no JSON-RPC request.
    pub(super) fn shape(message: impl Into<String>) -> Self {
        Self::request(400, -32600, message)
    }

    /// `_meta` of a modern request lacks what every request must say.
    pub(super) fn meta(message: impl Into<String>) -> Self {
        Self::request(400, -32602, message)
    }

    /// A header is missing, unreadable or unlike the body.
    pub(super) fn header(message: impl Into<String>) -> Self {
        Self::request(400, -32020, message)
    }

    /// The version is not served in the modern era.
    pub(super) fn version(requested: &str) -> Self {
        let message = format!(
            "Unsupported protocol version {}; supported: {MODERN}. \
             Older versions are negotiated by initialize.",
            shown(requested)
        );
        Self::request(400, -32022, message)
            .with("supported", json!([MODERN]))
            .with("requested", json!(requested))
    }

    /// The header of a legacy request names a version that is not served.
    pub(super) fn legacy_version(requested: &str) -> Self {
        let message = format!(
            "Unsupported MCP-Protocol-Version {}; served here: {}.",
            shown(requested),
            LEGACY.join(", ")
        );
        Self::request(400, -32600, message)
    }

    /// The method is unknown, removed, or of a capability that is not offered. On the legacy leg
    /// 404 would mean that a session is gone.
    pub(super) fn method(era: Era, method: &str) -> Self {
        let status = match era {
            Era::Legacy => 200,
            Era::Modern => 404,
        };
        Self::request(status, -32601, format!("Method not found: {}.", shown(method)))
    }

    /// Parameters of a dispatched request do not do.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::request(200, -32602, message)
    }

    /// The state of a call that goes on is not taken.
    pub(super) fn state(fault: &Fault) -> Self {
        Self::new(200, -32602, fault.clone())
    }

    /// No tool has the name.
    pub(super) fn tool(name: &str, known: &[&str]) -> Self {
        let message = format!("Unknown tool: {}.", shown(name));
        let next = format!("Call one of {}; tools/list describes them.", known.join(", "));
        Self::new(200, -32602, Fault::new(Code::ToolNotFound, message).with_next_step(next))
    }

    /// The worker failed at a request that it had taken on.
    pub(super) fn internal(fault: &Fault) -> Self {
        Self::new(200, -32603, fault.clone())
    }

    /// The response as JSON text.
    pub(super) fn body(&self, id: Option<&Id>) -> String {
        let mut data = self.data.clone();
        if let Value::Object(entry) = self.fault.to_json() {
            for (name, value) in entry {
                // `message` stands beside `data` already.
                if name != "message" {
                    data.entry(name).or_insert(value);
                }
            }
        }
        let error =
            Body { code: self.rpc_code, message: &self.fault.message, data: Value::Object(data) };
        json_text(&Response { jsonrpc: "2.0", id, error })
    }

    /// Whether it travels with 200, like a result.
    pub(super) fn is_dispatched(&self) -> bool {
        self.status == 200
    }

    /// The whole answer, as JSON.
    pub(super) fn answer(&self, id: Option<&Id>) -> Answer {
        let mut answer = with_code(self.status, &Value::Null, &self.fault);
        answer.body = self.body(id).into_bytes();
        answer
    }
}
