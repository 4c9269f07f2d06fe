//! `schedule_put`: has something run at its times.

use crate::{error::Fault, mcp::arguments::Arguments, schedules::cron};
use serde_json::{Value, value::RawValue};

pub(super) const NAME: &str = "schedule_put";

const ARGUMENTS: [&str; 7] = ["name", "cron", "every", "once", "zone", "run", "missed"];

/// Characters of a schedule's name.
pub(super) const NAME_CHARS: usize = 64;

/// Characters of an interval, a moment, a zone.
const TIME_CHARS: usize = 64;

/// A schedule to put.
#[derive(Debug, Clone)]
pub struct SchedulePut {
    /// Its name, as the client sent it.
    pub name: String,
    /// A cron expression.
    pub cron: Option<String>,
    /// An interval, as text.
    pub every: Option<String>,
    /// A moment, as text.
    pub once: Option<String>,
    /// The zone of a cron expression or a local time.
    pub zone: Option<String>,
    /// What runs: an object.
    pub run: Option<Box<RawValue>>,
    /// `skip` or `catch_up`.
    pub missed: Option<String>,
}

impl SchedulePut {
    pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let call = Self {
            name: arguments.required_text("name", NAME_CHARS),
            cron: arguments.text("cron", cron::MAX_BYTES),
            every: arguments.text("every", TIME_CHARS),
            once: arguments.text("once", TIME_CHARS),
            zone: arguments.text("zone", TIME_CHARS),
            run: arguments.object("run"),
            missed: arguments.word("missed", &["skip", "catch_up"]),
        };
        arguments.finish(NAME, &ARGUMENTS, call)
    }
}

pub(super) fn definition() -> Value {
    super::parse(include_str!("schedule_put.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_the_numbers_of_the_code() {
        let definition = definition();
        assert_eq!(definition["name"], NAME);
        let properties = &definition["inputSchema"]["properties"];
        assert_eq!(properties["name"]["maxLength"], NAME_CHARS);
        assert_eq!(properties["cron"]["maxLength"], cron::MAX_BYTES);
        for name in ["every", "once", "zone"] {
            assert_eq!(properties[name]["maxLength"], TIME_CHARS, "{name}");
        }
        for name in ARGUMENTS {
            assert!(properties.get(name).is_some(), "{name}");
        }
    }
}
