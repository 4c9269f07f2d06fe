//! A message of the harness (`docs/sandbox.md`, Messages to the host), read as one reads a request.

use crate::run::journal::Event;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One message.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// What it is.
    #[serde(rename = "t")]
    pub kind: Kind,
    /// Number of the call it is about.
    #[serde(default)]
    pub n: u32,
    /// The tool.
    #[serde(default)]
    pub path: String,
    /// The argument, tagged JSON; `null` is an argument too.
    #[serde(borrow, default, deserialize_with = "present")]
    pub args: Option<&'a RawValue>,
    /// The harness's hash of both.
    #[serde(default)]
    pub hash: String,
    /// How many events were delivered before the call.
    #[serde(default)]
    pub at: u64,
    /// How many events were sent before this message.
    #[serde(default)]
    pub base: u64,
    /// Events since the last message.
    #[serde(default)]
    pub events: Vec<Event>,
    /// How far a replay is.
    #[serde(default)]
    pub delivered: Option<u64>,
    /// Where in `program.js` a call was made that a person is asked about.
    #[serde(default)]
    pub line: Option<u32>,
    /// The same.
    #[serde(default)]
    pub column: Option<u32>,
    /// When the first of the sleeps that it waits for ends, Unix ms.
    #[serde(default)]
    pub until: Option<u64>,
    /// What a step's function gave, as a reply.
    #[serde(borrow, default)]
    pub reply: Option<&'a RawValue>,
    /// Log lines since the last message.
    #[serde(default)]
    pub logs: Vec<Value>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dispatch.
    Call,
    /// A recorded dispatch without an answer.
    Again,
    /// Whether a person has decided.
    Decided,
    /// Only people, or sleeps that park, are waited for.
    Quiet,
    /// There is something to tell.
    Note,
    /// Of a service: whether it is to end.
    Stop,
    /// A step has begun.
    Step,
    /// What a step's function gave.
    Done,
}

/// Takes what is there, `null` included, where an `Option` would take it for absent.
fn present<'de, D>(value: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    <&RawValue>::deserialize(value).map(Some)
}

/// The longest path of a tool; longer ones name nothing.
const MAX_PATH_BYTES: usize = 512;

/// 53 bits in base 36, and room to spare.
const MAX_HASH_BYTES: usize = 64;

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// What is wrong with it: the harness is ours, so it was tampered with.
    pub fn read(text: &'a str) -> Result<Self, String> {
        let message: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if message.hash.len() > MAX_HASH_BYTES {
            return Err(format!("a hash of {} bytes", message.hash.len()));
        }
        if message.path.len() > MAX_PATH_BYTES {
            return Err(format!("a path of {} bytes", message.path.len()));
        }
        Ok(message)
    }

    /// The argument as tagged JSON.
    #[must_use]
    pub fn arguments(&self) -> &'a str {
        self.args.map_or("{}", RawValue::get)
    }
}

#[cfg(test)]
mod tests {
    //! An argument arrives as it was sent.

    use super::*;

    #[test]
    fn only_an_argument_that_is_not_there_is_an_empty_object() {
        let arguments = |args: &str| {
            let text = format!(r#"{{"t":"call","n":0,"path":"a"{args}}}"#);
            Message::read(&text).map(|message| message.arguments().to_owned())
        };
        assert_eq!(arguments("").as_deref(), Ok("{}"));
        assert_eq!(arguments(r#","args":null"#).as_deref(), Ok("null"));
        assert_eq!(arguments(r#","args":[ 1 ]"#).as_deref(), Ok("[ 1 ]"));
    }
}
