//! What the reporter sends is an event that a server has nothing to correct in, without secrets,
//! and a loop of our own errors cannot feed itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use holdfast::error::Fault;
use holdfast::report::config::SentryConfig;
use holdfast::report::envelope::{Items, Splitter};
use holdfast::report::event::{Cause, Place, Report, envelope, event};
use holdfast::report::filter::{EventId, is_noise};
use holdfast::report::losses::{Category, Losses, Reason};
use holdfast::report::redact::Redactor;
use holdfast::report::reporter::Outbox;
use serde_json::{Value, json};

const NOW: u64 = 1_767_225_600_000;

fn id() -> EventId {
    EventId::parse("9680658abdf7413ef2a746458761c60d").unwrap()
}

fn config() -> SentryConfig {
    SentryConfig {
        environment: "preview".to_owned(),
        release: "0123abc".to_owned(),
        ..SentryConfig::off()
    }
}

fn made(report: &Report) -> Value {
    let event = event(report, &config(), &Redactor::new(["probe-secret"]), &id(), NOW);
    serde_json::from_str(&event).unwrap()
}

fn report() -> Report {
    Report {
        code: "HF_E1701".to_owned(),
        kind: "storage_error".to_owned(),
        message: "The database could not be read or written; nothing was run.".to_owned(),
        causes: vec![
            Cause { name: "D1Error".to_owned(), message: "D1_ERROR: no such table".to_owned() },
            Cause { name: String::new(), message: "socket closed".to_owned() },
        ],
        surface: Some("execute".to_owned()),
        phase: None,
        runtime: Some("dynamic_worker".to_owned()),
        place: Some(Place { line: 3, column: 7 }),
        run: Some("run_1".to_owned()),
        correlation: Some("c0ffee".to_owned()),
    }
}

#[test]
fn an_event_tells_the_chain_the_place_and_where_it_was() {
    let frame = json!({
        "filename": "program", "function": "program", "in_app": true, "lineno": 3, "colno": 7,
    });
    assert_eq!(
        made(&report()),
        json!({
            "event_id": "9680658abdf7413ef2a746458761c60d",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "platform": "other",
            "level": "error",
            "logger": "holdfast",
            "environment": "preview",
            "release": "0123abc",
            "sdk": { "name": "holdfast", "version": env!("CARGO_PKG_VERSION") },
            "fingerprint": ["HF_E1701"],
            "tags": {
                "code": "HF_E1701", "kind": "storage_error", "surface": "execute",
                "runtime": "dynamic_worker", "run": "run_1", "correlation": "c0ffee",
            },
            "exception": { "values": [
                { "type": "Error", "value": "socket closed" },
                { "type": "D1Error", "value": "D1_ERROR: no such table" },
                {
                    "type": "storage_error",
                    "value": "The database could not be read or written; nothing was run.",
                    "mechanism": { "type": "holdfast", "handled": true },
                    "stacktrace": { "frames": [frame] },
                },
            ] },
        })
    );
}

#[test]
fn no_text_of_an_event_carries_a_secret() {
    let secret = "probe-secret and token=abcdef123 and https://u:p@h/";
    let text = secret.to_owned();
    let all = Report {
        code: text.clone(),
        kind: text.clone(),
        message: text.clone(),
        causes: vec![Cause { name: text.clone(), message: text.clone() }],
        surface: Some(text.clone()),
        phase: Some(text.clone()),
        runtime: Some(text.clone()),
        place: None,
        run: Some(text.clone()),
        correlation: Some(text),
    };
    let made = made(&all).to_string();
    for leaked in ["probe-secret", "abcdef123", "u:p"] {
        assert!(!made.contains(leaked), "{leaked} in {made}");
    }
}

#[test]
fn the_causes_of_a_timeout_are_not_told() {
    let timeout = Fault::create_timed_out(5_000).caused_by("D1 write failed");
    let made = made(&Report::from(&timeout));
    assert_eq!(made["exception"]["values"].as_array().map(Vec::len), Some(1));
    assert_eq!(made["tags"]["phase"], "create");
    assert!(!is_noise(made.to_string().as_bytes()), "a create timeout is a fault of ours");
    let budget = Fault::budget_spent(90_000).caused_by("anything");
    let event = event(&Report::from(&budget), &config(), &Redactor::default(), &id(), NOW);
    assert!(is_noise(event.as_bytes()), "a spent budget would not pass");
}

#[test]
fn a_fault_tells_what_it_knows_by_itself() {
    let fault = Fault::internal("c0ffee", "the row is not valid");
    let report = Report::from(&fault);
    assert_eq!((report.code.as_str(), report.kind.as_str()), ("HF_E1099", "internal_error"));
    assert_eq!(report.correlation.as_deref(), Some("c0ffee"));
    assert_eq!(
        report.causes,
        [Cause { name: "Cause".to_owned(), message: "the row is not valid".to_owned() }]
    );
}

#[test]
fn strings_stay_within_the_servers_limits() {
    let long = "ü".repeat(100_000);
    let all = Report {
        message: long.clone(),
        causes: vec![Cause { name: long.clone(), message: String::new() }; 50],
        surface: Some(format!("a\nb {long}")),
        ..report()
    };
    let made = made(&all);
    let values = made["exception"]["values"].as_array().unwrap();
    assert_eq!(values.len(), 9);
    assert_eq!(values[0]["value"], "(no message)", "an empty value would hide the event");
    assert!(values[0]["type"].as_str().unwrap().chars().count() <= 201);
    assert!(values[8]["value"].as_str().unwrap().chars().count() <= 8_001);
    let surface = made["tags"]["surface"].as_str().unwrap();
    assert!(surface.chars().count() <= 200 && surface.starts_with("a b "), "{surface}");
}

#[test]
fn our_own_envelopes_split_as_any_clients() {
    let made = event(&report(), &config(), &Redactor::default(), &id(), NOW);
    let envelope = envelope(&made, &id(), NOW);
    let mut splitter = Splitter::new();
    splitter.feed(envelope.as_bytes());
    assert_eq!(splitter.finish().unwrap().items, Ok(Items::Whole));
    let mut losses = Losses::none();
    losses.add(Reason::EventProcessor, Category::Error, 1);
    let mut splitter = Splitter::new();
    splitter.feed(losses.client_report(NOW).as_bytes());
    assert_eq!(splitter.finish().unwrap().items, Ok(Items::Whole));
}

#[test]
fn one_code_is_sent_a_few_times_a_minute_and_cannot_drown_another() {
    let mut outbox = Outbox::new();
    let sent = |outbox: &mut Outbox, code: &str, now| {
        (0..100).filter(|_| outbox.admit(code, now, 1.0, 0.5)).count()
    };
    assert_eq!(sent(&mut outbox, "a", NOW), 5);
    assert_eq!(sent(&mut outbox, "b", NOW), 5);
    for code in ["c", "d", "e", "f"] {
        assert_eq!(sent(&mut outbox, code, NOW), 5);
    }
    assert_eq!(sent(&mut outbox, "g", NOW), 0, "thirty in all");
    assert_eq!(sent(&mut outbox, "a", NOW + 59_999), 0);
    assert_eq!(sent(&mut outbox, "a", NOW + 60_000), 5);
    assert_eq!(sent(&mut outbox, "a", NOW), 5, "a clock set back closes nothing for ever");
    let report = outbox.take_report(NOW).unwrap().client_report(NOW);
    assert!(
        report.contains(r#""reason":"queue_overflow","category":"error","quantity":960}"#),
        "{report}"
    );
}

#[test]
fn sampling_and_limits_hold_events_back_and_are_counted() {
    let mut outbox = Outbox::new();
    assert!(outbox.admit("a", NOW, 0.25, 0.249));
    assert!(!outbox.admit("a", NOW, 0.25, 0.25));
    assert!(!outbox.admit("a", NOW, 0.0, 0.0));
    outbox.note(NOW, 200, Some("60:error:key"), None);
    assert!(!outbox.admit("a", NOW + 59_999, 1.0, 0.0));
    assert!(outbox.admit("a", NOW + 60_000, 1.0, 0.0));
    let report = outbox.take_report(NOW).unwrap().client_report(NOW);
    assert!(
        report.contains(r#""reason":"sample_rate","category":"error","quantity":2}"#),
        "{report}"
    );
    assert!(
        report.contains(r#""reason":"ratelimit_backoff","category":"error","quantity":1}"#),
        "{report}"
    );
}

#[test]
fn one_report_is_on_its_way_at_a_time_and_a_dead_one_is_given_up() {
    let mut losses = Losses::none();
    losses.add(Reason::EventProcessor, Category::Error, 1);
    let mut outbox = Outbox::new();
    assert_eq!(outbox.take_report(NOW), None, "nothing to report");
    outbox.count(&losses);
    assert!(outbox.take_report(NOW).is_some());
    outbox.count(&losses);
    outbox.count(&losses);
    assert_eq!(outbox.take_report(NOW), None, "one is on its way");
    outbox.end_report();
    let next = outbox.take_report(NOW).unwrap().client_report(NOW);
    assert!(next.contains(r#""quantity":2}"#), "what came together meanwhile: {next}");
    outbox.count(&losses);
    assert_eq!(outbox.take_report(NOW + 14_999), None);
    assert!(outbox.take_report(NOW + 15_000).is_some(), "its request was killed");
    outbox.end_report();
    outbox.count(&losses);
    outbox.note(NOW, 429, None, Some(5_000));
    assert_eq!(outbox.take_report(NOW), None, "the server wants a pause");
    assert!(outbox.take_report(NOW + 5_000).is_some());
}
