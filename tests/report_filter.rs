//! An event is dropped only when all it says is a bare sandbox timeout.
//!
//! `cases/sentry/events.json` holds the decided table; here stand the sentences of the rule that
//! a case file cannot say: spellings one by one, shapes that are almost right, and anything at
//! all thrown at the reader.

use std::fs;

use holdfast::error::message::is_bare_timeout;
use holdfast::report::filter::{EventId, event_id, is_noise};
use proptest::prelude::*;
use serde_json::{Value, json};

const TIMEOUT: &str = "Execution timed out after 90s: Holdfast stopped watching the sandbox.";

fn noise(event: &Value) -> bool {
    is_noise(event.to_string().as_bytes())
}

#[test]
fn the_case_file_is_judged_as_decided() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/sentry/events.json");
    let cases: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(cases.len() >= 59, "the case file lost cases");
    for case in cases {
        assert_eq!(noise(&case["event"]), case["noise"] == true, "{}", case["name"]);
    }
}

#[test]
fn a_timeout_text_is_a_whole_string() {
    let cases = [
        ("Execution timed out", true),
        ("Execution timed out after 90s", true),
        ("Execution timed out after 40ms", true),
        ("Execution timed out after 1.5s", true),
        ("Execution timed out after 300000ms: x", true),
        ("Execution timed out: x", true),
        ("Execution timed out after 0s", true),
        ("Execution timed out after 99999999999999999999ms", true),
        ("Execution timed out after 90s: cut off with...", true),
        ("Execution timed out after 90s: : ", true),
        ("Execution timed out after 90s:  ", true),
        ("Execution timed out after 90s: tab\tand \u{85} are no line ends", true),
        ("", false),
        ("Execution timed", false),
        ("Error: Execution timed out after 90s", false),
        ("[execution_failed] Execution timed out after 90s", false),
        ("Upstream reported: Execution timed out after 90s", false),
        (" Execution timed out", false),
        ("Execution timed out ", false),
        ("Execution timed out\n", false),
        ("Execution timed out after 90s\n", false),
        ("execution timed out", false),
        ("Execution\u{a0}timed out", false),
        ("Execution timed out.", false),
        ("Execution timed out:", false),
        ("Execution timed out: ", false),
        ("Execution timed out:x", false),
        ("Execution timed out after", false),
        ("Execution timed out after ", false),
        ("Execution timed out after s", false),
        ("Execution timed out after 90", false),
        ("Execution timed out after 90 s", false),
        ("Execution timed out after 1m", false),
        ("Execution timed out after 1e3ms", false),
        ("Execution timed out after -1s", false),
        ("Execution timed out after .5s", false),
        ("Execution timed out after 1.s", false),
        ("Execution timed out after 1.5.5s", false),
        ("Execution timed out after 90sec", false),
        ("Execution timed out after 90S", false),
        ("Execution timed out after \u{669}s", false),
        ("Execution timed out after 90s after 90s", false),
        ("Execution timed out after 90s (queued)", false),
        ("Execution timed out after 90s: a\nb", false),
        ("Execution timed out after 90s: a\rb", false),
        ("Execution timed out after 90s: a\u{2028}b", false),
        ("Execution timed out after 90s: a\u{2029}", false),
    ];
    for (text, expected) in cases {
        assert_eq!(is_bare_timeout(text), expected, "{text:?}");
    }
}

#[test]
fn a_template_is_rendered_as_the_server_renders_it() {
    let cases = [
        ("no params", json!({"message": "Execution timed out"}), true),
        ("empty params", json!({"message": "Execution timed out", "params": []}), true),
        ("null params", json!({"message": "Execution timed out", "params": null}), true),
        ("no named params", json!({"message": "Execution timed out", "params": {}}), true),
        ("unfilled without params", json!({"message": "Execution timed out: %s"}), true),
        ("%i", json!({"message": "Execution timed out after %is", "params": [9]}), true),
        ("%%", json!({"message": "Execution timed out: 9%% of %s", "params": ["x"]}), true),
        ("left over", json!({"message": "Execution timed out after %ss", "params": [9, 1]}), true),
        ("boolean", json!({"message": "Execution timed out: {}", "params": [true]}), true),
        ("braces beside %", json!({"message": "Execution timed out: {} %s", "params": [1]}), true),
        ("two braces", json!({"message": "{} {}", "params": ["Execution", "timed out"]}), true),
        ("empty formatted", json!({"message": "Execution timed out", "formatted": ""}), true),
        ("float", json!({"message": "Execution timed out after {}s", "params": [1.5]}), true),
        ("negative", json!({"message": "Execution timed out after {}s", "params": [-1]}), false),
        ("too few", json!({"message": "Execution timed out: %s %s", "params": [1]}), false),
        ("numbered", json!({"message": "Execution timed out: {0}", "params": [1]}), false),
        ("named", json!({"message": "Execution timed out: %(a)s", "params": {"a": 1}}), false),
        ("named braces", json!({"message": "Execution timed out: {a}", "params": {"a": 1}}), false),
        ("lone %", json!({"message": "Execution timed out: 9%", "params": [1]}), false),
        ("%x", json!({"message": "Execution timed out: %x", "params": [1]}), false),
        ("a null", json!({"message": "Execution timed out: %s", "params": [null]}), false),
        ("a list", json!({"message": "Execution timed out: %s", "params": [[1]]}), false),
        ("params a string", json!({"message": "Execution timed out", "params": "x"}), false),
        (
            "a line end comes in",
            json!({"message": "Execution timed out: %s", "params": ["\n"]}),
            false,
        ),
        ("formatted a number", json!({"message": "Execution timed out", "formatted": 1}), false),
        ("template a number", json!({"message": 1}), false),
        ("formatted says more", json!({"message": TIMEOUT, "formatted": "a fault"}), false),
    ];
    for (name, entry, expected) in cases {
        assert_eq!(noise(&json!({ "logentry": entry })), expected, "logentry: {name}");
        assert_eq!(noise(&json!({ "message": entry })), expected, "message: {name}");
    }
}

#[test]
fn what_carries_nothing_neither_hides_nor_saves_a_timeout() {
    for nothing in [json!(null), json!(""), json!([])] {
        let exception = json!({ "values": [{ "value": TIMEOUT }] });
        assert!(noise(&json!({ "message": nothing, "logentry": nothing, "exception": exception })));
        assert!(noise(&json!({ "message": TIMEOUT, "exception": nothing })));
        assert!(noise(&json!({ "message": TIMEOUT, "exception": { "values": nothing } })));
        assert!(!noise(&json!({ "message": nothing, "exception": nothing })));
    }
    assert!(noise(&json!({ "message": TIMEOUT, "logentry": {} })));
}

#[test]
fn what_is_not_understood_is_kept() {
    let cases = [
        ("message a number", json!({ "message": 1 })),
        ("message a list", json!({ "message": [TIMEOUT] })),
        ("logentry true", json!({ "logentry": true, "message": TIMEOUT })),
        ("exception a string", json!({ "exception": TIMEOUT })),
        ("exception a number", json!({ "exception": 1, "message": TIMEOUT })),
        ("values a string", json!({ "exception": { "values": TIMEOUT } })),
        ("values an object", json!({ "exception": { "values": { "value": TIMEOUT } } })),
        (
            "values a number beside a value",
            json!({ "exception": { "values": 1, "value": TIMEOUT } }),
        ),
        (
            "values null beside a value",
            json!({ "exception": { "values": null, "value": TIMEOUT } }),
        ),
        ("an entry that is a list", json!({ "exception": { "values": [[TIMEOUT, null]] } })),
        ("an entry that is a string", json!({ "exception": { "values": [TIMEOUT] } })),
        ("an entry that is null", json!({ "exception": [{ "value": TIMEOUT }, null] })),
        ("a value that is empty", json!({ "exception": [{ "value": TIMEOUT }, { "value": "" }] })),
        ("a value that is null", json!({ "exception": [{ "value": TIMEOUT }, { "value": null }] })),
        ("a value that is a list", json!({ "exception": [{ "value": [TIMEOUT] }] })),
        ("an empty exception", json!({ "exception": {}, "message": TIMEOUT })),
        ("a list around the event", json!([null, null, TIMEOUT, null])),
        ("a string", json!(TIMEOUT)),
    ];
    for (name, event) in cases {
        assert!(!noise(&event), "{name}");
    }
    let texts = [
        r#"{"message":"Execution timed out","message":"a fault"}"#,
        r#"{"exception":[{"value":"Execution timed out","value":"a fault"}]}"#,
        r#"{"message":"Execution timed out"} x"#,
        r#"{"message":"Execution timed out""#,
        "",
    ];
    for text in texts {
        assert!(!is_noise(text.as_bytes()), "{text}");
    }
    assert!(!is_noise(b"{\"message\":\"Execution timed out: \xff\"}"), "not UTF-8");
}

#[test]
fn escapes_are_read_and_half_a_surrogate_pair_is_a_character() {
    assert!(is_noise(br#"{"mess\u0061ge":"\u0045xecution timed out"}"#));
    assert!(is_noise(br#"{"message":"Execution timed out after 90s: cut \ud83d..."}"#));
    assert!(is_noise(br#"{"message":"Execution timed out","extra":{"x":"\ud83d"}}"#));
    assert!(!is_noise(br#"{"message":"\ud83dExecution timed out"}"#));
    assert!(is_noise(b" \n{ \"message\" : \"Execution timed out\" }\r\n"));
}

#[test]
fn depth_costs_nothing() {
    let deep =
        format!(r#"{{"message":"x","extra":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(!is_noise(deep.as_bytes()));
    let deep = format!(r#"{{"exception":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(!is_noise(deep.as_bytes()));
}

#[test]
fn an_event_id_is_a_uuid_in_any_spelling() {
    let parsed = |text| EventId::parse(text).map(|id| id.as_str().to_owned());
    let id = Some("9680658abdf7413ef2a746458761c60d".to_owned());
    assert_eq!(parsed("9680658abdf7413ef2a746458761c60d"), id);
    assert_eq!(parsed("9680658a-bdf7-413e-f2a7-46458761c60d"), id);
    assert_eq!(parsed("9680658A-BDF7-413E-F2A7-46458761C60D"), id);
    for no in ["", "x", "9680658abdf7413ef2a746458761c60", "9680658abdf7413e-f2a7-46458761c60d0000"]
    {
        assert_eq!(parsed(no), None, "{no}");
    }
    assert_eq!(
        event_id(br#"{"event_id":"9680658a-bdf7-413e-f2a7-46458761c60d"}"#)
            .map(|id| id.as_str().to_owned()),
        id
    );
    assert_eq!(event_id(br#"{"event_id":1}"#), None);
    assert_eq!(event_id(b"{}"), None);
}

proptest! {
    #[test]
    fn any_bytes_are_judged_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = is_noise(&bytes);
        let _ = event_id(&bytes);
    }

    #[test]
    fn a_fault_anywhere_among_timeouts_is_kept(
        before in 0usize..4, after in 0usize..4, fault in "[A-Za-z][ -~]{0,40}", shape in 0u8..4,
    ) {
        prop_assume!(!is_bare_timeout(&fault));
        let timeout = json!({ "type": "Error", "value": TIMEOUT });
        let mut values = vec![timeout.clone(); before];
        values.push(json!({ "type": "Error", "value": fault }));
        values.extend(vec![timeout; after]);
        let event = match shape {
            0 => json!({ "exception": { "values": values } }),
            1 => json!({ "exception": values }),
            2 => json!({ "message": TIMEOUT, "exception": values }),
            _ => json!({ "message": fault, "exception": [{ "value": TIMEOUT }] }),
        };
        prop_assert!(!noise(&event));
    }

    #[test]
    fn a_timeout_is_noise_whatever_its_budget_and_explanation(
        budget in "[0-9]{1,30}(\\.[0-9]{1,5})?(ms|s)", explanation in "[^\n\r\u{2028}\u{2029}]{1,60}",
    ) {
        let text = format!("Execution timed out after {budget}: {explanation}");
        let event = json!({ "exception": { "values": [{ "type": "Error", "value": text }] } });
        prop_assert!(noise(&event));
        let wrapped = json!({ "exception": { "values": [{ "value": format!("Error: {text}") }] } });
        prop_assert!(!noise(&wrapped));
    }
}
