//! Legacy clients (2025-03-26 to 2025-11-25) are served without a session, and see a 2025 server.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Capabilities, Era, LEGACY, MODERN, NEWEST_LEGACY};
use mcp_support::{Ask, execute};
use serde_json::{Value, json};

const VERSION: &str = "MCP-Protocol-Version";

fn initialize(version: &Value) -> Ask {
    Ask::legacy(
        "initialize",
        &json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" },
        }),
    )
    .without(VERSION)
}

#[test]
fn the_handshake_echoes_what_is_served_and_else_offers_the_newest() {
    let cases = [
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2024-11-05"), NEWEST_LEGACY),
        (json!("2099-01-01"), NEWEST_LEGACY),
        (json!(MODERN), NEWEST_LEGACY),
        (json!(""), NEWEST_LEGACY),
        (json!(null), NEWEST_LEGACY),
        (json!(20_250_618), NEWEST_LEGACY),
    ];
    for (asked, expected) in cases {
        let (status, body) = initialize(&asked).told();
        assert_eq!(status, 200, "{asked}");
        let result = &body["result"];
        assert_eq!(result["protocolVersion"], expected, "{asked}");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "holdfast");
        assert!(result["serverInfo"]["version"].is_string());
    }
    let bare = Ask::raw(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).told();
    assert_eq!((bare.0, &bare.1["id"]), (200, &json!(0)), "without parameters");
}

#[test]
fn the_handshake_looks_at_no_header() {
    for (name, value) in [
        (VERSION, "2025-11-25"),
        (VERSION, "1999-01-01"),
        (VERSION, MODERN),
        ("Mcp-Session-Id", "deadbeef"),
        ("Mcp-Method", "tools/call"),
    ] {
        let answer = initialize(&json!("2025-06-18")).with(name, value);
        assert_eq!(answer.told().1["result"]["protocolVersion"], "2025-06-18", "{name}: {value}");
        assert_eq!(answer.send().header("mcp-session-id"), None);
    }
}

#[test]
fn the_handshake_is_served_after_a_discovery_too() {
    assert_eq!(Ask::modern("server/discover", &json!({})).verdict(), (200, 0));
    assert_eq!(initialize(&json!("2025-06-18")).verdict(), (200, 0));
}

#[test]
fn the_version_header_is_one_of_those_served_or_absent() {
    let list = || Ask::legacy("tools/list", &json!({}));
    for version in LEGACY {
        assert_eq!(list().with(VERSION, version).verdict(), (200, 0), "{version}");
    }
    assert_eq!(list().without(VERSION).verdict(), (200, 0), "absent");
    let joined = "2025-06-18, 2025-06-18";
    for version in ["1999-01-01", "2024-11-05", "", joined] {
        let (status, body) = list().with(VERSION, version).told();
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)), "{version}");
        assert!(body["error"]["message"].as_str().unwrap().contains(NEWEST_LEGACY));
    }
    assert_eq!(list().also(VERSION, "2025-06-18").verdict(), (400, -32600), "sent twice");
}

#[test]
fn modern_headers_are_neither_wanted_nor_looked_at() {
    let call = Ask::legacy("tools/call", &execute());
    assert_eq!(call.verdict(), (200, 0));
    let odd = call.with("Mcp-Method", "nonsense").with("Mcp-Name", "=?base64?%?=");
    assert_eq!(odd.verdict(), (200, 0));
    let meta = json!({ "_meta": { "progressToken": 1 } });
    assert_eq!(Ask::legacy("tools/list", &meta).verdict(), (200, 0), "_meta without a claim");
    assert_eq!(Ask::legacy("tools/list", &json!({ "_meta": {} })).verdict(), (200, 0));
}

#[test]
fn a_ping_is_answered_by_nothing_in_particular() {
    let (status, body) = Ask::legacy("ping", &json!({})).told();
    assert_eq!((status, body), (200, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })));
}

#[test]
fn errors_of_dispatched_requests_travel_with_200() {
    let cases = [
        ("unknown method", Ask::legacy("no/such", &json!({})), -32601),
        ("server/discover", Ask::legacy("server/discover", &json!({})), -32601),
        ("logging/setLevel", Ask::legacy("logging/setLevel", &json!({})), -32601),
        ("unknown tool", Ask::legacy("tools/call", &json!({ "name": "nobody" })), -32602),
        ("no name", Ask::legacy("tools/call", &json!({})), -32602),
        ("name a number", Ask::legacy("tools/call", &json!({ "name": 7 })), -32602),
        ("params a list", Ask::legacy("tools/call", &json!([1])), -32602),
        ("params text", Ask::legacy("tools/list", &json!("x")), -32602),
        ("initialize with a list", Ask::legacy("initialize", &json!([])), -32602),
        ("a cursor", Ask::legacy("tools/list", &json!({ "cursor": "x" })), -32602),
    ];
    for (name, ask, code) in cases {
        assert_eq!(ask.verdict(), (200, code), "{name}");
        assert_eq!(ask.told().1["id"], 1, "{name}");
    }
}

#[test]
fn results_have_no_modern_members() {
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", execute()),
        ("tools/call", json!({ "name": "execute" })),
        ("ping", json!({})),
    ] {
        let (_, body) = Ask::legacy(method, &params).told();
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert_eq!(body["result"].get(member), None, "{method}: {member}");
        }
    }
}

#[test]
fn a_task_hint_and_a_session_are_passed_over() {
    let mut params = execute();
    params["task"] = json!({ "ttl": 60_000 });
    params["requestState"] = json!("v1.forged.forged");
    let answer = Ask::legacy("tools/call", &params).with("Mcp-Session-Id", "deadbeef").send();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("mcp-session-id"), None);
    let call = Ask::legacy("tools/call", &params).call();
    assert_eq!((call.era, call.capabilities), (Era::Legacy, Capabilities::default()));
}
