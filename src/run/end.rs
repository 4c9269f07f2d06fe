//! What the harness says at the end of an attempt (`docs/sandbox.md`, The end), read as one reads
//! a request: nothing in it is believed where belief would grant something.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The end of an attempt, as the harness tells it.
#[derive(Debug)]
pub struct End {
    /// What happened.
    pub kind: EndKind,
    /// Events since the last message.
    pub events: Vec<Value>,
    /// Log lines since the last message.
    pub logs: Vec<Value>,
    /// What was lost or should be known.
    pub warnings: Vec<String>,
    /// Calls still open that the program had looked at.
    pub open: Vec<u32>,
}

/// What happened.
#[derive(Debug)]
pub enum EndKind {
    /// The program came to its end, with a value in tagged JSON.
    Finished(String),
    /// The program threw.
    Threw(Threw),
    /// A value was not data.
    Unserialisable {
        /// Where in the value: `o.self`, `rows[0].done`; empty for the value itself.
        path: String,
        /// What stood there: `function`, `circular`, ….
        kind: String,
        /// Both in words: `items[1] is a function`.
        text: String,
    },
    /// The result was over its limit.
    TooLarge {
        /// How large it was, in bytes, where known.
        bytes: Option<u64>,
    },
    /// A call was left alone.
    Unlooked {
        /// Its number; `None` when it was refused before it had one.
        call: Option<u32>,
        /// The tool.
        path: String,
        /// What it failed with; `None` when it was still open.
        text: Option<String>,
        /// The kind of a fault that the harness itself raised.
        fault: Option<String>,
    },
    /// The harness saw the budget spent.
    TimedOut,
    /// Nothing is left that could settle the program.
    Deadlocked,
    /// A replay went another way.
    Diverged {
        /// `differs`, `extra`, `missing` or `ended early`.
        why: String,
        /// The call's number.
        call: u32,
        /// What the record has.
        recorded: String,
        /// What the program made.
        issued: String,
    },
    /// Only people are waited for, and the host said to park.
    Parked,
    /// A message failed, or the harness answered what cannot be read.
    Broken(String),
}

/// What the program threw.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Threw {
    /// Rendered with name, code and causes.
    pub text: String,
    /// The error in parts, for those who read fields.
    #[serde(default)]
    pub error: Value,
    /// Line of `program.js`, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Column of `program.js`, from 1.
    #[serde(default)]
    pub column: Option<u32>,
    /// The dispatch whose error it is, unwrapped.
    #[serde(default)]
    pub call: Option<u32>,
    /// The kind of a fault that the harness itself raised, uncaught.
    #[serde(default)]
    pub fault: Option<String>,
}

/// What an answer may weigh besides its value: the logs of a whole run and then some.
pub const MAX_END_OVERHEAD_BYTES: usize = 1_048_576;

#[derive(Deserialize)]
struct Wire<'a> {
    end: String,
    #[serde(default, borrow)]
    value: Option<&'a RawValue>,
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    logs: Vec<Value>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    open: Vec<u32>,
    #[serde(default)]
    path: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    call: Option<u32>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    fault: Option<String>,
    #[serde(default)]
    why: String,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    recorded: Value,
    #[serde(default)]
    issued: Value,
}

impl End {
    /// Reads the harness's answer. What cannot be read is [`EndKind::Broken`].
    #[must_use]
    pub fn read(text: &str) -> Self {
        let broken = |text: String| Self {
            kind: EndKind::Broken(text),
            events: Vec::new(),
            logs: Vec::new(),
            warnings: Vec::new(),
            open: Vec::new(),
        };
        let wire: Wire<'_> = match serde_json::from_str(text) {
            Ok(wire) => wire,
            Err(error) => return broken(format!("the harness's answer cannot be read: {error}")),
        };
        let kind = match wire.end.as_str() {
            "finished" => match wire.value {
                Some(value) => EndKind::Finished(value.get().to_owned()),
                None => EndKind::Finished("null".to_owned()),
            },
            "threw" => match serde_json::from_str::<Threw>(text) {
                Ok(threw) => EndKind::Threw(threw),
                Err(error) => EndKind::Broken(format!("the harness's error: {error}")),
            },
            "unserialisable" => EndKind::Unserialisable {
                path: wire.path,
                kind: wire.kind,
                text: wire.text.unwrap_or_default(),
            },
            "too_large" => EndKind::TooLarge { bytes: wire.bytes },
            "unlooked" => EndKind::Unlooked {
                call: wire.call,
                path: wire.path,
                text: wire.text,
                fault: wire.fault,
            },
            "timed_out" => EndKind::TimedOut,
            "deadlocked" => EndKind::Deadlocked,
            "diverged" => EndKind::Diverged {
                why: wire.why,
                call: wire.n.unwrap_or_default(),
                recorded: wire.recorded.to_string(),
                issued: wire.issued.to_string(),
            },
            "parked" => EndKind::Parked,
            "broken" => EndKind::Broken(wire.text.unwrap_or_default()),
            other => EndKind::Broken(format!("the harness ended with {other:?}")),
        };
        Self {
            kind,
            events: wire.events,
            logs: wire.logs,
            warnings: wire.warnings,
            open: wire.open,
        }
    }

    /// Turns the place in `program.js` of what was thrown into the author's own, by `map`.
    pub fn place(&mut self, map: impl Fn(u32, u32) -> Option<(u32, u32)>) {
        if let EndKind::Threw(threw) = &mut self.kind {
            let place = match (threw.line, threw.column) {
                (Some(line), Some(column)) => map(line, column),
                _ => None,
            };
            threw.line = place.map(|(line, _)| line);
            threw.column = place.map(|(_, column)| column);
        }
    }
}
