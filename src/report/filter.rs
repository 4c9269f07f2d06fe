//! Which events are noise: the ones that say nothing but "a sandbox used up its budget".
//!
//! Such an ending is the program's affair: the caller is told, the run is stored, nobody needs
//! an alert. Anything else is a fault until someone looked at it. Two rules settle every doubt:
//! a real fault must always arrive, some noise may; and what is not understood is kept.
//!
//! An event is noise when it carries at least one message and **every** message it carries is a
//! timeout text. Messages are what `logentry`, `message` and each entry of `exception` say, in
//! every shape that SDKs send and servers accept:
//!
//! - `logentry`, `message`: a string, or an object with `formatted`, or with a template
//!   `message` and its `params`. Both are read; neither hides the other.
//! - `exception`: a list, an object with a list `values`, or one bare object. Each entry must
//!   have a `value`; its `type` says nothing here.
//! - `null`, the empty string and the empty list carry nothing.
//!
//! "Any" timeout text in place of "every" would lose a wrapper around a timeout, "the last one"
//! would lose a failed write that caused a timeout.
//!
//! The payload is read once as borrowed slices of its JSON and only what may be a message is
//! decoded. This module knows nothing of envelopes, and does not say who drops what.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Text, Unreadable, first_byte, object, present, string};
use crate::error::message::is_bare_timeout;

/// Whether the event in `payload` says nothing but that a sandbox used up its budget.
///
/// `payload` is the JSON of one event item. What is not a JSON object, or is not shaped as
/// described above, is not noise.
#[must_use]
pub fn is_noise(payload: &[u8]) -> bool {
    std::str::from_utf8(payload).is_ok_and(|json| messages(json).is_ok_and(|m| all_timeouts(&m)))
}

/// The `event_id` that the event in `payload` names for itself, if it is a UUID.
#[must_use]
pub fn event_id(payload: &[u8]) -> Option<EventId> {
    let json = std::str::from_utf8(payload).ok()?;
    let event: Event<'_> = object(json).ok()?;
    EventId::parse(&string(event.id?)?)
}

/// The id of an event: 32 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventId(String);

impl EventId {
    /// Reads 32 hex digits, or the 36 characters of a UUID with dashes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let dashed = text.len() == 36;
        let mut digits = String::with_capacity(32);
        for (place, byte) in text.bytes().enumerate() {
            if dashed && matches!(place, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return None;
                }
            } else if byte.is_ascii_hexdigit() {
                digits.push(char::from(byte.to_ascii_lowercase()));
            } else {
                return None;
            }
        }
        (digits.len() == 32).then_some(Self(digits))
    }

    /// The 32 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn all_timeouts(messages: &[Cow<'_, str>]) -> bool {
    !messages.is_empty() && messages.iter().all(|message| is_bare_timeout(message))
}

/// The parts of an event that are read.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "event_id")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    logentry: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    exception: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LogEntry<'a> {
    #[serde(borrow)]
    formatted: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// One entry of an exception list, or the object around the list.
#[derive(Deserialize)]
struct Exception<'a> {
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    /// `Some` for a `null` as well: an object with `values` is never an entry itself.
    #[serde(borrow, default, deserialize_with = "present")]
    values: Option<&'a RawValue>,
}

fn messages(json: &str) -> Result<Vec<Cow<'_, str>>, Unreadable> {
    let event: Event<'_> = object(json)?;
    let mut messages = Vec::new();
    for entry in [event.logentry, event.message].into_iter().flatten() {
        messages.extend(log_message(entry.get())?);
    }
    if let Some(exception) = event.exception {
        exception_messages(exception.get(), &mut messages)?;
    }
    Ok(messages)
}

fn log_message(json: &str) -> Result<Option<Cow<'_, str>>, Unreadable> {
    match first_byte(json) {
        Some(b'"') => {
            let Text(message) = serde_json::from_str(json)?;
            Ok(Some(message).filter(|message| !message.is_empty()))
        }
        Some(b'{') => {
            let entry: LogEntry<'_> = serde_json::from_str(json)?;
            if let Some(Text(formatted)) = entry.formatted.filter(|text| !text.0.is_empty()) {
                return Ok(Some(formatted));
            }
            let Some(Text(template)) = entry.message.filter(|text| !text.0.is_empty()) else {
                return Ok(None);
            };
            render(template, entry.params.map(RawValue::get)).map(Some)
        }
        Some(b'[') if is_empty_list(json) => Ok(None),
        _ => Err(Unreadable),
    }
}

fn exception_messages<'a>(
    json: &'a str,
    messages: &mut Vec<Cow<'a, str>>,
) -> Result<(), Unreadable> {
    match first_byte(json) {
        Some(b'[') => entries(json, messages),
        Some(b'"') if json == r#""""# => Ok(()),
        Some(b'{') => {
            let exception: Exception<'_> = serde_json::from_str(json)?;
            match exception.values.map(RawValue::get) {
                None => entry(json, messages),
                Some("null" | r#""""#) if exception.value.is_none() => Ok(()),
                Some(list) if first_byte(list) == Some(b'[') => entries(list, messages),
                Some(_) => Err(Unreadable),
            }
        }
        _ => Err(Unreadable),
    }
}

fn entries<'a>(json: &'a str, messages: &mut Vec<Cow<'a, str>>) -> Result<(), Unreadable> {
    let entries: Vec<&'a RawValue> = serde_json::from_str(json)?;
    entries.into_iter().try_for_each(|raw| entry(raw.get(), messages))
}

fn entry<'a>(json: &'a str, messages: &mut Vec<Cow<'a, str>>) -> Result<(), Unreadable> {
    let Exception { value: Some(value), .. } = object(json)? else {
        return Err(Unreadable);
    };
    let Text(value) = serde_json::from_str(value.get())?;
    if value.is_empty() {
        return Err(Unreadable);
    }
    messages.push(value);
    Ok(())
}

fn is_empty_list(json: &str) -> bool {
    serde_json::from_str::<Vec<&RawValue>>(json).is_ok_and(|list| list.is_empty())
}

/// A template with its parameters filled in, as the server would show it.
///
/// `%s`, `%d`, `%i` and `%%` where the template has a `%`, else `{}`. Numbered and named
/// placeholders are not filled in.
fn render<'a>(template: Cow<'a, str>, params: Option<&str>) -> Result<Cow<'a, str>, Unreadable> {
    let params: Vec<&RawValue> = match params.map(|json| (first_byte(json), json)) {
        Some((Some(b'['), json)) => serde_json::from_str(json)?,
        None | Some((_, r#""""#)) => return Ok(template),
        Some((Some(b'{'), json)) if is_empty_object(json) => return Ok(template),
        Some(_) => return Err(Unreadable),
    };
    if params.is_empty() {
        return Ok(template);
    }
    let mut params = params.into_iter();
    let mut rendered = String::with_capacity(template.len());
    let with_percent = template.contains('%');
    let mut rest = template.chars();
    while let Some(character) = rest.next() {
        match character {
            '%' => match rest.next() {
                Some('%') => rendered.push('%'),
                Some('s' | 'd' | 'i') => param(params.next(), &mut rendered)?,
                _ => return Err(Unreadable),
            },
            '{' if !with_percent => match rest.next() {
                Some('}') => param(params.next(), &mut rendered)?,
                _ => return Err(Unreadable),
            },
            other => rendered.push(other),
        }
    }
    Ok(Cow::Owned(rendered))
}

fn is_empty_object(json: &str) -> bool {
    json.bytes().all(|byte| matches!(byte, b'{' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))
}

fn param(param: Option<&RawValue>, rendered: &mut String) -> Result<(), Unreadable> {
    let json = param.ok_or(Unreadable)?.get();
    match first_byte(json) {
        Some(b'"') => {
            let Text(text) = serde_json::from_str(json)?;
            rendered.push_str(&text);
        }
        // Numbers and booleans as they are written: `1e3` stays `1e3`, which is no budget.
        Some(b'-' | b'0'..=b'9' | b't' | b'f') => rendered.push_str(json),
        _ => return Err(Unreadable),
    }
    Ok(())
}
