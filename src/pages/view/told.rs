//! Reading what HTTP tells of something, for the pages that show the same.

use serde_json::Value;

/// A text of it; empty when there is none.
#[must_use]
pub fn word<'a>(told: &'a Value, name: &str) -> &'a str {
    told.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number of it.
#[must_use]
pub fn number(told: &Value, name: &str) -> Option<u64> {
    told.get(name).and_then(Value::as_u64)
}

/// A part of it that is not null.
#[must_use]
pub fn part<'a>(told: &'a Value, name: &str) -> Option<&'a Value> {
    told.get(name).filter(|part| !part.is_null())
}

/// A list of it; empty when there is none.
#[must_use]
pub fn list<'a>(told: &'a Value, name: &str) -> &'a [Value] {
    told.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
