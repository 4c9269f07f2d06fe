//! The arguments of a tool call, read one by one: each fault names its path, and all of them are
//! told at once, so that a model needs one correction and not one a field.

use super::refusal::shown;
use crate::error::{Code, Fault};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};
use std::{fmt, ops::RangeInclusive};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    path: String,
    what: String,
}

/// The arguments of one call. Reading takes them out; what is left at the end was not asked for.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a> {
    members: Vec<(String, &'a RawValue)>,
    problems: Vec<Problem>,
}

impl<'a> Arguments<'a> {
    /// Reads the raw arguments; absent and null count as none.
    pub(super) fn read(raw: Option<&'a RawValue>) -> Self {
        let text = match raw.map(RawValue::get) {
            None | Some("null") => return Self::default(),
            Some(text) => text,
        };
        let mut out = Self::default();
        match serde_json::from_str::<Members<'_>>(text) {
            Ok(members) => out.members = members.0,
            Err(_) if !text.starts_with('{') => {
                let hint = if text.starts_with('"') { ", not JSON inside a string" } else { "" };
                out.problem("arguments", format!("must be an object{hint}"));
            }
            Err(fault) => out.problem("arguments", format!("cannot be read: {fault}")),
        }
        out
    }

    /// A string of 1 to `max_chars` characters that are not all white space.
    pub(super) fn text(&mut self, name: &str, max_chars: usize) -> Option<String> {
        let raw = self.take(name)?;
        let what = match serde_json::from_str::<String>(raw.get()) {
            Ok(text) if text.trim().is_empty() => "must not be empty".to_owned(),
            Ok(text) if text.chars().nth(max_chars).is_some() => {
                format!("must be at most {max_chars} characters")
            }
            Ok(text) => return Some(text),
            // Half a surrogate pair: JSON can spell it, UTF-8 cannot.
            Err(fault) if raw.get().starts_with('"') => format!("cannot be read: {fault}"),
            Err(_) => format!("must be a string, not {}", kind(raw)),
        };
        self.problem(name, what);
        None
    }

    /// The same, and missing is a fault. What comes back is then never used.
    pub(super) fn required_text(&mut self, name: &str, max_chars: usize) -> String {
        if self.lacks(name) {
            self.problem(name, "is required");
        }
        self.text(name, max_chars).unwrap_or_default()
    }

    /// An integer of `range`; `2.0` is one.
    pub(super) fn integer(&mut self, name: &str, range: &RangeInclusive<u64>) -> Option<u64> {
        let raw = self.take(name)?;
        let whole = raw.get().parse().ok().or_else(|| whole(raw.get().parse().ok()?));
        let fitting = whole.filter(|number| range.contains(number));
        if fitting.is_none() {
            let kind = kind(raw);
            let given = if kind == "a number" { shown(raw.get()) } else { kind.to_owned() };
            let (least, most) = (range.start(), range.end());
            self.problem(name, format!("must be an integer from {least} to {most}, not {given}"));
        }
        fitting
    }

    /// An object, as it was written.
    pub(super) fn object(&mut self, name: &str) -> Option<Box<RawValue>> {
        let raw = self.take(name)?;
        if raw.get().starts_with('{') {
            return Some(raw.to_owned());
        }
        self.problem(name, format!("must be an object, not {}", kind(raw)));
        None
    }

    /// One of the given words.
    pub(super) fn word(&mut self, name: &str, words: &[&str]) -> Option<String> {
        let raw = self.take(name)?;
        let word = serde_json::from_str::<String>(raw.get()).ok();
        let given = match word {
            Some(word) if words.contains(&word.as_str()) => return Some(word),
            Some(word) => shown(&word),
            None => kind(raw).to_owned(),
        };
        self.problem(name, format!("must be one of {}, not {given}", words.join(", ")));
        None
    }

    /// `value`, if all was in order. `known` are the names of the tool's arguments.
    pub(super) fn finish<T>(mut self, tool: &str, known: &[&str], value: T) -> Result<T, Fault> {
        let unread: Vec<String> = self.members.drain(..).map(|(name, _)| name).collect();
        for name in &unread {
            if known.contains(&name.as_str()) {
                self.problem(name, "stands there twice");
                continue;
            }
            let near = known.iter().find(|known| folded(known) == folded(name));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            self.problem(&shown(name), format!("is not an argument of {tool}{hint}"));
        }
        let Some(first) = self.problems.first() else { return Ok(value) };
        let message: Vec<String> =
            self.problems.iter().map(|p| format!("{}: {}", p.path, p.what)).collect();
        let problems: Vec<Value> = self
            .problems
            .iter()
            .map(|problem| json!({ "path": problem.path, "problem": problem.what }))
            .collect();
        let next = format!(
            "Correct what the message names and call {tool} again. It takes {}. Nothing was run.",
            known.join(", ")
        );
        Err(Fault::new(Code::InvalidRequest, message.join("; "))
            .with("field", first.path.as_str())
            .with("problems", problems)
            .with_next_step(next))
    }

    /// Takes the first member of that name. Null counts as absent: models write it for "none".
    fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        let (_, raw) = self.members.remove(place);
        (raw.get() != "null").then_some(raw)
    }

    fn lacks(&self, name: &str) -> bool {
        // Arguments that could not be read at all lack nothing in particular.
        let is_readable = !self.problems.iter().any(|problem| problem.path == "arguments");
        let is_there = |(known, raw): &(String, &RawValue)| known == name && raw.get() != "null";
        is_readable && !self.members.iter().any(is_there)
    }

    fn problem(&mut self, path: &str, what: impl Into<String>) {
        /// Faults told at once; whoever makes more has not read the schema.
        const MOST: usize = 8;
        if self.problems.len() < MOST {
            self.problems.push(Problem { path: path.to_owned(), what: what.into() });
        }
    }
}

/// Members of an object in their order, doubles kept.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A non-negative number without fraction that every reader reads alike.
fn whole(number: f64) -> Option<u64> {
    // 2^53; above it, neighbours share one representation.
    let exact = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    // Formatting is exact here, and the only conversion that cannot go wrong silently.
    exact.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// What a value is, in a word.
fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// A name without case, `_` and `-`, in which `budget_ms` is `budgetMs`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
