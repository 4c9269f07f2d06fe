//! `schedule_pause`, `schedule_run`, `schedule_delete`: what is done to a schedule that is there.

use super::schedule_put::NAME_CHARS;
use crate::{error::Fault, mcp::arguments::Arguments};
use serde_json::Value;

pub(super) const PAUSE: &str = "schedule_pause";
pub(super) const RUN: &str = "schedule_run";
pub(super) const DELETE: &str = "schedule_delete";

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It does not fire.
    Pause,
    /// It fires again.
    Resume,
    /// It runs once, now.
    Run,
    /// It is deleted.
    Delete,
}

/// A change of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleChange {
    /// Its name, as the client sent it.
    pub name: String,
    /// What is to be done.
    pub change: Change,
}

impl ScheduleChange {
    pub(super) fn read(tool: &'static str, mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let name = arguments.required_text("name", NAME_CHARS);
        let known: &[&str] = if tool == PAUSE { &["name", "paused"] } else { &["name"] };
        let change = match tool {
            PAUSE => match arguments.word("paused", &["yes", "no"]).as_deref() {
                Some("no") => Change::Resume,
                _ => Change::Pause,
            },
            RUN => Change::Run,
            _ => Change::Delete,
        };
        arguments.finish(tool, known, Self { name, change })
    }

    /// The tool that was called.
    pub(super) const fn tool(&self) -> &'static str {
        match self.change {
            Change::Pause | Change::Resume => PAUSE,
            Change::Run => RUN,
            Change::Delete => DELETE,
        }
    }
}

pub(super) fn definitions() -> [Value; 3] {
    [
        super::parse(include_str!("schedule_pause.json")),
        super::parse(include_str!("schedule_run.json")),
        super::parse(include_str!("schedule_delete.json")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_have_the_numbers_of_the_code() {
        for (definition, name) in definitions().iter().zip([PAUSE, RUN, DELETE]) {
            assert_eq!(definition["name"], name);
            assert_eq!(definition["inputSchema"]["properties"]["name"]["maxLength"], NAME_CHARS);
        }
    }
}
