//! What an envelope's splitter lets through is a byte-exact subsequence of what came in.
//!
//! Items are split on bytes whatever the pieces are that they arrive in; the dependants of a
//! dropped event go with it; what two readers could read differently is refused.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::Range;

use holdfast::report::envelope::{
    Envelope, Items, MAX_EVENT_BYTES, MAX_LINE_BYTES, NamedDsn, NamedId, Splitter,
};
use holdfast::report::filter::EventId;
use proptest::prelude::*;

const NOISE: &str = r#"{"message":"Execution timed out after 90s"}"#;
const FAULT: &str = r#"{"message":"D1 write failed"}"#;

fn split(body: &[u8]) -> Result<Envelope, String> {
    split_in(body, usize::MAX)
}

fn split_in(body: &[u8], piece: usize) -> Result<Envelope, String> {
    let mut splitter = Splitter::new();
    for piece in body.chunks(piece.max(1)) {
        splitter.feed(piece);
    }
    splitter.finish().map_err(|malformed| malformed.to_string())
}

fn items(body: &[u8]) -> Result<Items, String> {
    split(body)?.items.map_err(|malformed| malformed.to_string())
}

fn kept(body: &[u8]) -> Vec<u8> {
    match items(body).unwrap() {
        Items::None => Vec::new(),
        Items::Whole => body.to_vec(),
        Items::Noise { kept, .. } => cut(body, &kept),
    }
}

fn cut(body: &[u8], kept: &[Range<usize>]) -> Vec<u8> {
    kept.iter().flat_map(|range| body[range.clone()].to_vec()).collect()
}

fn envelope(items: &[&str]) -> Vec<u8> {
    format!("{{}}\n{}", items.concat()).into_bytes()
}

fn item(header: &str, payload: &str) -> String {
    format!("{{{header},\"length\":{}}}\n{payload}\n", payload.len())
}

#[test]
fn what_is_malformed_is_refused_and_said() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES));
    let cases: &[(&str, &str)] = &[
        ("", "envelope header: the body is empty"),
        ("\n", "envelope header: not a JSON object"),
        ("[1]\n", "envelope header: not a JSON object"),
        ("null", "envelope header: not a JSON object"),
        (r#"{"dsn":"a","dsn":"b"}"#, "envelope header: not a JSON object"),
        (&long, "envelope header: a header line is longer than 64 KiB"),
        ("{}\n\n", "item 1: a blank line stands where an item header should"),
        ("{}\n{}\n{}", "item 1: type is missing or not a string"),
        ("{}\n{\"type\":1}\n{}", "item 1: type is missing or not a string"),
        ("{}\n{\"type\":null}\n{}", "item 1: type is missing or not a string"),
        ("{}\n[\"event\"]\n{}", "item 1: the header is not a JSON object, or names a key twice"),
        ("{}\n\r\n", "item 1: the header is not a JSON object, or names a key twice"),
        (
            "{}\n{\"type\":\"a\",\"type\":\"event\"}\n{}",
            "item 1: the header is not a JSON object, or names a key twice",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":\"2\"}\n{}",
            "item 1: length is not a whole number of bytes",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":2.0}\n{}",
            "item 1: length is not a whole number of bytes",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":2e0}\n{}",
            "item 1: length is not a whole number of bytes",
        ),
        ("{}\n{\"type\":\"a\",\"length\":-2}\n{}", "item 1: length is not a whole number of bytes"),
        (
            "{}\n{\"type\":\"a\",\"length\":true}\n{}",
            "item 1: length is not a whole number of bytes",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":null}\n{}",
            "item 1: length is not a whole number of bytes",
        ),
        ("{}\n{\"type\":\"a\",\"length\":3}\n{}", "item 1: length runs past the end"),
        (
            "{}\n{\"type\":\"a\",\"length\":99999999999999999999999}\n{}",
            "item 1: length runs past the end",
        ),
        ("{}\n{\"type\":\"a\",\"length\":1}", "item 1: length runs past the end"),
        (
            "{}\n{\"type\":\"a\",\"length\":1}\n{}",
            "item 1: no newline follows the payload's length",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":0}\n{}",
            "item 1: no newline follows the payload's length",
        ),
        (
            "{}\n{\"type\":\"a\",\"length\":2}\n{}\r\n",
            "item 1: no newline follows the payload's length",
        ),
        (
            "{}\n{\"type\":\"a\"}\n{}\n{\"type\":\"b\",\"length\":2}\n{}\n\n",
            "item 3: a blank line stands where an item header should",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(items(body.as_bytes()).unwrap_err(), *expected, "{body:.60}");
    }
    let long_item = format!("{{}}\n{long}\n");
    assert_eq!(
        items(long_item.as_bytes()).unwrap_err(),
        "item 1: a header line is longer than 64 KiB"
    );
    assert_eq!(items(b"\xff\n").unwrap_err(), "envelope header: not UTF-8");
    assert_eq!(items(b"{}\n\xff\n").unwrap_err(), "item 1: the header is not UTF-8");
}

#[test]
fn what_is_legal_goes_on_whole() {
    let longest = format!("{{\"x\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES - 8));
    assert_eq!(longest.len(), MAX_LINE_BYTES);
    let bodies = [
        "{}\n{\"type\":\"a\"}\n{}".to_owned(),
        "{}\n{\"type\":\"a\"}\n{}\n".to_owned(),
        "{}\n{\"type\":\"a\"}\n\n{\"type\":\"b\"}\n\n".to_owned(),
        "{}\n{\"type\":\"a\"}\n".to_owned(),
        "{}\n{\"type\":\"a\"}".to_owned(),
        "{}\n{\"type\":\"a\",\"length\":0}".to_owned(),
        "{}\n{\"type\":\"a\",\"length\":0}\n".to_owned(),
        "{}\n{\"type\":\"a\",\"length\":0}\n\n".to_owned(),
        "{}\n{\"type\":\"a\",\"length\":0}\n\n{\"type\":\"b\",\"length\":1}\nx".to_owned(),
        "{}\r\n{\"type\":\"a\",\"length\":2}\r\n{}\n".to_owned(),
        "{ \"x\" : 1 }\n { \"type\" : \"a\" , \"length\" : 2 } \n{}\n".to_owned(),
        format!("{longest}\n{{\"type\":\"a\"}}\n{{}}"),
        format!("{{}}\n{{\"type\":\"event\"}}\n{FAULT}"),
        "{}\n{\"type\":\"event\"}\nnot JSON".to_owned(),
    ];
    for body in bodies {
        assert_eq!(items(body.as_bytes()), Ok(Items::Whole), "{body:.60}");
    }
    assert_eq!(items(b"{}"), Ok(Items::None));
    assert_eq!(items(b"{}\n"), Ok(Items::None));
}

#[test]
fn a_payload_may_look_like_items() {
    let trap = "\u{1f}{\"type\":\"event\"}\n{\"message\":\"Execution timed out\"}\n";
    let body = envelope(&[&item("\"type\":\"x\"", trap), &item("\"type\":\"event\"", FAULT)]);
    assert_eq!(items(&body), Ok(Items::Whole));
}

#[test]
fn the_dependants_of_a_dropped_event_go_with_it_and_the_rest_stays_in_order() {
    let dependants = [
        item("\"type\":\"attachment\",\"filename\":\"a\"", "x\ny"),
        item("\"type\":\"attachment\",\"attachment_type\":\"event.view_hierarchy\"", "{}"),
        item("\"type\":\"attachment\",\"attachment_type\":7", ""),
        item(
            "\"type\":\"attachment\",\"content_type\":\"application/vnd.sentry.attachment-ref+json\"",
            "{}",
        ),
        item("\"type\":\"user_report\"", "{}"),
        item("\"type\":\"profile\"", "{}"),
        item("\"type\":\"form_data\"", "{}"),
    ];
    let stay = [
        "session",
        "sessions",
        "client_report",
        "check_in",
        "log",
        "otel_log",
        "span",
        "trace_metric",
        "statsd",
        "metric_buckets",
        "replay_event",
        "replay_recording",
        "replay_video",
        "profile_chunk",
        "weather_report",
        "Event",
        "events",
    ]
    .map(|kind| item(&format!("\"type\":\"{kind}\",\"x\":[1]"), "\u{0}\n"));
    let trace = item(
        "\"type\":\"attachment\",\"content_type\":\"application/vnd.sentry.trace-attachment\"",
        "t",
    );
    let noise = item("\"type\":\"event\"", NOISE);

    for (before, after) in [(0, 7), (3, 4), (7, 0)] {
        let mut parts = vec![stay[0].as_str()];
        parts.extend(dependants[..before].iter().map(String::as_str));
        parts.extend([stay[1].as_str(), &noise, &trace]);
        parts.extend(dependants[7 - after..].iter().map(String::as_str));
        parts.extend(stay[2..].iter().map(String::as_str));
        let body = envelope(&parts);
        let mut left = vec![stay[0].as_str(), &stay[1], &trace];
        left.extend(stay[2..].iter().map(String::as_str));
        assert_eq!(
            String::from_utf8(kept(&body)).unwrap(),
            String::from_utf8(envelope(&left)).unwrap()
        );
        let Items::Noise { losses, .. } = items(&body).unwrap() else { panic!("not noise") };
        let report = losses.client_report(0);
        for counted in [
            r#""category":"error","quantity":1}"#,
            r#""category":"attachment","quantity":8}"#,
            r#""category":"feedback","quantity":1}"#,
            r#""category":"profile","quantity":1}"#,
        ] {
            assert!(report.contains(counted), "{counted} in {report}");
        }
    }
}

#[test]
fn an_envelope_that_says_more_than_one_event_goes_on_whole() {
    let noise = item("\"type\":\"event\"", NOISE);
    let rivals = [
        noise.clone(),
        item("\"type\":\"transaction\"", "{}"),
        item("\"type\":\"feedback\"", "{}"),
        item("\"type\":\"security\"", "{}"),
        item("\"type\":\"raw_security\"", "{}"),
        item("\"type\":\"unreal_report\"", "{}"),
        item("\"type\":\"attachment\",\"attachment_type\":\"event.minidump\"", "MDMP"),
        item("\"type\":\"attachment\",\"attachment_type\":\"event.applecrashreport\"", "x"),
        item("\"type\":\"attachment\",\"attachment_type\":\"event.payload\"", "x"),
        item("\"type\":\"attachment\",\"attachment_type\":\"event.breadcrumbs\"", "x"),
        item("\"type\":\"attachment\",\"attachment_type\":\"playstation.prosperodump\"", "x"),
        item("\"type\":\"attachment\",\"attachment_type\":\"nswitch.dying_message\"", "x"),
    ];
    for rival in &rivals {
        assert_eq!(items(&envelope(&[&noise, rival])), Ok(Items::Whole), "after: {rival}");
        assert_eq!(items(&envelope(&[rival, &noise])), Ok(Items::Whole), "before: {rival}");
    }
}

#[test]
fn an_event_is_judged_up_to_a_mebibyte() {
    let event = |bytes: usize| {
        let head = "{\"message\":\"Execution timed out\",\"extra\":\"";
        format!("{head}{}\"}}", "x".repeat(bytes - head.len() - 2))
    };
    let just = envelope(&[&item("\"type\":\"event\"", &event(MAX_EVENT_BYTES))]);
    assert!(matches!(items(&just), Ok(Items::Noise { .. })));
    let over = envelope(&[&item("\"type\":\"event\"", &event(MAX_EVENT_BYTES + 1))]);
    assert_eq!(items(&over), Ok(Items::Whole));
}

#[test]
fn an_envelope_of_very_many_cuts_goes_on_whole() {
    let pair = item("\"type\":\"attachment\"", "x") + &item("\"type\":\"log\"", "x");
    let noise = item("\"type\":\"event\"", NOISE);
    let many = |pairs: usize| format!("{{}}\n{}{noise}", pair.repeat(pairs));
    assert!(matches!(items(many(4095).as_bytes()), Ok(Items::Noise { .. })));
    assert_eq!(items(many(4096).as_bytes()), Ok(Items::Whole));
}

#[test]
fn the_answered_id_is_the_headers_else_the_events() {
    let id = "9680658abdf7413ef2a746458761c60d";
    let dashed = "9680658a-bdf7-413e-f2a7-46458761c60d";
    let other = "00000000000000000000000000000001";
    let cases = [
        (format!("{{\"event_id\":\"{dashed}\"}}"), format!("\"{other}\""), Some(id)),
        ("{}".to_owned(), format!("\"{id}\""), Some(id)),
        ("{\"event_id\":null}".to_owned(), format!("\"{id}\""), Some(id)),
        ("{\"event_id\":\"x\"}".to_owned(), format!("\"{id}\""), None),
        ("{\"event_id\":7}".to_owned(), format!("\"{id}\""), None),
        ("{}".to_owned(), "7".to_owned(), None),
    ];
    for (header, payload_id, expected) in cases {
        let body = format!(
            "{header}\n{{\"type\":\"event\"}}\n{{\"event_id\":{payload_id},\"message\":\"Execution timed out\"}}"
        );
        let Items::Noise { event_id, kept, .. } = items(body.as_bytes()).unwrap() else {
            panic!("not noise: {body}")
        };
        assert_eq!(event_id.as_ref().map(EventId::as_str), expected, "{body}");
        assert_eq!(kept, [], "nothing is left to go on");
    }
}

#[test]
fn the_header_says_whose_it_is_even_where_an_item_is_malformed() {
    let envelope = split(b"{\"dsn\":\"http:\\/\\/a\",\"event_id\":7}\n\n").unwrap();
    assert_eq!(envelope.header.dsn, NamedDsn::Text("http://a".to_owned()));
    assert_eq!(envelope.header.event_id, NamedId::NotAnId);
    assert!(envelope.items.is_err());
    for not_text in ["1", "null", "{}", "[]", "true"] {
        let envelope = split(format!("{{\"dsn\":{not_text}}}").as_bytes()).unwrap();
        assert_eq!(envelope.header.dsn, NamedDsn::NotText, "{not_text}");
    }
    assert_eq!(split(b"{}").unwrap().header.dsn, NamedDsn::Absent);
}

/// One well-formed item and whether it goes when the event is noise.
fn any_item() -> impl Strategy<Value = (Vec<u8>, bool)> {
    let kinds = prop::sample::select(vec![
        ("attachment", true),
        ("user_report", true),
        ("profile", true),
        ("form_data", true),
        ("session", false),
        ("log", false),
        ("nonsense", false),
    ]);
    (kinds, prop::collection::vec(any::<u8>(), 0..40), any::<bool>()).prop_map(
        |((kind, goes), mut payload, framed)| {
            let mut bytes = format!("{{\"type\":\"{kind}\"").into_bytes();
            if framed {
                bytes.extend(format!(",\"length\":{}", payload.len()).bytes());
            } else {
                payload.retain(|byte| *byte != b'\n');
            }
            bytes.extend(b"}\n");
            bytes.extend(payload);
            bytes.push(b'\n');
            (bytes, goes)
        },
    )
}

proptest! {
    #[test]
    fn what_is_kept_is_exactly_what_was_not_dropped(
        before in prop::collection::vec(any_item(), 0..5),
        after in prop::collection::vec(any_item(), 0..5),
        noise in any::<bool>(), piece in 1usize..50, final_newline in any::<bool>(),
    ) {
        let event = item("\"type\":\"event\"", if noise { NOISE } else { FAULT }).into_bytes();
        let header = b"{\"x_future\":{\"a\":[1,2]}}\n".to_vec();
        let all: Vec<(Vec<u8>, bool)> =
            before.into_iter().chain([(event, true)]).chain(after).collect();
        let mut body = header.clone();
        for (bytes, _) in &all {
            body.extend(bytes);
        }
        let mut expected = header.clone();
        for (bytes, _) in all.iter().filter(|(_, goes)| !(noise && *goes)) {
            expected.extend(bytes);
        }
        if expected == header {
            expected.clear();
        }
        if !final_newline {
            body.pop();
            if all.last().is_some_and(|(_, goes)| !(noise && *goes)) {
                expected.pop();
            }
        }
        let split = split_in(&body, piece).unwrap().items.unwrap();
        let forwarded = match &split {
            Items::Whole => body.clone(),
            Items::Noise { kept, .. } => cut(&body, kept),
            Items::None => Vec::new(),
        };
        prop_assert_eq!(forwarded, expected);
        prop_assert_eq!(matches!(split, Items::Noise { .. }), noise);
    }

    #[test]
    fn any_bytes_in_any_pieces_split_the_same(
        mut body in prop::collection::vec(
            prop::sample::select(vec![
                b"{}".to_vec(), b"\n".to_vec(), b"{\"type\":\"event\"}".to_vec(), NOISE.as_bytes().to_vec(),
                b"{\"type\":\"log\",\"length\":3}".to_vec(), b"{\"type\":\"attachment\",\"length\":0}".to_vec(),
                b"\xff\x00x".to_vec(), b"\r".to_vec(), b"{\"type\":\"attachment\"}".to_vec(),
            ]), 0..24,
        ).prop_map(|parts| parts.concat()),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        piece in 1usize..9,
    ) {
        for (place, byte) in flips {
            if !body.is_empty() {
                let place = place.index(body.len());
                body[place] = byte;
            }
        }
        let whole = split(&body);
        prop_assert_eq!(&whole, &split_in(&body, piece));
        if let Ok(Envelope { items: Ok(Items::Noise { kept, .. }), .. }) = whole {
            let mut end = 0;
            for range in kept {
                prop_assert!(end <= range.start && range.start < range.end && range.end <= body.len());
                end = range.end;
            }
        }
    }
}
