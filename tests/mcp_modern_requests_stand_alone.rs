//! Modern requests (2026-07-28) are served without a session, each by what itself says.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Capabilities, Era, MODERN};
use mcp_support::{Ask, CLIENT_CAPABILITIES, PROTOCOL_VERSION, SERVER_INFO, events, execute, meta};
use serde_json::{Value, json};

const VERSION: &str = "MCP-Protocol-Version";

#[test]
fn discovery_says_what_is_served() {
    let (status, body) = Ask::modern("server/discover", &json!({})).told();
    assert_eq!(status, 200);
    let result = &body["result"];
    assert_eq!(result["supportedVersions"], json!([MODERN]));
    assert_eq!(result["capabilities"], json!({ "tools": {} }), "and nothing else");
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(result["_meta"][SERVER_INFO]["name"], "holdfast");
    assert!(result["_meta"][SERVER_INFO]["version"].is_string());
    assert!(result["instructions"].as_str().unwrap().contains("execute"));
}

#[test]
fn every_result_is_complete_and_says_who_answered() {
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", execute()),
        ("tools/call", json!({ "name": "execute", "arguments": {} })),
        ("tools/call", json!({ "name": "run_get", "arguments": { "runId": "x" } })),
        ("tools/call", json!({ "name": "run_list" })),
    ] {
        let (status, body) = Ask::modern(method, &params).told();
        assert_eq!(status, 200, "{method} {params}");
        assert_eq!(body["jsonrpc"], "2.0");
        assert_eq!(body["result"]["resultType"], "complete", "{method} {params}");
        assert_eq!(body["result"]["_meta"][SERVER_INFO]["name"], "holdfast");
    }
}

#[test]
fn the_list_may_be_kept_for_a_while_by_the_one_who_asked() {
    let (_, body) = Ask::modern("tools/list", &json!({})).told();
    assert!(body["result"]["ttlMs"].is_u64());
    assert_eq!(body["result"]["cacheScope"], "private");
    assert_eq!(body, Ask::modern("tools/list", &json!({ "cursor": null })).told().1, "stable");
}

#[test]
fn meta_must_be_whole() {
    let without = |key: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(key);
        meta
    };
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[key] = value;
        meta
    };
    let cases = [
        ("no _meta", Value::Null),
        ("no version", without(PROTOCOL_VERSION)),
        ("no capabilities", without(CLIENT_CAPABILITIES)),
        ("version null", with(PROTOCOL_VERSION, Value::Null)),
        ("version a number", with(PROTOCOL_VERSION, json!(20_260_728))),
        ("capabilities null", with(CLIENT_CAPABILITIES, Value::Null)),
        ("capabilities a list", with(CLIENT_CAPABILITIES, json!([]))),
        ("_meta a list", json!([])),
        ("_meta text", json!("2026-07-28")),
    ];
    for (name, meta) in cases {
        let ask = Ask::modern_meta("tools/list", &json!({}), &meta);
        assert_eq!(ask.verdict(), (400, -32602), "{name}");
        assert_eq!(ask.told().1["id"], 1, "{name}");
    }
    let params = Ask::raw(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}"#);
    let params = params.with(VERSION, MODERN).with("Mcp-Method", "tools/list");
    assert_eq!(params.verdict(), (400, -32602), "params a list");
}

#[test]
fn who_the_client_says_it_is_decides_nothing() {
    for info in [json!(null), json!("me"), json!({}), json!({ "name": "x", "version": "1" })] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/clientInfo"] = info.clone();
        meta["com.example/unknown"] = json!([1]);
        let ask = Ask::modern_meta("tools/list", &json!({}), &meta);
        assert_eq!(ask.verdict(), (200, 0), "{info}");
    }
}

#[test]
fn header_and_body_must_name_the_same_version() {
    let at = |version: &str| json!({ PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {} });
    let list = |meta: &Value| Ask::modern_meta("tools/list", &json!({}), meta);
    let cases = [
        ("both modern", list(&meta()), (200, 0)),
        ("padded", list(&meta()).with(VERSION, " \t2026-07-28 "), (200, 0)),
        ("no header", list(&meta()).without(VERSION), (400, -32020)),
        ("empty header", list(&meta()).with(VERSION, ""), (400, -32020)),
        ("an old header", list(&meta()).with(VERSION, "2025-11-25"), (400, -32020)),
        ("an old body", list(&at("2025-11-25")), (400, -32020)),
        ("a later body", list(&at("2099-01-01")), (400, -32020)),
        ("twice the same header", list(&meta()).also(VERSION, MODERN), (400, -32020)),
        ("both later", list(&at("2099-01-01")).with(VERSION, "2099-01-01"), (400, -32022)),
        ("both old", list(&at("2025-11-25")).with(VERSION, "2025-11-25"), (400, -32022)),
    ];
    for (name, ask, expected) in cases {
        assert_eq!(ask.verdict(), expected, "{name}");
    }
    let (_, body) = list(&at("2099-01-01")).with(VERSION, "2099-01-01").told();
    assert_eq!(body["error"]["data"]["supported"], json!([MODERN]));
    assert_eq!(body["error"]["data"]["requested"], "2099-01-01");
}

#[test]
fn routing_headers_must_agree_with_the_body() {
    let call = || Ask::modern("tools/call", &execute());
    let mismatch = (400, -32020);
    let cases = [
        ("as it should be", call(), (200, 0)),
        ("names in lower case", call().without("Mcp-Name").with("mcp-name", "execute"), (200, 0)),
        ("no Mcp-Method", call().without("Mcp-Method"), mismatch),
        ("another method", call().with("Mcp-Method", "tools/list"), mismatch),
        ("other case", call().with("Mcp-Method", "TOOLS/CALL"), mismatch),
        ("twice", call().also("Mcp-Method", "tools/call"), mismatch),
        ("Base64", call().with("Mcp-Name", "=?base64?ZXhlY3V0ZQ==?="), (200, 0)),
        ("padded", call().with("Mcp-Name", "  execute\t"), (200, 0)),
        ("no Mcp-Name", call().without("Mcp-Name"), mismatch),
        ("another name", call().with("Mcp-Name", "run_get"), mismatch),
        ("broken Base64", call().with("Mcp-Name", "=?base64?%%%?="), mismatch),
        ("Base64 without padding", call().with("Mcp-Name", "=?base64?ZXhlY3V0ZQ?="), mismatch),
        ("twice the name", call().also("Mcp-Name", "execute"), mismatch),
        (
            "a name where none belongs",
            Ask::modern("tools/list", &json!({})).with("Mcp-Name", "execute"),
            (200, 0),
        ),
        (
            "no value to compare with",
            Ask::modern("tools/call", &json!({})).with("Mcp-Name", "execute"),
            (200, -32602),
        ),
        ("an address", Ask::modern("resources/read", &json!({ "uri": "a:b" })), (404, -32601)),
        (
            "another address",
            Ask::modern("resources/read", &json!({ "uri": "a:b" })).with("Mcp-Name", "a:c"),
            mismatch,
        ),
        ("unknown parameter headers", call().with("Mcp-Param-Code", "x"), (200, 0)),
    ];
    for (name, ask, expected) in cases {
        assert_eq!(ask.verdict(), expected, "{name}");
    }
}

#[test]
fn methods_that_are_not_offered_are_not_found() {
    for method in [
        "no/such",
        "initialize",
        "ping",
        "logging/setLevel",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "subscriptions/listen",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "tasks/list",
        "tasks/result",
        "TOOLS/LIST",
        "",
    ] {
        let (status, body) = Ask::modern(method, &json!({})).told();
        assert_eq!((status, &body["error"]["code"]), (404, &json!(-32601)), "{method}");
        assert_eq!(body["id"], 1);
        assert_eq!(body["error"]["data"]["code"], "HF_E1002");
    }
}

#[test]
fn sessions_are_neither_looked_at_nor_made() {
    let answer = Ask::modern("tools/list", &json!({}))
        .with("Mcp-Session-Id", "zzz")
        .with("Last-Event-ID", "9")
        .send();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[test]
fn state_that_we_did_not_make_is_refused() {
    for state in [json!("v1.forged.forged"), json!(""), json!(null), json!({})] {
        let mut params = execute();
        params["requestState"] = state.clone();
        assert_eq!(Ask::modern("tools/call", &params).verdict(), (200, -32602), "{state}");
    }
    let mut unasked = execute();
    unasked["inputResponses"] = json!({ "nobody_asked": { "action": "accept" } });
    assert_eq!(Ask::modern("tools/call", &unasked).verdict(), (200, 0), "answers nobody asked for");
}

#[test]
fn a_call_carries_what_its_client_can_do() {
    let mut meta = meta();
    meta[CLIENT_CAPABILITIES] = json!({ "elicitation": { "form": {}, "url": {} } });
    let call = Ask::modern_meta("tools/call", &execute(), &meta).call();
    assert_eq!(call.era, Era::Modern);
    assert!(call.capabilities.elicitation_url && call.capabilities.elicitation_form);
    let plain = Ask::modern("tools/call", &execute()).call();
    assert_eq!(plain.capabilities, Capabilities::default());
}

#[test]
fn a_client_that_takes_streams_only_gets_one() {
    let answer = Ask::modern("tools/list", &json!({})).with("Accept", "text/event-stream").send();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let messages = events(std::str::from_utf8(&answer.body).unwrap());
    assert_eq!(messages.len(), 1, "the response ends the stream");
    assert!(messages[0]["result"]["tools"].is_array());
}
