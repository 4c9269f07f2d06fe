//! What is refused before a message was read is told by status, headers and a small JSON body;
//! pages from an allowed origin can read every answer.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Access, Answer, Endpoint, Head, Headers, Origins, well_known};
use mcp_support::{Ask, BODY_BYTES, PAGE, endpoint, execute, json_of};
use serde_json::json;

#[test]
fn other_methods_are_refused_at_once_and_without_a_token() {
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "post", "TRACE"] {
        let answer = Ask::raw("")
            .by(method)
            .asked_with(Access::Missing)
            .with("Accept", "text/event-stream")
            .with("Mcp-Session-Id", "x")
            .with("Origin", PAGE)
            .send();
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST, OPTIONS"));
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
        assert_eq!(json_of(&answer)["error"]["code"], "HF_E1004");
    }
}

#[test]
fn a_token_is_asked_for_in_words_that_start_no_oauth_flow() {
    let scope = || Access::MissingScope("execute".to_owned());
    let hostile = || Access::MissingScope("a\"b\r\nset-cookie: x".to_owned());
    let cases = [
        (Access::Missing, 401, "HF_E1501", r#"Bearer realm="holdfast""#),
        (Access::Bad, 401, "HF_E1502", r#"Bearer realm="holdfast", error="invalid_token""#),
        (
            scope(),
            403,
            "HF_E1503",
            r#"Bearer realm="holdfast", error="insufficient_scope", scope="execute""#,
        ),
        (
            hostile(),
            403,
            "HF_E1503",
            r#"Bearer realm="holdfast", error="insufficient_scope", scope="abset-cookie:x""#,
        ),
    ];
    for (access, status, code, challenge) in cases {
        for ask in [Ask::legacy("ping", &json!({})), Ask::modern("tools/list", &json!({}))] {
            let answer = ask.asked_with(access.clone()).with("Origin", PAGE).send();
            assert_eq!(answer.status, status, "{access:?}");
            assert_eq!(answer.header("www-authenticate"), Some(challenge));
            assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
            assert_eq!(answer.header("x-holdfast-code"), Some(code));
            assert_eq!(json_of(&answer)["error"]["code"], code);
        }
    }
}

#[test]
fn a_call_names_its_scope_and_can_be_refused_for_want_of_it() {
    let call = Ask::modern("tools/call", &execute()).with("Origin", PAGE).call();
    assert_eq!(call.tool.scope(), "execute");
    let answer = call.reply.missing_scope(call.tool.scope());
    assert_eq!(answer.status, 403);
    assert!(answer.header("www-authenticate").unwrap().ends_with(r#"scope="execute""#));
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    let list = Ask::modern("tools/call", &json!({ "name": "run_list" })).call();
    assert_eq!(list.tool.scope(), "runs");
}

#[test]
fn only_json_bodies_are_read() {
    let ping = || Ask::legacy("ping", &json!({}));
    for content_type in
        ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=UTF-8"]
    {
        assert_eq!(ping().with("Content-Type", content_type).send().status, 200, "{content_type}");
    }
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "application/json, application/json",
        "",
    ] {
        let answer = ping().with("Content-Type", content_type).send();
        assert_eq!(answer.status, 415, "{content_type}");
        assert_eq!(answer.header("x-holdfast-code"), Some("HF_E1005"));
    }
    assert_eq!(ping().without("Content-Type").send().status, 415);
}

#[test]
fn a_body_may_be_as_long_as_the_limit_and_no_longer() {
    let padded = |bytes: usize| {
        let mut body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
        body.resize(bytes, b' ');
        Ask::raw(body)
    };
    assert_eq!(padded(BODY_BYTES).send().status, 200);
    let long = padded(BODY_BYTES + 1).send();
    assert_eq!((long.status, long.header("x-holdfast-code")), (413, Some("HF_E1003")));
    assert_eq!(json_of(&long)["error"]["limit"], BODY_BYTES);
    let declared = |length: &str| padded(100).with("Content-Length", length).send().status;
    assert_eq!(declared(&BODY_BYTES.to_string()), 200);
    assert_eq!(declared(&(BODY_BYTES + 1).to_string()), 413);
    assert_eq!(declared("many"), 200, "what is there counts");
}

#[test]
fn foreign_pages_are_refused_whatever_they_send() {
    for origin in ["https://evil.example", "null", "", "https://app.example.evil.example"] {
        for method in ["POST", "OPTIONS", "GET"] {
            let answer =
                Ask::legacy("initialize", &json!({})).by(method).with("Origin", origin).send();
            assert_eq!(answer.status, 403, "{method} {origin}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert_eq!(answer.header("vary"), Some("Origin"));
        }
    }
    let twice = Ask::legacy("ping", &json!({})).with("Origin", PAGE).also("Origin", PAGE);
    assert_eq!(twice.send().status, 403);
}

#[test]
fn a_preflight_needs_no_token_and_names_each_header() {
    let answer = Ask::raw("")
        .by("OPTIONS")
        .asked_with(Access::Missing)
        .without("Content-Type")
        .with("Origin", PAGE)
        .with("Access-Control-Request-Method", "POST")
        .send();
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    for header in [
        "authorization",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "last-event-id",
    ] {
        assert!(allowed.split(", ").any(|name| name == header), "{header} of {allowed}");
    }
    for method in ["POST", "GET", "DELETE"] {
        assert!(answer.header("access-control-allow-methods").unwrap().contains(method));
    }
    let plain = Ask::raw("").by("OPTIONS").send();
    assert_eq!((plain.status, plain.header("access-control-allow-origin")), (204, None));
}

#[test]
fn an_allowed_page_can_read_every_answer() {
    let ping = || Ask::legacy("ping", &json!({})).with("Origin", PAGE);
    let asks = [
        ("a result", ping(), 200),
        ("a stream", ping().with("Accept", "text/event-stream"), 200),
        ("nothing", Ask::raw(r#"{"jsonrpc":"2.0","method":"n"}"#).with("Origin", PAGE), 202),
        ("no JSON", Ask::raw("{").with("Origin", PAGE), 400),
        ("no method", Ask::modern("no/such", &json!({})).with("Origin", PAGE), 404),
        ("no type", ping().with("Accept", "text/html"), 406),
        ("no body type", ping().without("Content-Type"), 415),
        ("too long", ping().with("Content-Length", "99999999999"), 413),
        ("a call", Ask::modern("tools/call", &execute()).with("Origin", PAGE), 200),
    ];
    for (name, ask, status) in asks {
        let answer = ask.send();
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE), "{name}");
        let exposed = answer.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("WWW-Authenticate"), "{name}");
    }
}

#[test]
fn development_answers_to_its_own_name_only() {
    let endpoint =
        Endpoint { origins: Origins { allowed: Vec::new(), loopback: true }, ..endpoint() };
    let open = |host: &str, origin: &str| -> Result<(), Answer> {
        let headers = Headers::from_iter([("Host", host), ("Origin", origin)]);
        endpoint.open(Head { method: "POST", path: "/mcp", headers }).map(|_| ())
    };
    assert_eq!(open("localhost:8787", "http://localhost:8788"), Ok(()));
    assert_eq!(open("evil.example", "http://localhost:8787").unwrap_err().status, 421);
    assert_eq!(open("localhost:8787", "http://evil.example").unwrap_err().status, 403);
}

#[test]
fn there_is_no_oauth_and_it_is_said_in_json() {
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource/mcp/",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
        "/register",
    ] {
        let answer = well_known(path).expect(path);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(json_of(&answer)["error"], "not_found");
        assert_eq!(answer.header("x-holdfast-code"), Some("HF_E1006"));
    }
    for path in ["/", "/mcp", "/.well-known", "/.well-known/security.txt", "/v1/register"] {
        assert!(well_known(path).is_none(), "{path}");
    }
}
