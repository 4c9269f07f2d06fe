//! The tools say what they take and do, and arguments that do not fit are told by their path.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Execute, Guide, Tool};
use holdfast::run::outcome::Status;
use mcp_support::{Ask, BUDGET_MS, guide, text_of};
use serde_json::{Value, json};

/// Words of the description of `execute`; every conversation pays for each.
const MOST_WORDS: usize = 120;

fn listed(guide: &Guide) -> Vec<Value> {
    let holdfast::mcp::Read::List(list) = Ask::legacy("tools/list", &json!({})).read() else {
        panic!("no list");
    };
    let body = mcp_support::json_of(&list.answer(guide));
    body["result"]["tools"].as_array().unwrap().clone()
}

fn description(guide: &Guide) -> String {
    listed(guide)[0]["description"].as_str().unwrap().to_owned()
}

#[test]
fn execute_says_how_a_program_looks_and_what_ends_it() {
    let text = description(&guide());
    for part in [
        "JavaScript or TypeScript",
        "a function body, an expression, or a module with a default export",
        "the result is what is returned",
        "tools, params, console and sleep(ms)",
        "Each tool takes one object and returns a value",
        "90 s of its own time",
        "waiting on tools does not count",
        "await tools.storage.get({ key: \"a\" })",
        "Built in: storage.get, storage.set.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.split_whitespace().count() <= MOST_WORDS, "{text}");
    assert!(!text.contains("Connected sources"));
}

#[test]
fn execute_names_what_is_connected_and_where_longer_work_goes() {
    let guide = Guide {
        built_in: vec!["emit".to_owned()],
        sources: vec!["github".to_owned(), "linear".to_owned()],
        longer_work: Some("Longer work goes to workflow_run.".to_owned()),
        budget_ms: 1_500,
    };
    let text = description(&guide);
    assert!(text.contains("1500 ms of its own time"), "{text}");
    assert!(text.contains("Built in: emit."), "{text}");
    assert!(!text.contains("storage"), "an example of what is hidden: {text}");
    assert!(text.contains("Connected sources: github, linear."), "{text}");
    assert!(text.ends_with("Longer work goes to workflow_run."), "{text}");
}

#[test]
fn the_list_is_in_order_and_each_tool_is_whole() {
    let tools = listed(&guide());
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "execute",
        "run_get",
        "run_list",
        "package_list",
        "package_invoke",
        "resume",
        "tool_search",
        "tool_describe",
        "service_start",
        "service_stop",
        "service_status",
        "run_rollback",
        "workflow_create",
        "workflow_run_list",
        "workflow_cancel",
        "schedule_put",
        "schedule_list",
        "schedule_pause",
        "schedule_run",
        "schedule_delete",
    ];
    assert_eq!(names, expected);
    for tool in &tools {
        let name = &tool["name"];
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        assert!(tool["title"].is_string(), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
        }
        let text = tool.to_string();
        assert!(!text.contains("$ref") && !text.contains("http"), "{name}: nothing to fetch");
    }
    let hints = |at: usize| {
        ["readOnlyHint", "destructiveHint", "openWorldHint"]
            .map(|hint| tools[at]["annotations"][hint].as_bool().unwrap())
    };
    assert_eq!(hints(0), [false, true, true], "a program can do whatever its tools can");
    assert_eq!(hints(1), [true, false, false]);
    assert_eq!(hints(2), [true, false, false]);
}

#[test]
fn output_schemas_admit_every_status_and_every_failure() {
    let listed = listed(&guide());
    let of_runs = ["execute", "run_get"];
    for tool in listed.iter().filter(|tool| of_runs.iter().any(|name| tool["name"] == *name)) {
        let statuses = tool["outputSchema"]["properties"]["status"]["enum"].as_array().unwrap();
        for status in Status::ALL {
            assert!(statuses.contains(&json!(status.as_str())), "{}", status.as_str());
        }
        let properties = tool["outputSchema"]["properties"].as_object().unwrap();
        for member in [
            "id",
            "status",
            "outcome",
            "result",
            "error",
            "errorDetails",
            "logs",
            "warnings",
            "timing",
            "approvals",
        ] {
            assert!(properties.contains_key(member), "{member}");
        }
        assert_eq!(
            tool["outputSchema"]["anyOf"],
            json!([{ "required": ["id", "status"] }, { "required": ["errorDetails"] }])
        );
    }
}

fn called(name: &str, arguments: &Value) -> Tool {
    Ask::legacy("tools/call", &json!({ "name": name, "arguments": arguments })).call().tool
}

fn execute(arguments: &Value) -> Execute {
    match called("execute", arguments) {
        Tool::Execute(execute) => execute,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_arrive_as_they_were_sent() {
    let call = execute(&json!({
        "code": " return params.a ", "params": { "z": 1, "a": 2 }, "budgetMs": 2000,
        "label": "nightly", "idempotencyKey": "k-1",
    }));
    assert_eq!(call.code, " return params.a ");
    assert_eq!(call.budget_ms, Some(2_000));
    assert_eq!(call.label.as_deref(), Some("nightly"));
    assert_eq!(call.idempotency_key.as_deref(), Some("k-1"));
    let bare = execute(&json!({ "code": "1", "params": null, "budgetMs": null, "label": null }));
    assert!(bare.params.is_none() && bare.budget_ms.is_none() && bare.label.is_none());

    let Tool::RunGet(id) = called("run_get", &json!({ "runId": "run_7f" })) else { panic!() };
    assert_eq!(id, "run_7f");
    let list = json!({ "limit": 5, "cursor": "c", "status": "waiting_approval" });
    let Tool::RunList(list) = called("run_list", &list) else { panic!() };
    assert_eq!((list.limit, list.cursor.as_deref()), (Some(5), Some("c")));
    assert_eq!(list.status, Some(Status::WaitingApproval));
    let Tool::RunList(all) = called("run_list", &Value::Null) else { panic!() };
    assert_eq!((all.limit, all.cursor, all.status), (None, None, None));
    let list = json!({ "limit": 5, "cursor": "mail" });
    let Tool::PackageList(list) = called("package_list", &list) else { panic!() };
    assert_eq!((list.limit, list.cursor.as_deref()), (Some(5), Some("mail")));
    let invoke = json!({ "name": "mail/send", "version": 2, "params": {}, "idempotencyKey": "k" });
    let Tool::PackageInvoke(invoke) = called("package_invoke", &invoke) else { panic!() };
    assert_eq!((invoke.name.as_str(), invoke.version), ("mail/send", Some(2)));
    assert_eq!(invoke.idempotency_key.as_deref(), Some("k"));
}

#[test]
fn params_keep_their_order_their_digits_and_their_depth() {
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    let params =
        format!(r#"{{"z":1,"a":12345678901234567890.5,"e":1e999,"s":"\ud83d","d":{deep}}}"#);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"execute","arguments":{{"code":"1","params":{params}}}}}}}"#
    );
    let Tool::Execute(call) = Ask::raw(body).call().tool else { panic!() };
    assert_eq!(call.params.unwrap().get(), params);
}

/// Arguments of a tool, and what is told of them.
fn misfits() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("execute", json!({}), "code: is required"),
        ("execute", json!({ "code": null }), "code: is required"),
        ("execute", json!({ "code": "" }), "code: must not be empty"),
        ("execute", json!({ "code": " \n\t" }), "code: must not be empty"),
        ("execute", json!({ "code": 7 }), "code: must be a string, not a number"),
        ("execute", json!({ "code": ["1"] }), "code: must be a string, not a list"),
        ("execute", json!({ "code": "1", "params": [1] }), "params: must be an object, not a list"),
        (
            "execute",
            json!({ "code": "1", "params": "{}" }),
            "params: must be an object, not a string",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": 0 }),
            "budgetMs: must be an integer from 1 to 90000, not 0",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": -1 }),
            "budgetMs: must be an integer from 1 to 90000, not -1",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": 90_001 }),
            "budgetMs: must be an integer from 1 to 90000, not 90001",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": 1.5 }),
            "budgetMs: must be an integer from 1 to 90000, not 1.5",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": 1e300 }),
            "budgetMs: must be an integer from 1 to 90000, not 1e+300",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": "NaN" }),
            "budgetMs: must be an integer from 1 to 90000, not a string",
        ),
        (
            "execute",
            json!({ "code": "1", "budgetMs": true }),
            "budgetMs: must be an integer from 1 to 90000, not a boolean",
        ),
        (
            "execute",
            json!({ "code": "1", "label": "x".repeat(201) }),
            "label: must be at most 200 characters",
        ),
        (
            "execute",
            json!({ "code": "1", "idempotencyKey": "" }),
            "idempotencyKey: must not be empty",
        ),
        (
            "execute",
            json!({ "code": "1", "idempotencyKey": "x".repeat(256) }),
            "idempotencyKey: must be at most 255 characters",
        ),
        (
            "execute",
            json!({ "code": "1", "budget_ms": 5 }),
            "budget_ms: is not an argument of execute; did you mean budgetMs?",
        ),
        ("execute", json!({ "code": "1", "timeout": 5 }), "timeout: is not an argument of execute"),
        (
            "execute",
            json!("{\"code\":\"1\"}"),
            "arguments: must be an object, not JSON inside a string",
        ),
        ("execute", json!(["1"]), "arguments: must be an object"),
        ("execute", json!(7), "arguments: must be an object"),
        ("run_get", json!({}), "runId: is required"),
        ("package_invoke", json!({ "params": {} }), "name: is required"),
        ("package_list", json!({ "limit": 0 }), "limit: must be an integer from 1 to 100, not 0"),
        (
            "run_get",
            json!({ "run_id": "x" }),
            "runId: is required; run_id: is not an argument of run_get; did you mean runId?",
        ),
        ("run_get", json!({ "runId": "x".repeat(129) }), "runId: must be at most 128 characters"),
        ("run_list", json!({ "limit": 101 }), "limit: must be an integer from 1 to 100, not 101"),
        (
            "run_list",
            json!({ "status": "done" }),
            "status: must be one of running, waiting_approval, parked, completed, failed, cancelled, not done",
        ),
        (
            "run_list",
            json!({ "status": 1 }),
            "status: must be one of running, waiting_approval, parked, completed, failed, cancelled, not a number",
        ),
    ]
}

#[test]
fn what_does_not_fit_is_told_by_its_path() {
    for (tool, arguments, expected) in misfits() {
        let params = json!({ "name": tool, "arguments": arguments });
        for ask in [Ask::legacy("tools/call", &params), Ask::modern("tools/call", &params)] {
            let (status, body) = ask.told();
            assert_eq!(status, 200, "{tool} {arguments}");
            let result = &body["result"];
            assert_eq!(result["isError"], true, "{tool} {arguments}");
            let details = &result["structuredContent"]["errorDetails"];
            assert_eq!(details["message"], expected, "{tool} {arguments}");
            assert_eq!(details["kind"], "invalid_request");
            assert_eq!(details["code"], "HF_E1002");
            assert_eq!(details["field"], expected.split(':').next().unwrap());
            assert_eq!(details["problems"][0]["path"], details["field"]);
            let next = details["nextStep"].as_str().unwrap();
            assert_eq!(text_of(&body), format!("Error: {expected}\n\nNext step: {next}"));
        }
    }
}

#[test]
fn a_number_that_is_whole_is_an_integer_however_it_is_written() {
    for (written, read) in
        [("2000", 2_000), ("2000.0", 2_000), ("2e3", 2_000), ("90000", BUDGET_MS)]
    {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"execute","arguments":{{"code":"1","budgetMs":{written}}}}}}}"#
        );
        let Tool::Execute(call) = Ask::raw(body).call().tool else { panic!() };
        assert_eq!(call.budget_ms, Some(read), "{written}");
    }
}

#[test]
fn doubles_and_half_characters_in_arguments_are_told_too() {
    for (arguments, expected) in [
        (r#"{"code":"1","code":"2"}"#, "code: stands there twice"),
        (r#"{"code":"\ud83d"}"#, "code: cannot be read: "),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"execute","arguments":{arguments}}}}}"#
        );
        let (status, told) = Ask::raw(body).told();
        assert_eq!(status, 200);
        assert!(text_of(&told).starts_with(&format!("Error: {expected}")), "{told}");
    }
}

#[test]
fn all_faults_are_told_at_once_and_no_more_than_eight() {
    let many: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("field{n:03}"), json!(1))).collect();
    let (_, body) =
        Ask::legacy("tools/call", &json!({ "name": "execute", "arguments": many })).told();
    let problems = &body["result"]["structuredContent"]["errorDetails"]["problems"];
    assert_eq!(problems.as_array().unwrap().len(), 8);
    assert_eq!(problems[0], json!({ "path": "code", "problem": "is required" }));
}

#[test]
fn an_unknown_tool_is_an_error_that_names_those_there_are() {
    let (_, body) = Ask::legacy("tools/call", &json!({ "name": "Execute" })).told();
    let error = &body["error"];
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Unknown tool: Execute.");
    assert_eq!(error["data"]["code"], "HF_E1601");
    assert!(
        error["data"]["nextStep"]
            .as_str()
            .unwrap()
            .contains("execute, run_get, run_list, package_list, package_invoke, resume, tool_search, tool_describe, service_start, service_stop, service_status, run_rollback, workflow_create, workflow_run_list, workflow_cancel, schedule_put, schedule_list, schedule_pause, schedule_run, schedule_delete")
    );
}
