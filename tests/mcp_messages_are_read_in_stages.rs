//! Bodies are read stage by stage: each fault has its own code, and an id that could be read comes
//! back as it was written.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use mcp_support::{Ask, json_of, meta};
use serde_json::{Value, json};

#[test]
fn what_is_no_json_is_a_parse_error_without_an_id() {
    let bodies: [&[u8]; 7] = [
        b"",
        b"   ",
        b"{nope",
        b"{\"id\":1}{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}",
        b"\xef\xbb\xbf{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}",
    ];
    for body in bodies {
        let (status, told) = Ask::raw(body).told();
        assert_eq!((status, &told["error"]["code"]), (400, &json!(-32700)), "{body:?}");
        assert_eq!(told.get("id"), None, "{body:?}");
        assert_eq!(told["error"]["data"]["code"], "HF_E1001");
    }
}

#[test]
fn what_is_no_request_is_an_invalid_request() {
    let none = Value::Null;
    let one = json!(1);
    let cases = [
        ("42", &none),
        ("null", &none),
        ("\"text\"", &none),
        ("[]", &none),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, &none),
        ("{}", &none),
        (r#"{"id":1,"method":"ping"}"#, &one),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, &one),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, &one),
        (r#"{"jsonrpc":"2.0","id":1}"#, &one),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, &one),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, &one),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, &one),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, &none),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, &none),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, &none),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, &none),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, &none),
    ];
    for (body, id) in cases {
        for version in ["2025-06-18", "2026-07-28"] {
            let (status, told) = Ask::raw(body).with("MCP-Protocol-Version", version).told();
            assert_eq!((status, &told["error"]["code"]), (400, &json!(-32600)), "{body}");
            assert_eq!(told.get("id").unwrap_or(&none), id, "{body}");
        }
    }
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1,"progressToken":2}}}"#,
    ] {
        assert_eq!(Ask::raw(body).verdict(), (400, -32600), "{body}");
    }
}

#[test]
fn ids_come_back_as_they_were_written() {
    for id in [
        "1",
        "-7",
        "0",
        "\"1\"",
        "\"\"",
        "\"e-\\u00e9\\/\"",
        "1774232524389",
        "9007199254740993",
        "123456789012345678901234567890",
    ] {
        let meta = meta();
        let modern = |method: &str| {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{meta}}}}}"#
            );
            Ask::raw(body)
                .with("MCP-Protocol-Version", "2026-07-28")
                .with("Mcp-Method", method)
                .send()
        };
        let legacy = |method: &str| {
            Ask::raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)).send()
        };
        for answer in [
            modern("tools/list"),
            modern("no/such"),
            legacy("tools/list"),
            legacy("no/such"),
            legacy("tools/call"),
        ] {
            json_of(&answer);
            let text = String::from_utf8(answer.body).unwrap();
            assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "{text:.80}");
        }
    }
}

#[test]
fn errors_carry_our_code_and_what_to_do_next() {
    for ask in [
        Ask::raw("{nope"),
        Ask::raw("[]"),
        Ask::legacy("no/such", &json!({})),
        Ask::legacy("tools/call", &json!({ "name": "nobody" })),
        Ask::modern("no/such", &json!({})),
        Ask::modern("tools/list", &json!({})).without("Mcp-Method"),
        Ask::modern("tools/list", &json!({})).with("MCP-Protocol-Version", "2025-06-18"),
    ] {
        let (_, body) = ask.told();
        let error = &body["error"];
        assert!(error["data"]["code"].as_str().unwrap().starts_with("HF_E"), "{body}");
        assert!(!error["data"]["nextStep"].as_str().unwrap().is_empty(), "{body}");
        assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
        assert_eq!(error["data"].get("message"), None, "said once");
    }
}

#[test]
fn messages_repeat_little_of_what_they_were_sent() {
    let long = format!("m\u{1b}{}", "x".repeat(10_000));
    for ask in [
        Ask::legacy(&long, &json!({})),
        Ask::legacy("tools/call", &json!({ "name": long })),
        Ask::legacy("tools/call", &json!({ "name": "execute", "arguments": { &*long: 1 } })),
        Ask::modern("tools/list", &json!({})).with("Mcp-Method", &long),
    ] {
        let text = String::from_utf8(ask.send().body).unwrap();
        assert!(text.len() < 3_000, "{} bytes", text.len());
        assert!(!text.contains("\\u001b"), "{text}");
    }
}
