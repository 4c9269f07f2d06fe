//! A call that stays open is answered piece by piece: head, beats, result. Each piece is one that
//! every client reads, and together they say what the answer at once would have said.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first surprise"
)]

mod mcp_support;

use holdfast::mcp::{Stream, ToolAnswer};
use mcp_support::{Ask, PAGE, completed, events, execute, json_of, meta, outcome, text_of};
use serde_json::{Value, json};

const BOTH: &str = "application/json, text/event-stream";

/// The largest event that the Python SDK 2.3.0 reads.
const MOST_EVENT_BYTES: usize = 1_048_576;

fn stream(accept: &str, token: &Value) -> Stream {
    let mut meta = meta();
    meta["progressToken"] = token.clone();
    Ask::modern_meta("tools/call", &execute(), &meta)
        .with("Accept", accept)
        .with("Origin", PAGE)
        .call()
        .reply
        .stream()
}

/// All pieces of a call that is open for `seconds` after the first.
fn pieces(mut stream: Stream, seconds: u64, came: &ToolAnswer) -> String {
    let mut body = Vec::new();
    for elapsed_ms in (1_000..).step_by(1_000).zip(0..seconds).map(|(elapsed_ms, _)| elapsed_ms) {
        body.extend(stream.beat(elapsed_ms, None));
    }
    body.extend(stream.end(came));
    String::from_utf8(body).unwrap()
}

#[test]
fn a_stream_beats_with_comments_and_ends_with_the_result() {
    let came = outcome(&completed(), false);
    for accept in [BOTH, "*/*", "text/event-stream"] {
        let stream = stream(accept, &Value::Null);
        let head = stream.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        assert_eq!(head.header("access-control-allow-origin"), Some(PAGE));
        assert!(head.body.is_empty());
        let text = pieces(stream, 20, &came);
        assert!(text.starts_with(": \n\n: \n\n"), "{text}");
        let messages = events(&text);
        assert_eq!(messages.len(), 1, "no progress was asked for");
        let at_once = Ask::modern("tools/call", &execute()).call().reply.answer(&came);
        assert_eq!(messages[0], json_of(&at_once));
    }
}

#[test]
fn a_client_that_takes_json_only_gets_white_space_in_front_of_it() {
    let stream = stream("application/json", &json!("p1"));
    let head = stream.head();
    assert_eq!(head.header("content-type"), Some("application/json"));
    let text = pieces(stream, 20, &outcome(&completed(), false));
    assert!(text.starts_with(&" ".repeat(20)));
    let message: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(message["result"]["structuredContent"], completed());
}

#[test]
fn progress_goes_to_whom_it_was_asked_for_and_only_grows() {
    for token in [json!("p1"), json!(7)] {
        let messages = events(&pieces(stream(BOTH, &token), 20, &outcome(&completed(), false)));
        let (last, progress) = messages.split_last().unwrap();
        assert!(last["result"].is_object());
        assert_eq!(progress.len(), 4, "at 5, 10, 15 and 20 s");
        let mut before = -1;
        for message in progress {
            assert_eq!(message["method"], "notifications/progress");
            assert_eq!(message.get("id"), None);
            assert_eq!(message["params"]["progressToken"], token);
            let now = message["params"]["progress"].as_i64().unwrap();
            assert!(now > before, "{now} after {before}");
            before = now;
        }
        assert_eq!(progress[1]["params"]["message"], "running for 10 s");
    }
}

#[test]
fn what_a_call_tells_goes_with_the_next_beat() {
    let mut open = stream(BOTH, &json!("p1"));
    let mut heard = Vec::new();
    for (elapsed_ms, told) in [
        (1_000, None),
        (2_000, Some("library.bind: 2 of 9")),
        (2_000, Some("library.bind: a clock that stands")),
        (3_000, None),
        (4_000, Some("library.bind: 4 of 9")),
        (8_000, None),
        (9_000, None),
    ] {
        let beat = open.beat(elapsed_ms, told.map(str::to_owned));
        heard.extend(events(std::str::from_utf8(&beat).unwrap()));
    }
    let params = |message: &Value| message["params"].clone();
    let told = |progress: u64, message: &str| json!({ "progressToken": "p1", "progress": progress, "message": message });
    assert_eq!(
        heard.iter().map(params).collect::<Vec<_>>(),
        [
            told(2_000, "library.bind: 2 of 9"),
            told(4_000, "library.bind: 4 of 9"),
            told(9_000, "running for 9 s"),
        ]
    );
    let mut silent = stream(BOTH, &Value::Null);
    assert_eq!(silent.beat(2_000, Some("x".to_owned())), b": \n\n");
}

#[test]
fn a_clock_that_stands_or_goes_back_sends_no_progress_twice() {
    let mut stream = stream(BOTH, &json!("p1"));
    let mut sent = Vec::new();
    for elapsed_ms in [0, 5_000, 5_000, 4_000, 9_999, 10_000, u64::MAX, u64::MAX] {
        let beat = stream.beat(elapsed_ms, None);
        assert!(beat.starts_with(b": \n\n"));
        sent.extend(events(std::str::from_utf8(&beat).unwrap()));
    }
    let progress: Vec<_> =
        sent.iter().map(|message| message["params"]["progress"].as_u64().unwrap()).collect();
    assert_eq!(progress, [5_000, 10_000, u64::MAX]);
}

#[test]
fn no_stream_has_an_event_that_a_client_gives_up_over() {
    let of = |bytes: usize| {
        let mut run = completed();
        run["result"] = json!("x".repeat(bytes));
        (outcome(&run, false), run)
    };
    let (large, run) = of(1_000_000);
    let text = pieces(stream(BOTH, &Value::Null), 0, &large);
    assert!(text.len() <= MOST_EVENT_BYTES, "{} bytes", text.len());
    let message = events(&text).pop().unwrap();
    assert_eq!(message["result"]["structuredContent"], run);
    assert!(text_of(&message).contains("stands in structuredContent only"));

    // Where nothing is in the way, the text is the same JSON.
    let at_once = Ask::modern("tools/call", &execute()).call().reply.answer(&large);
    assert_eq!(text_of(&json_of(&at_once)), run.to_string());
    let (small, run) = of(500_000);
    let message = events(&pieces(stream(BOTH, &Value::Null), 0, &small)).pop().unwrap();
    assert_eq!(text_of(&message), run.to_string());
}

#[test]
fn a_call_that_fails_late_is_told_like_one_that_fails_at_once() {
    let fault = holdfast::error::Fault::internal("c0ffee", "lost");
    let message = events(&pieces(stream(BOTH, &Value::Null), 3, &Err(fault))).pop().unwrap();
    assert_eq!(message["error"]["code"], -32603);
    assert_eq!(message["id"], 1);
}
