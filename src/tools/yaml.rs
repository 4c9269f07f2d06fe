//! YAML 1.2 as JSON: its core schema and merge keys. Pure.
//!
//! An alias is what it stands for, copied. Copies count: a document of a few lines that would unfold
//! to billions of values is refused at [`MAX_VALUES`].

use super::import::Unreadable;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// Values of a document, copies included.
const MAX_VALUES: usize = 2_000_000;

/// Bytes of texts that aliases copy.
const MAX_COPIED_BYTES: usize = 16_777_216;

/// Levels; JSON is read to as many.
const MAX_DEPTH: usize = 128;

/// Reads the first document of a text.
///
/// # Errors
///
/// [`Unreadable`] with the line where it is no YAML, has a key that is no text, or is too large.
pub fn read(text: &str) -> Result<Value, Unreadable> {
    let mut reading =
        Reading { anchors: HashMap::new(), open: Vec::new(), values: 0, copied: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let why = error.to_string();
            let why = why.split(" at char").next().unwrap_or_default();
            refused(*error.marker(), &format!("is not YAML: {why}"))
        })?;
        match event {
            Event::DocumentEnd if reading.root.is_some() => break,
            event => reading.event(event, span.start)?,
        }
    }
    Ok(reading.root.unwrap_or(Value::Null))
}

fn refused(at: Marker, why: &str) -> Unreadable {
    let column = at.col().saturating_add(1);
    Unreadable { at: Some(format!("line {}, column {column}", at.line())), why: why.to_owned() }
}

/// A list or an object that is not yet at its end.
enum Open {
    List(Vec<Value>, usize),
    Object { members: Map<String, Value>, merged: Vec<Value>, key: Option<String>, anchor: usize },
}

/// What an anchor stands for, and how much that is.
struct Anchored {
    value: Value,
    size: usize,
    bytes: usize,
}

struct Reading {
    anchors: HashMap<usize, Anchored>,
    open: Vec<Open>,
    values: usize,
    copied: usize,
    root: Option<Value>,
}

impl Reading {
    fn event(&mut self, event: Event<'_>, at: Marker) -> Result<(), Unreadable> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.count(1, at)?;
                // A key is what is written, whatever it would be as a value.
                self.put(value, Some(&text), anchor, at)
            }
            Event::SequenceStart(anchor, _) => self.enter(Open::List(Vec::new(), anchor), at),
            Event::MappingStart(anchor, _) => {
                let (members, merged) = (Map::new(), Vec::new());
                self.enter(Open::Object { members, merged, key: None, anchor }, at)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(items, anchor)) => self.put(Value::Array(items), None, anchor, at),
                Some(Open::Object { mut members, merged, anchor, .. }) => {
                    for other in merged {
                        merge(&mut members, other);
                    }
                    self.put(Value::Object(members), None, anchor, at)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(Anchored { value, size, bytes }) = self.anchors.get(&anchor) else {
                    return Err(refused(at, "refers to an anchor that is not before it"));
                };
                // Counted before it is copied.
                let values = self.values.saturating_add(*size);
                self.copied = self.copied.saturating_add(*bytes);
                if values > MAX_VALUES || self.copied > MAX_COPIED_BYTES {
                    return Err(refused(at, "has aliases that unfold to far too much"));
                }
                self.values = values;
                let value = value.clone();
                self.put(value, None, 0, at)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, values: usize, at: Marker) -> Result<(), Unreadable> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return Err(refused(at, &format!("has over {MAX_VALUES} values")));
        }
        Ok(())
    }

    fn enter(&mut self, open: Open, at: Marker) -> Result<(), Unreadable> {
        self.count(1, at)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(refused(at, &format!("is nested in over {MAX_DEPTH} levels")));
        }
        self.open.push(open);
        Ok(())
    }

    fn put(
        &mut self,
        value: Value,
        text: Option<&str>,
        anchor: usize,
        at: Marker,
    ) -> Result<(), Unreadable> {
        let collection = matches!(value, Value::Array(_) | Value::Object(_));
        if anchor > 0 || (collection && !self.anchors.is_empty()) {
            // An alias can put what is deep into what is deep.
            let (size, bytes, depth) = extent(&value);
            if depth.saturating_add(self.open.len()) > MAX_DEPTH {
                return Err(refused(at, &format!("is nested in over {MAX_DEPTH} levels")));
            }
            if anchor > 0 {
                self.count(size, at)?;
                self.anchors.insert(anchor, Anchored { value: value.clone(), size, bytes });
            }
        }
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(items, _)) => items.push(value),
            Some(Open::Object { members, merged, key, .. }) => match key.take() {
                Some(key) if key == "<<" => match value {
                    Value::Array(all) => merged.extend(all),
                    one => merged.push(one),
                },
                Some(key) => {
                    members.insert(key, value);
                }
                None => {
                    let own = match (text, value) {
                        (Some(text), _) => text.to_owned(),
                        (None, Value::String(text)) => text,
                        (None, Value::Number(number)) => number.to_string(),
                        _ => return Err(refused(at, "has a key that is no text")),
                    };
                    *key = Some(own);
                }
            },
        }
        Ok(())
    }
}

/// Values, bytes of text, and levels of a value.
fn extent(value: &Value) -> (usize, usize, usize) {
    let add = |(size, bytes, depth): (usize, usize, usize), other: &Value| {
        let (more, text, levels) = extent(other);
        (size.saturating_add(more), bytes.saturating_add(text), usize::max(depth, levels))
    };
    match value {
        Value::String(text) => (1, text.len(), 0),
        Value::Array(items) => {
            let (size, bytes, depth) = items.iter().fold((1, 0, 0), add);
            (size, bytes, depth.saturating_add(1))
        }
        Value::Object(members) => {
            let names = members.keys().map(String::len).sum();
            let (size, bytes, depth) = members.values().fold((1, names, 0), add);
            (size, bytes, depth.saturating_add(1))
        }
        _ => (1, 0, 0),
    }
}

/// Members that are not there yet.
fn merge(members: &mut Map<String, Value>, other: Value) {
    if let Value::Object(others) = other {
        for (name, value) in others {
            members.entry(name).or_insert(value);
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let tag = tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str());
    if style != ScalarStyle::Plain || tag == Some("str") {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    let unsigned = text.trim_start_matches(['-', '+']);
    if text.len().saturating_sub(unsigned.len()) > 1 {
        return None;
    }
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Number::from);
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let digits = unsigned.strip_prefix('.').unwrap_or(unsigned);
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        || !unsigned.chars().all(|c| matches!(c, '0'..='9' | '.' | 'e' | 'E' | '-' | '+'))
    {
        return None;
    }
    let plain: Cow<'_, str> = match text.strip_prefix('+') {
        Some(rest) => rest.into(),
        None => text.into(),
    };
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = plain.parse::<u64>() {
        return Some(whole.into());
    }
    Number::from_f64(plain.parse().ok()?)
}

#[cfg(test)]
mod tests {
    //! What is YAML is read, and nothing unfolds without end.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::fmt::Write as _;

    #[test]
    fn a_document_is_read() {
        let cases = [
            ("a: 1\nb: [x, 'y', \"z\"]", json!({"a": 1, "b": ["x", "y", "z"]})),
            ("200: ok\ntrue: yes\n~: n", json!({"200": "ok", "true": "yes", "~": "n"})),
            ("a: ~\nb:\nc: null\nd: ''", json!({"a": null, "b": null, "c": null, "d": ""})),
            (
                "[1, -2, +3, 0x1F, 0o17, 1.5, 1e3, .5, 1.2.3, 1-2, 012, 18446744073709551615]",
                json!([
                    1,
                    -2,
                    3,
                    31,
                    15,
                    1.5,
                    1000.0,
                    0.5,
                    "1.2.3",
                    "1-2",
                    12,
                    18_446_744_073_709_551_615_u64
                ]),
            ),
            (
                "- !!str 1\n- '1'\n- no\n- on\n- 2020-01-01",
                json!(["1", "1", "no", "on", "2020-01-01"]),
            ),
            ("a: |\n  x\n  y\nb: >-\n  x\n  y", json!({"a": "x\ny\n", "b": "x y"})),
            (
                "a: &x {b: 1}\nc: *x\nd: {<<: *x, b: 2, e: 3}",
                json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 2, "e": 3}}),
            ),
            ("a: 1\n---\nb: 2", json!({"a": 1})),
            ("{\"a\": [1, {\"b\": null}]}", json!({"a": [1, {"b": null}]})),
            ("", json!(null)),
            ("# only a comment", json!(null)),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).unwrap_or_else(|e| panic!("{text}: {e}")), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_document_is_refused_with_its_line() {
        let mut laughs = "a0: &a0 [x]\n".to_owned();
        for i in 1..40 {
            let last = i - 1;
            let copies = vec![format!("*a{last}"); 9].join(", ");
            let _ = writeln!(laughs, "a{i}: &a{i} [{copies}]");
        }
        let long = format!("a: &a [{}]\nb: [{}]", "x".repeat(1_000_000), "*a, ".repeat(100_000));
        let deep = "[".repeat(100_000);
        let mut nested = "a0: &a0 [x]\n".to_owned();
        for i in 1..200 {
            let _ = writeln!(nested, "a{i}: &a{i} [*a{}]", i - 1);
        }
        let cases = [
            ("a: [1", "line 2, column 1: is not YAML"),
            ("a: b: c", "line 1, column 5: is not YAML"),
            ("? [1]\n: 2", "line 1, column 5: has a key that is no text"),
            (&laughs, "has over 2000000 values"),
            (&long, "unfold to far too much"),
            (&deep, "recursion limit exceeded"),
            (&nested, "is nested in over 128 levels"),
        ];
        for (text, why) in cases {
            let told = read(text).unwrap_err().to_string();
            assert!(told.contains(why), "{}: {told}", text.get(..20).unwrap_or(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}:,\\-?!&*|>'\"%@a-c0-2 \n\t#~<.]{0,40}") {
            let _ = read(&text);
        }

        #[test]
        fn json_is_yaml(names in prop::collection::btree_map("[a-z]{1,4}", "[ -~é\n]{0,12}", 0..6)) {
            let value = json!(names);
            prop_assert_eq!(read(&value.to_string()).unwrap(), value);
        }
    }
}
