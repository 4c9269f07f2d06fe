//! A result says the same twice: as JSON for programs, and as text for a model. A failure's text is
//! its message, what to do next, and how far the program came.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::{
    error::{Code, Fault},
    mcp::{ToolAnswer, ToolOutcome},
};
use mcp_support::{Ask, SERVER_INFO, execute, json_of, outcome, text_of};
use serde_json::{Value, json, value::RawValue};

/// The answers of both eras to a call that came to this.
fn answers(came: &ToolAnswer) -> [Value; 2] {
    [Ask::legacy("tools/call", &execute()), Ask::modern("tools/call", &execute())]
        .map(|ask| json_of(&ask.call().reply.answer(came)))
}

#[test]
fn a_completed_run_is_the_same_json_twice_in_the_order_of_the_program() {
    let run = r#"{"id":"run_1","status":"completed","result":{"z":1,"a":9007199254740993.25}}"#;
    let came = Ok(ToolOutcome {
        structured: RawValue::from_string(run.to_owned()).unwrap(),
        is_error: false,
        replayed: false,
    });
    for (ask, meta) in [
        (Ask::legacy("tools/call", &execute()), ""),
        (Ask::modern("tools/call", &execute()), r#","_meta":{"#),
    ] {
        let text = String::from_utf8(ask.call().reply.answer(&came).body).unwrap();
        let expected = format!(r#""structuredContent":{run},"isError":false{meta}"#);
        assert!(text.contains(&expected), "{text}");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text_of(&body), run);
    }
}

#[test]
fn a_failed_run_says_what_to_do_next_and_how_far_it_came() {
    let fault = Fault::budget_spent(90_000);
    let run = json!({
        "id": "run_1", "status": "failed", "outcome": "failed",
        "error": fault.message, "errorDetails": fault.to_json(),
        "warnings": ["Shortened."],
        "logs": [{ "level": "log", "text": "one" }, { "level": "error", "text": "two\nlines" }],
    });
    for body in answers(&outcome(&run, true)) {
        assert_eq!(body["result"]["isError"], true);
        assert_eq!(body["result"]["structuredContent"], run);
        assert_eq!(
            text_of(&body),
            format!(
                "Error: {}\n\nNext step: {}\n\nRun: run_1\n\nWarnings:\nShortened.\n\n\
                 Logs:\n[log] one\n[error] two\nlines",
                fault.message,
                fault.next_step()
            )
        );
        assert!(text_of(&body).starts_with("Error: Execution timed out after 90s: "));
    }
}

#[test]
fn the_status_of_a_run_says_whether_it_is_a_failure() {
    for (status, expected) in [
        ("completed", false),
        ("running", false),
        ("waiting_approval", false),
        ("parked", false),
        ("failed", true),
        ("cancelled", true),
    ] {
        let text = json!({ "id": "run_1", "status": status }).to_string();
        let run = ToolOutcome::of_run(text.clone(), true).unwrap();
        assert_eq!((run.is_error, run.replayed), (expected, true), "{status}");
        assert_eq!(run.structured.get(), text);
        let look = ToolOutcome::of_look(text).unwrap();
        assert_eq!((look.is_error, look.replayed), (false, false), "{status}");
    }
    for text in ["", "{", "{}", "[]", r#"{"status":7}"#] {
        assert!(ToolOutcome::of_run(text.to_owned(), false).is_err(), "{text}");
    }
}

#[test]
fn looking_up_a_failed_run_is_no_failure() {
    let run = json!({ "id": "run_1", "status": "failed", "error": "boom", "errorDetails": {} });
    for body in answers(&outcome(&run, false)) {
        assert_eq!(body["result"]["isError"], false);
        assert_eq!(serde_json::from_str::<Value>(text_of(&body)).unwrap(), run);
    }
}

#[test]
fn a_waiting_run_says_whom_to_ask_and_where() {
    let run = json!({
        "id": "run_7f", "status": "waiting_approval", "outcome": null,
        "approvals": [
            { "id": "apr_1", "tool": "mail.send", "approveUrl": "https://holdfast.example/approvals/apr_1" },
            { "id": "apr_2", "tool": "crm.add", "approveUrl": "https://holdfast.example/approvals/apr_2" },
        ],
    });
    for body in answers(&outcome(&run, false)) {
        assert_eq!(body["result"]["isError"], false);
        assert_eq!(body["result"]["structuredContent"], run);
        assert!(text_of(&body).starts_with(
            "Waiting for approval. Ask the user to open \
             https://holdfast.example/approvals/apr_1 (mail.send) and \
             https://holdfast.example/approvals/apr_2 (crm.add), then call resume with runId \
             run_7f.\n\n{"
        ));
    }
}

#[test]
fn a_run_at_work_says_how_to_wait_for_it() {
    let run = json!({ "id": "run_7f", "status": "running", "outcome": null });
    for body in answers(&outcome(&run, false)) {
        let text = text_of(&body);
        assert!(text.starts_with("Still at work. Call resume with runId run_7f"), "{text}");
        assert!(text.ends_with(&run.to_string()), "{text}");
    }
}

#[test]
fn a_fault_before_a_run_is_a_result_that_the_model_can_read() {
    let fault = Fault::new(Code::RunNotFound, "There is no run x.");
    for body in answers(&Err(fault.clone())) {
        let result = &body["result"];
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["error"], "There is no run x.");
        assert_eq!(result["structuredContent"]["errorDetails"], fault.to_json());
        assert_eq!(
            text_of(&body),
            format!("Error: There is no run x.\n\nNext step: {}", fault.next_step())
        );
    }
}

#[test]
fn a_fault_of_ours_is_an_error_of_the_protocol_and_keeps_its_cause() {
    let fault = Fault::internal("c0ffee", "D1_ERROR: secret table");
    for ask in [Ask::legacy("tools/call", &execute()), Ask::modern("tools/call", &execute())] {
        let answer = ask.call().reply.answer(&Err(fault.clone()));
        assert_eq!(answer.status, 200);
        let body = json_of(&answer);
        assert_eq!(body["error"]["code"], -32603);
        assert_eq!(body["id"], 1);
        assert_eq!(body["error"]["data"]["code"], "HF_E1099");
        assert_eq!(body["error"]["data"]["correlationId"], "c0ffee");
        assert!(!body.to_string().contains("secret"));
    }
}

#[test]
fn a_replayed_answer_says_so_in_its_meta_only() {
    let first = outcome(&mcp_support::completed(), false);
    let again = first.clone().map(|outcome| ToolOutcome { replayed: true, ..outcome });
    for (mut first, mut again) in answers(&first).into_iter().zip(answers(&again)) {
        assert_eq!(again["result"]["_meta"]["holdfast/replayed"], true);
        assert_eq!(first["result"]["_meta"].get("holdfast/replayed"), None);
        assert_eq!(first["result"]["_meta"][SERVER_INFO], again["result"]["_meta"][SERVER_INFO]);
        for body in [&mut first, &mut again] {
            body["result"].as_object_mut().unwrap().remove("_meta");
        }
        assert_eq!(first, again);
    }
}
