//! An event: one error of ours as Sentry reads it.
//!
//! It carries what was thrown and why, where the program stood, and tags to find it by. It
//! carries no source, no arguments and no secrets: every text passes the redactor, here and
//! nowhere else on the way to Sentry. It is shaped so that the server's normaliser has nothing
//! to correct: ids in lower-case hex, exceptions oldest first, every string within the limits.
//!
//! Grouping is by code: one situation of the catalogue is one issue.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::config::SentryConfig;
use super::filter::EventId;
use super::losses::{SDK_NAME, SDK_VERSION, iso_time};
use super::redact::Redactor;
use crate::error::Fault;

/// An error of ours, as its finder tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The catalogue's code, `HF_E1099`.
    pub code: String,
    /// Its kind, `internal_error`.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// What was underneath, the nearest first. Not looked at for a timeout: what caused one of
    /// ours stays in the record.
    pub causes: Vec<Cause>,
    /// Where the run came from: `execute`, `invocation`, `workflow`.
    pub surface: Option<String>,
    /// Which stretch of the run it was, where the error has one.
    pub phase: Option<String>,
    /// What held the program: `dynamic_worker`, `interpreter`.
    pub runtime: Option<String>,
    /// Where the program stood.
    pub place: Option<Place>,
    /// The run.
    pub run: Option<String>,
    /// The only thing that the caller was told of the cause.
    pub correlation: Option<String>,
}

impl From<&Fault> for Report {
    /// What a fault tells by itself. Surface, runtime, run and place are the caller's to add.
    fn from(fault: &Fault) -> Self {
        let entry = fault.code.entry();
        let detail = |name| fault.details.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            code: entry.code.to_owned(),
            kind: entry.kind.word(),
            message: fault.message.clone(),
            causes: fault
                .cause
                .iter()
                .map(|cause| Cause { name: "Cause".to_owned(), message: cause.clone() })
                .collect(),
            phase: detail("phase"),
            correlation: detail("correlationId"),
            ..Self::default()
        }
    }
}

/// An error underneath another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Its type, such as `D1Error`.
    pub name: String,
    /// Its message.
    pub message: String,
}

/// A place in the program, in the author's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// Most characters of a message; the server cuts at 8192.
const MAX_MESSAGE_CHARS: usize = 8_000;

/// Most characters of a tag's value; the server drops a longer one.
const MAX_TAG_CHARS: usize = 200;

/// Most errors of a chain.
const MAX_CAUSES: usize = 8;

/// The kind whose causes are not told.
const TIMED_OUT: &str = "timed_out";

#[derive(Serialize)]
struct Exception {
    #[serde(rename = "type")]
    kind: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mechanism: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacktrace: Option<Value>,
}

/// The event's JSON.
#[must_use]
pub fn event(
    report: &Report,
    config: &SentryConfig,
    redactor: &Redactor,
    id: &EventId,
    now_ms: u64,
) -> String {
    let clean = |text: &str, chars| cut(&redactor.text(text), chars);
    // An empty text would make the server, and our filter, read another event than this one.
    let value = |text: &str| {
        let text = clean(text, MAX_MESSAGE_CHARS);
        if text.is_empty() { "(no message)".to_owned() } else { text }
    };
    let causes = if report.kind == TIMED_OUT { &[] } else { report.causes.as_slice() };
    let mut chain: Vec<Exception> = causes
        .iter()
        .take(MAX_CAUSES)
        .map(|cause| Exception {
            kind: clean(if cause.name.is_empty() { "Error" } else { &cause.name }, MAX_TAG_CHARS),
            value: value(&cause.message),
            mechanism: None,
            stacktrace: None,
        })
        .collect();
    chain.reverse();
    chain.push(Exception {
        kind: clean(&report.kind, MAX_TAG_CHARS),
        value: value(&report.message),
        mechanism: Some(json!({ "type": SDK_NAME, "handled": true })),
        stacktrace: report.place.map(|place| {
            json!({ "frames": [{
                "filename": "program", "function": "program", "in_app": true,
                "lineno": place.line, "colno": place.column,
            }] })
        }),
    });
    let mut tags = Map::new();
    let named = [
        ("code", Some(&report.code)),
        ("kind", Some(&report.kind)),
        ("surface", report.surface.as_ref()),
        ("phase", report.phase.as_ref()),
        ("runtime", report.runtime.as_ref()),
        ("run", report.run.as_ref()),
        ("correlation", report.correlation.as_ref()),
    ];
    for (name, text) in named {
        if let Some(text) =
            text.map(|text| tag(&clean(text, MAX_TAG_CHARS))).filter(|t| !t.is_empty())
        {
            tags.insert(name.to_owned(), Value::String(text));
        }
    }
    let mut event = json!({
        "event_id": id.as_str(),
        "timestamp": iso_time(now_ms),
        "platform": "other",
        "level": "error",
        "logger": SDK_NAME,
        "environment": config.environment,
        "sdk": { "name": SDK_NAME, "version": SDK_VERSION },
        "fingerprint": [clean(&report.code, MAX_TAG_CHARS)],
        "tags": tags,
        "exception": { "values": chain },
    });
    if let Some(fields) = event.as_object_mut().filter(|_| !config.release.is_empty()) {
        fields.insert("release".to_owned(), Value::String(config.release.clone()));
    }
    event.to_string()
}

/// An envelope around one event.
#[must_use]
pub fn envelope(event: &str, id: &EventId, now_ms: u64) -> String {
    format!(
        "{{\"event_id\":\"{}\",\"sent_at\":\"{}\",\"sdk\":{{\"name\":\"{SDK_NAME}\",\"version\":\"{SDK_VERSION}\"}}}}\n\
         {{\"type\":\"event\",\"length\":{}}}\n{event}\n",
        id.as_str(),
        iso_time(now_ms),
        event.len(),
    )
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// A tag's value: one line, not blank at its ends.
fn tag(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().chars().take(MAX_TAG_CHARS).collect()
}
