//! Requests to the endpoint as clients send them, and a stand-in for the tools.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unnecessary_wraps, reason = "an outcome stands where a fault could")]

use holdfast::{
    error::{Code, Fault},
    mcp::{
        Access, Answer, Call, Endpoint, Guide, Head, Headers, MODERN, Origins, Read, Tool,
        ToolAnswer, ToolOutcome,
    },
};
use serde_json::{Value, json, value::to_raw_value};

/// Bytes of the largest body.
pub(crate) const BODY_BYTES: usize = 1_000_000;

/// The budget of `execute`.
pub(crate) const BUDGET_MS: u64 = 90_000;

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The page that may speak to the endpoint.
pub(crate) const PAGE: &str = "https://app.example";

pub(crate) fn endpoint() -> Endpoint {
    let origins = Origins { allowed: vec![PAGE.to_owned()], loopback: false };
    Endpoint { origins, body_bytes: BODY_BYTES, budget_ms: BUDGET_MS }
}

pub(crate) fn guide() -> Guide {
    let built_in = ["storage.get", "storage.set"].map(str::to_owned).to_vec();
    Guide { budget_ms: BUDGET_MS, built_in, ..Guide::default() }
}

/// One request, right in everything until a test changes it.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) access: Access,
}

impl Ask {
    /// A POST of these bytes.
    pub(crate) fn raw(body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: "/mcp".to_owned(),
            headers: Vec::new(),
            body: body.into(),
            access: Access::Authenticated,
        }
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
    }

    /// A POST of this JSON under a legacy version header.
    pub(crate) fn legacy_json(body: &Value) -> Self {
        Self::raw(body.to_string()).with("MCP-Protocol-Version", "2025-06-18")
    }

    /// A legacy request with the id 1.
    pub(crate) fn legacy(method: &str, params: &Value) -> Self {
        Self::legacy_json(&json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": params,
        }))
    }

    /// A modern request with the id 1 and all that belongs to it.
    pub(crate) fn modern(method: &str, params: &Value) -> Self {
        Self::modern_meta(method, params, &meta())
    }

    /// The same with another `_meta`; `Value::Null` leaves it out.
    pub(crate) fn modern_meta(method: &str, params: &Value, meta: &Value) -> Self {
        let mut params = params.clone();
        if !meta.is_null() {
            params["_meta"] = meta.clone();
        }
        let ask = Self::raw(
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string(),
        )
        .with("MCP-Protocol-Version", MODERN)
        .with("Mcp-Method", method);
        let named = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        match named {
            Some(name) => ask.with("Mcp-Name", name),
            None => ask,
        }
    }

    /// Sets a header in place of any of that name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header beside those of that name.
    pub(crate) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn by(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn asked_with(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// What the endpoint makes of it.
    pub(crate) fn read(&self) -> Read {
        let endpoint = endpoint();
        let head = Head {
            method: &self.method,
            path: &self.path,
            headers: self.headers.iter().map(|(name, value)| (name, value)).collect::<Headers>(),
        };
        match endpoint.open(head).and_then(|opened| opened.admit(&self.access)) {
            Ok(admitted) => admitted.read(&self.body),
            Err(refusal) => Read::Answer(refusal),
        }
    }

    /// The call it is.
    pub(crate) fn call(&self) -> Box<Call> {
        match self.read() {
            Read::Call(call) => call,
            other => panic!("no call: {other:?}"),
        }
    }

    /// The answer, whatever it asks for.
    pub(crate) fn send(&self) -> Answer {
        match self.read() {
            Read::Answer(answer) => answer,
            Read::List(list) => list.answer(&guide()),
            Read::Call(call) => call.reply.answer(&run(&call.tool)),
        }
    }

    /// Status and body.
    pub(crate) fn told(&self) -> (u16, Value) {
        let answer = self.send();
        (answer.status, json_of(&answer))
    }

    /// Status and JSON-RPC code; 0 when there is no error.
    pub(crate) fn verdict(&self) -> (u16, i64) {
        let (status, body) = self.told();
        (status, body["error"]["code"].as_i64().unwrap_or(0))
    }
}

/// `_meta` of a modern request.
pub(crate) fn meta() -> Value {
    json!({ PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {} })
}

/// The parameters of a call of `execute`.
pub(crate) fn execute() -> Value {
    json!({ "name": "execute", "arguments": { "code": "return 1" } })
}

/// The stand-in: every program returns 1, no run is known, none is listed.
pub(crate) fn run(tool: &Tool) -> ToolAnswer {
    match tool {
        Tool::Execute(_) => outcome(&completed(), false),
        Tool::RunGet(id) => Err(Fault::new(Code::RunNotFound, format!("There is no run {id}."))),
        _ => outcome(&json!({ "runs": [] }), false),
    }
}

pub(crate) fn completed() -> Value {
    json!({ "id": "run_1", "status": "completed", "outcome": "completed", "result": 1 })
}

pub(crate) fn outcome(structured: &Value, is_error: bool) -> ToolAnswer {
    Ok(ToolOutcome { structured: to_raw_value(structured).unwrap(), is_error, replayed: false })
}

/// The message in an answer, streamed or not; null when there is none.
pub(crate) fn json_of(answer: &Answer) -> Value {
    let text = std::str::from_utf8(&answer.body).unwrap();
    match answer.header("content-type") {
        Some("text/event-stream") => events(text).pop().unwrap(),
        Some("application/json") => serde_json::from_str(text).unwrap(),
        Some(other) => panic!("{other} is answered"),
        None => {
            assert_eq!(text, "");
            Value::Null
        }
    }
}

/// The messages of a stream, read as clients read them.
pub(crate) fn events(text: &str) -> Vec<Value> {
    assert!(text.ends_with("\n\n"), "an event has no end: {text:?}");
    text.split("\n\n")
        .filter_map(|event| {
            let data: Vec<&str> =
                event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            (!data.is_empty()).then(|| serde_json::from_str(&data.join("\n")).unwrap())
        })
        .collect()
}

/// The text that a model reads.
pub(crate) fn text_of(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap()
}
