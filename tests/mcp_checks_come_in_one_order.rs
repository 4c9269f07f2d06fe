//! A request that is wrong in several ways is answered by the first check that it fails.
//!
//! The ladder: each step is right in all that stands above it and wrong in all below, so each
//! verdict also shows that the later faults were not looked at.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Access, MODERN};
use mcp_support::{Ask, BODY_BYTES, CLIENT_CAPABILITIES, PAGE, PROTOCOL_VERSION, execute, meta};
use serde_json::{Value, json};

const EVIL: &str = "https://evil.example";

/// Wrong in everything that the head says.
fn worst() -> Ask {
    Ask::raw("{nope")
        .by("GET")
        .at("/elsewhere")
        .asked_with(Access::Missing)
        .with("Origin", EVIL)
        .with("Content-Type", "text/plain")
        .with("Accept", "text/html")
        .with("Content-Length", &(BODY_BYTES + 1).to_string())
}

#[test]
fn the_head_is_checked_in_order() {
    let mut ask = worst();
    assert_eq!(ask.send().status, 404, "path");
    ask = ask.at("/mcp/");
    assert_eq!(ask.send().status, 403, "origin");
    assert_eq!(ask.clone().by("OPTIONS").send().status, 403, "origin of a preflight");
    ask = ask.with("Origin", PAGE);
    assert_eq!(ask.clone().by("OPTIONS").send().status, 204, "preflight without a token");
    assert_eq!(ask.send().status, 405, "method");
    ask = ask.by("POST");
    assert_eq!(ask.send().status, 401, "no token");
    assert_eq!(ask.clone().asked_with(Access::Bad).send().status, 401, "bad token");
    let unscoped = Access::MissingScope("execute".to_owned());
    assert_eq!(ask.clone().asked_with(unscoped).send().status, 403, "scope");
    ask = ask.asked_with(Access::Authenticated);
    assert_eq!(ask.send().status, 415, "content type");
    ask = ask.with("Content-Type", "application/json");
    assert_eq!(ask.send().status, 406, "accept");
    ask = ask.without("Accept");
    assert_eq!(ask.send().status, 413, "declared length");
    ask = ask.without("Content-Length");
    assert_eq!(ask.verdict(), (400, -32700), "JSON");
}

/// A modern call, wrong in all that a body and its headers can be wrong in.
fn call(params: &Value) -> Ask {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    Ask::raw(body.to_string()).with("MCP-Protocol-Version", "2099-01-02")
}

#[test]
fn a_modern_body_is_checked_in_order() {
    let steps = [
        ("not UTF-8", Ask::raw(b"[\xff".as_slice()), (400, -32700)),
        ("not JSON", Ask::raw("[{"), (400, -32700)),
        ("a batch", Ask::raw(r#"[{"jsonrpc":"1.0"}]"#), (400, -32600)),
        ("jsonrpc", Ask::raw(r#"{"jsonrpc":"1.0","id":null,"method":7}"#), (400, -32600)),
        (
            "_meta without capabilities",
            call(&json!({ "_meta": { PROTOCOL_VERSION: "2099-01-01" } })),
            (400, -32602),
        ),
        (
            "header unlike _meta",
            call(&json!({
                "_meta": { PROTOCOL_VERSION: "2099-01-01", CLIENT_CAPABILITIES: {} },
            })),
            (400, -32020),
        ),
        (
            "a version that is not served",
            call(&json!({
                "_meta": { PROTOCOL_VERSION: "2099-01-02", CLIENT_CAPABILITIES: {} },
            })),
            (400, -32022),
        ),
        (
            "the same without the header",
            call(&json!({
                "_meta": { PROTOCOL_VERSION: "2099-01-02", CLIENT_CAPABILITIES: {} },
            }))
            .without("MCP-Protocol-Version"),
            (400, -32022),
        ),
        (
            "no version header",
            call(&json!({ "_meta": meta() })).without("MCP-Protocol-Version"),
            (400, -32020),
        ),
        (
            "no Mcp-Method",
            call(&json!({ "_meta": meta() })).with("MCP-Protocol-Version", MODERN),
            (400, -32020),
        ),
        (
            "Mcp-Name before the method",
            Ask::modern("prompts/get", &json!({ "name": "x" })).with("Mcp-Name", "y"),
            (400, -32020),
        ),
        ("the method", Ask::modern("prompts/get", &json!({ "name": "x" })), (404, -32601)),
        (
            "the name of the tool",
            Ask::modern("tools/call", &json!({ "name": "nobody", "arguments": 7 })),
            (200, -32602),
        ),
        (
            "requestState before the arguments",
            Ask::modern("tools/call", &json!({ "name": "execute", "requestState": "v1.a.b" })),
            (200, -32602),
        ),
        ("the arguments", Ask::modern("tools/call", &json!({ "name": "execute" })), (200, 0)),
    ];
    for (name, ask, expected) in steps {
        assert_eq!(ask.verdict(), expected, "{name}: {:?}", ask.told());
    }
}

#[test]
fn a_message_that_wants_no_answer_is_not_looked_into() {
    let bodies = [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": [7] }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": execute() }),
        json!({ "jsonrpc": "2.0", "id": 7, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "no" } }),
    ];
    for body in bodies {
        for ask in [
            Ask::legacy_json(&body),
            Ask::legacy_json(&body).with("MCP-Protocol-Version", "1999-01-01"),
            Ask::raw(body.to_string()).with("MCP-Protocol-Version", MODERN),
        ] {
            let answer = ask.send();
            assert_eq!(answer.status, 202, "{body}");
            assert!(answer.body.is_empty());
            assert_eq!(answer.header("content-type"), None);
        }
    }
}
