//! The canonical form of a request: two that ask for the same have the same, however their JSON is
//! written.

use serde_json::value::RawValue;
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The largest whole number that JavaScript reads exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// SHA-256 of the canonical JSON of `request`, hex.
#[must_use]
pub fn hash(request: &Value) -> String {
    crate::hex::encode(&Sha256::digest(canonical(request).as_bytes()))
}

/// The canonical JSON of a value: equal values have equal texts.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

/// A part of a request that is kept as text. What is nested too deeply to be read counts as the
/// text that it is.
#[must_use]
pub fn part(raw: Option<&RawValue>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().into())
}

/// Keys in the order of their bytes, no white space, members that are `null` at the top left to the
/// caller, numbers as JavaScript reads them: `1.0` is `1`.
fn write(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_bytes());
            out.push('{');
            for (i, (name, member)) in members.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(name.as_str()));
                write(out, member);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Number(number) => number_text(out, number),
        Value::Null | Value::Bool(_) | Value::String(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn number_text(out: &mut String, number: &Number) {
    let float = number.as_f64().unwrap_or(f64::NAN);
    let _ = if float.fract() == 0.0 && float.abs() <= MAX_SAFE {
        // `+ 0.0` makes one of the two zeros.
        write!(out, "{:.0}", float + 0.0)
    } else {
        // Beyond it whole numbers are read as floats, too.
        write!(out, "{float:e}")
    };
}

#[cfg(test)]
mod tests {
    //! The same request has the same hash, another one has not.

    use super::*;

    fn of(text: &str) -> String {
        hash(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn how_json_is_written_does_not_matter() {
        for (a, b) in [
            (r#"{"a":1,"b":[1,2]}"#, " { \"b\" : [1 ,2], \"a\":1 } "),
            (r#"{"a":1.0}"#, r#"{"a":1}"#),
            (r#"{"a":1e2}"#, r#"{"a":100}"#),
            (r#"{"a":-0.0}"#, r#"{"a":0}"#),
            (r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#),
            (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#),
            (r#"{"a":0,"a":1}"#, r#"{"a":1}"#),
        ] {
            assert_eq!(of(a), of(b), "{a} {b}");
        }
    }

    #[test]
    fn what_json_says_does() {
        for (a, b) in [
            (r#"{"a":1}"#, r#"{"a":"1"}"#),
            (r#"{"a":1}"#, r#"{"a":1.5}"#),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[[1,2]]"),
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":"b\",\"c\":\"d"}"#, r#"{"a":"b","c":"d"}"#),
            (r#"{"a":1e300}"#, r#"{"a":1e301}"#),
        ] {
            assert_ne!(of(a), of(b), "{a} {b}");
        }
    }

    #[test]
    fn the_hash_is_sha_256_of_the_text() {
        assert_eq!(of("{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }

    #[test]
    fn what_is_too_deep_to_read_is_compared_as_text() {
        let deep = |leaf: &str| {
            let text = format!("{}{leaf}{}", "[".repeat(500), "]".repeat(500));
            hash(&part(Some(&RawValue::from_string(text).unwrap())))
        };
        assert_eq!(deep("1"), deep("1"));
        assert_ne!(deep("1"), deep("2"));
    }
}
