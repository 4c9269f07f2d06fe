//! A document, and where its references lead: never outside of it.

use serde_json::{Map, Value};

/// References that lead to each other, at most.
const MAX_HOPS: usize = 16;

/// A document of 3.0 or 3.1.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    /// Whether it is of 3.0, whose schemas are of a dialect of their own.
    pub(super) is_old: bool,
}

impl Document {
    /// The value that a local reference leads to, and its pointer.
    pub(super) fn target<'d>(&'d self, reference: &str) -> Option<(&'d Value, String)> {
        let pointer = decoded(reference.strip_prefix('#')?);
        let found = self.root.pointer(&pointer)?;
        Some((found, pointer))
    }

    /// A part, references followed: those of path items, parameters, bodies, answers, headers.
    pub(super) fn part<'d>(&'d self, part: &'d Value) -> Option<&'d Map<String, Value>> {
        let mut part = part;
        for _ in 0..MAX_HOPS {
            let members = part.as_object()?;
            match members.get("$ref").and_then(Value::as_str) {
                Some(to) => part = self.target(to)?.0,
                None => return Some(members),
            }
        }
        None
    }

    /// A member of a part, by its keyword.
    pub(super) fn named<'d>(part: &'d Map<String, Value>, keyword: &str) -> Members<'d> {
        part.get(keyword).and_then(Value::as_object).into_iter().flatten()
    }
}

/// The members of an object that may be missing.
pub(super) type Members<'d> = std::iter::Flatten<std::option::IntoIter<&'d Map<String, Value>>>;

/// A pointer with its percent signs read.
fn decoded(pointer: &str) -> String {
    if !pointer.contains('%') {
        return pointer.to_owned();
    }
    // A form's pair is decoded as a fragment is, but for the plus sign.
    let pair = format!("p={}", pointer.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// The first so many characters of a text, and no white space around it.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
