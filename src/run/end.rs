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
        /// `differs`, `moved`, `extra`, `missing` or `ended early`.
        why: String,
        /// The number of the call, or of the event.
        n: u32,
        /// The tool that the program called there.
        issued: Option<String>,
        /// What the record has, where it is no call: `s`, `t`, `n`.
        event: Option<String>,
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
    /// The module it was thrown in, as the sandbox names it.
    #[serde(default)]
    pub module: Option<String>,
    /// Line, from 1; of the module, until [`End::place`] makes it the author's.
    #[serde(default)]
    pub line: Option<u32>,
    /// Column, from 1; alike.
    #[serde(default)]
    pub column: Option<u32>,
    /// The author's own file, where there are several.
    #[serde(skip)]
    pub file: Option<String>,
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
    issued: Option<String>,
    #[serde(default)]
    event: Option<String>,
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
                n: wire.n.unwrap_or_default(),
                issued: wire.issued,
                event: wire.event,
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

    /// Where the sandbox says that it was thrown: module, line and column.
    #[must_use]
    pub fn thrown_at(&self) -> Option<(&str, u32, u32)> {
        let EndKind::Threw(threw) = &self.kind else { return None };
        Some((threw.module.as_deref().unwrap_or(PROGRAM), threw.line?, threw.column?))
    }

    /// Puts the author's own place where the sandbox's was.
    pub fn place(&mut self, place: Option<Place>) {
        if let EndKind::Threw(threw) = &mut self.kind {
            threw.line = place.as_ref().map(|place| place.line);
            threw.column = place.as_ref().map(|place| place.column);
            threw.file = place.and_then(|place| place.file);
        }
    }
}

/// The module of a lone program.
pub const PROGRAM: &str = "program.js";

/// A place in what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, where there are several.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}
