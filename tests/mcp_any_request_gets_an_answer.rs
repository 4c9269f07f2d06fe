//! Whatever arrives, the endpoint does not panic and gives a valid HTTP answer.
//!
//! Bodies and headers are arbitrary, and also right ones with pieces knocked out of them, since
//! purely random bytes would never come past the first check.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Access, Answer};
use mcp_support::{Ask, json_of, meta};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

const STATUSES: [u16; 11] = [200, 202, 204, 400, 401, 403, 404, 405, 406, 413, 415];
const RPC_CODES: [i64; 7] = [-32700, -32600, -32601, -32602, -32020, -32021, -32022];

fn is_valid(answer: &Answer) -> Result<(), TestCaseError> {
    prop_assert!(STATUSES.contains(&answer.status), "{}", answer.status);
    let mut names: Vec<_> = answer.headers.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    prop_assert_eq!(names.len(), all, "a header stands twice: {:?}", &answer.headers);
    for (name, value) in &answer.headers {
        prop_assert_eq!(*name, name.to_ascii_lowercase());
        prop_assert!(
            value.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
            "{}: {:?}",
            name,
            value
        );
    }
    let body = json_of(answer);
    match answer.status {
        202 | 204 => prop_assert!(body.is_null()),
        200 => prop_assert!(body["result"].is_object() != body["error"].is_object()),
        _ => prop_assert!(body["error"].is_object()),
    }
    if let Some(code) = body["error"]["code"].as_i64() {
        prop_assert!(RPC_CODES.contains(&code), "{code}");
        prop_assert_eq!(&body["jsonrpc"], "2.0");
        prop_assert!(body.get("id").is_none_or(|id| id.is_string() || id.is_number()));
    }
    Ok(())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        select(vec!["2.0", "execute", "2026-07-28", "2025-06-18", "return 1"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((member_name(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn member_name() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "jsonrpc",
            "id",
            "method",
            "params",
            "result",
            "error",
            "_meta",
            "name",
            "arguments",
            "code",
            "params",
            "budgetMs",
            "limit",
            "runId",
            "cursor",
            "protocolVersion",
            "requestState",
            "progressToken",
            mcp_support::PROTOCOL_VERSION,
            mcp_support::CLIENT_CAPABILITIES,
            "elicitation",
            "url",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "initialize",
            "ping",
            "tools/list",
            "tools/call",
            "server/discover",
            "prompts/get",
            "resources/read",
            "notifications/initialized",
        ])
        .prop_map(str::to_owned),
        ".{0,16}",
    ]
}

/// Headers as any client might send them, right names among them.
fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        select(vec![
            "Accept",
            "Content-Type",
            "Content-Length",
            "Origin",
            "Host",
            "MCP-Protocol-Version",
            "Mcp-Method",
            "Mcp-Name",
            "Authorization",
            "Mcp-Session-Id",
            "Last-Event-ID",
        ])
        .prop_map(str::to_owned),
        "[A-Za-z-]{1,12}",
    ];
    let value = prop_oneof![
        select(vec![
            "2026-07-28",
            "2025-06-18",
            "tools/call",
            "execute",
            "=?base64?ZXhlY3V0ZQ==?=",
            "application/json",
            "text/event-stream",
            "*/*",
            "https://app.example",
            "null",
            "0",
        ])
        .prop_map(str::to_owned),
        ".{0,24}",
    ];
    vec((name, value), 0..6)
}

proptest! {
    #[test]
    fn any_bytes(
        body in vec(any::<u8>(), 0..200),
        headers in headers(),
        method in select(vec!["POST", "GET", "OPTIONS", "DELETE", "ÄÖ\n"]),
        path in prop_oneof![Just("/mcp".to_owned()), ".{0,20}"],
        access in select(vec![
            Access::Authenticated,
            Access::Missing,
            Access::Bad,
            Access::MissingScope("s\u{e4}\"\n".to_owned()),
        ]),
    ) {
        let mut ask = Ask::raw(body).by(method).at(&path).asked_with(access);
        for (name, value) in headers {
            ask = ask.also(&name, &value);
        }
        is_valid(&ask.send())?;
    }

    #[test]
    fn any_json(body in json_value(), headers in headers()) {
        let mut ask = Ask::raw(body.to_string());
        for (name, value) in headers {
            ask = ask.with(&name, &value);
        }
        is_valid(&ask.send())?;
    }

    #[test]
    fn any_request_of_either_era(
        method in method(),
        params in json_value(),
        id in option::of(json_value()),
        is_modern in any::<bool>(),
        headers in headers(),
        drop in option::of(0_usize..8),
    ) {
        let mut params = params;
        if is_modern && params.is_object() {
            params["_meta"] = meta();
        }
        let id = id.unwrap_or(json!(1));
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut ask = Ask::raw(body.to_string())
            .with("MCP-Protocol-Version", if is_modern { "2026-07-28" } else { "2025-06-18" })
            .with("Mcp-Method", &method)
            .with("Mcp-Name", params["name"].as_str().unwrap_or_default());
        if let Some(place) = drop {
            if place < ask.headers.len() {
                ask.headers.remove(place);
            }
        } else {
            for (name, value) in headers {
                ask = ask.with(&name, &value);
            }
        }
        is_valid(&ask.send())?;
    }

    #[test]
    fn any_arguments(
        tool in select(vec![
            "execute", "run_get", "run_list", "package_list", "package_invoke", "resume",
            "tool_search", "tool_describe", "service_start", "service_stop", "service_status",
            "run_rollback", "workflow_create", "workflow_run_list", "workflow_cancel",
            "schedule_put", "schedule_list", "schedule_pause", "schedule_run", "schedule_delete",
        ]),
        arguments in json_value(),
        cut in option::of(0_usize..400),
    ) {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut ask = Ask::modern("tools/call", &params);
        if let Some(cut) = cut {
            ask.body.truncate(cut);
        }
        is_valid(&ask.send())?;
    }
}
