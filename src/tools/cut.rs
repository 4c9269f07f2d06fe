//! Answers that are too large, cut by one rule: what stands first is kept, as far as there is room, and closed
//! to be a value again; what stands behind is left out. Pure.
//!
//! A list ends with its last whole item, the outermost list that can; where that would leave out more than half
//! of the room, and where there is no list, a text ends where the room does, and an object with what it has
//! until there. Nothing is parsed: the beginning of an answer is enough.

use super::exchange::{Response, is_json, is_text};
use std::fmt::Write as _;

/// Levels of lists and objects; more is no value of ours.
const MAX_DEPTH: usize = 128;

/// The beginning of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// A value again.
    pub value: String,
    /// Where it ends, as a path in it: `items[120].name`; empty where it is one text.
    pub at: String,
}

struct Level<'a> {
    is_list: bool,
    /// Parts before the one that is read, and where the last of them ends.
    parts: usize,
    whole: usize,
    key: &'a str,
    wants_key: bool,
}

/// The beginning of a JSON text, of at most `room` bytes; of what is none, some text. `None` where there is
/// no room for any of it.
#[must_use]
pub fn json(text: &str, room: usize) -> Option<Beginning> {
    let bytes = text.as_bytes();
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut safe = 0_usize;
    let mut quote = false;
    let mut at = 0_usize;
    // What closes the levels, and a text, has to find room, too.
    while let Some(byte) = bytes.get(at)
        && at.saturating_add(levels.len()).saturating_add(2) < room
        && levels.len() <= MAX_DEPTH
    {
        let left = room.saturating_sub(levels.len().saturating_add(2));
        at = at.saturating_add(1);
        match byte {
            b'{' | b'[' => {
                let is_list = *byte == b'[';
                levels.push(Level { is_list, parts: 0, whole: 0, key: "", wants_key: !is_list });
                safe = at;
            }
            b'}' | b']' => {
                levels.pop();
                safe = at;
            }
            b',' => {
                if let Some(level) = levels.last_mut() {
                    level.parts = level.parts.saturating_add(1);
                    level.whole = safe;
                    level.wants_key = !level.is_list;
                }
            }
            b'"' => {
                let (end, whole) = end_of_text(bytes, at, left);
                match levels.last_mut() {
                    Some(level) if level.wants_key => {
                        level.wants_key = false;
                        level.key = text.get(at..end).filter(|_| whole).unwrap_or_default();
                    }
                    _ => {
                        safe = end;
                        quote = !whole;
                    }
                }
                if !whole {
                    break;
                }
                at = end.saturating_add(1);
                if safe == end {
                    safe = at;
                }
            }
            b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => {
                let rest = bytes.get(at..).unwrap_or_default();
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let Some(length) = rest.iter().position(ends) else { break };
                at = at.saturating_add(length);
                if at > left {
                    break;
                }
                safe = at;
            }
        }
    }
    let half = safe.div_euclid(2);
    let whole = |level: &Level<'_>| level.is_list && level.parts > 0 && level.whole > half;
    if let Some(place) = levels.iter().position(whole) {
        levels.truncate(place.saturating_add(1));
        safe = levels.last().map_or(safe, |level| level.whole);
        quote = false;
    }
    let kept = text.get(..safe).filter(|kept| !kept.is_empty())?;
    let mut value = kept.to_owned();
    if quote {
        value.push('"');
    }
    value.extend(levels.iter().rev().map(|level| if level.is_list { ']' } else { '}' }));
    Some(Beginning { value, at: path(&levels) })
}

/// The beginning of a body of JSON or of text, of which more was not read than `response` has; `None` of any
/// other, or where there is no room for any of it.
#[must_use]
pub fn body(response: &Response<'_>, room: usize) -> Option<Beginning> {
    let text = match std::str::from_utf8(response.body) {
        Ok(text) => text,
        // The last character may not be there whole.
        Err(error) if error.error_len().is_none() => {
            let whole = response.body.get(..error.valid_up_to())?;
            std::str::from_utf8(whole).ok()?
        }
        Err(_) => return None,
    };
    let media = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let media = media.split(';').next().unwrap_or_default().trim();
    if is_json(media) {
        return json(text.trim_start_matches('\u{feff}'), room);
    }
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let value = text.get(..end)?.to_owned();
    is_text(media).then(|| Beginning { value, at: String::new() })
}

/// Where a text that began at `from` ends, or where it has to end before `most`; and whether it is whole. No escape
/// and no character is split.
fn end_of_text(bytes: &[u8], from: usize, most: usize) -> (usize, bool) {
    let mut at = from;
    let mut safe = from;
    while let Some(byte) = bytes.get(at)
        && at < most
    {
        match byte {
            b'"' => return (at, true),
            b'\\' => {
                let is_unit = bytes.get(at.saturating_add(1)) == Some(&b'u');
                let high = is_unit && matches!(bytes.get(at.saturating_add(2)), Some(b'd' | b'D'));
                let high = high
                    && matches!(
                        bytes.get(at.saturating_add(3)),
                        Some(b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B')
                    );
                at = at.saturating_add(if high {
                    12
                } else if is_unit {
                    6
                } else {
                    2
                });
            }
            _ => {
                at = at.saturating_add(1);
                while bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    at = at.saturating_add(1);
                }
            }
        }
        if at <= most && at <= bytes.len() {
            safe = at;
        }
    }
    (safe, false)
}

fn path(levels: &[Level<'_>]) -> String {
    let mut path = String::new();
    for level in levels {
        if level.is_list {
            let _ = write!(path, "[{}]", level.parts);
        } else if !level.key.is_empty() {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(level.key);
        }
    }
    path
}

/// The warning that an answer was cut.
#[must_use]
pub fn warning(path: &str, at: &str, limit: u64) -> String {
    let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
    format!(
        "{path}: its answer is over {limit} bytes (answerBytes) and was cut{place}: what stood behind is left \
         out. Ask for less at a time: a page, a filter, fewer fields."
    )
}

#[cfg(test)]
mod tests {
    //! What is cut is a value again, within its room, and begins as the whole.

    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json as value};

    fn cut(text: &str, room: usize) -> (Value, String) {
        let Beginning { value, at } = json(text, room).unwrap();
        assert!(value.len() <= room, "{value}");
        (serde_json::from_str(&value).unwrap_or_else(|error| panic!("{value}: {error}")), at)
    }

    #[test]
    fn what_stands_first_is_kept() {
        let text = r#"{"total":4,"items":[{"id":1,"name":"one"},{"id":2,"name":"two"},{"id":3}],"next":"x"}"#;
        let (kept, at) = cut(text, 60);
        assert_eq!(kept, value!({ "total": 4, "items": [{ "id": 1, "name": "one" }] }));
        assert_eq!(at, "items[1]");
        let (kept, at) = cut(text, 72);
        assert_eq!(kept["items"][1], value!({ "id": 2, "name": "two" }));
        assert_eq!(at, "items[2]");
        let uneven = r#"[{"a":1},{"list":[1,2,3,4,5,6,7,8,9,0]}]"#;
        let (kept, at) = cut(uneven, 34);
        assert_eq!(kept, value!([{ "a": 1 }, { "list": [1, 2, 3, 4, 5] }]));
        assert_eq!(at, "[1].list[5]");
        assert_eq!(cut("[1,23456789,3]", 10).0, value!([1]));
        assert_eq!(cut(r#""a long text""#, 9), (value!("a long"), String::new()));
        assert_eq!(cut(r#"["\u00e9\ud83d\ude00\\ü"]"#, 20).0, value!(["é"]));
        assert_eq!(
            cut(r#"[{"a":{"b":"cccccccccc"}}]"#, 20),
            (value!([{ "a": { "b": "ccc" } }]), "[0].a.b".into())
        );
        assert_eq!(json("123456", 4), None);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[\"\\\\\n\u{1}é😀]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"]{0,4}", inner, 0..6)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    /// Whether `part` is what stands first in `whole`.
    fn begins(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len()
                    && part.iter().zip(whole).all(|(part, whole)| begins(part, whole))
            }
            (Value::Object(part), Value::Object(whole)) => part
                .iter()
                .all(|(key, part)| whole.get(key).is_some_and(|whole| begins(part, whole))),
            (part, whole) => part == whole,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_beginning_is_a_value(whole in any_value(), room in 0_usize..120) {
            let text = whole.to_string();
            if let Some(Beginning { value, .. }) = json(&text, room) {
                prop_assert!(value.len() <= room, "{value}");
                let part: Value = serde_json::from_str(&value).map_err(|error| TestCaseError::fail(format!("{value}: {error}")))?;
                prop_assert!(begins(&part, &whole), "{value} of {text}");
            }
        }

        #[test]
        fn anything_is_survived(text in "[\\[\\]{}\",:0-9a-z\\\\ud8 é]{0,40}", room in 0_usize..60) {
            if let Some(Beginning { value, .. }) = json(&text, room) {
                prop_assert!(value.len() <= room);
            }
        }
    }
}
