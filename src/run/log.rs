//! The lines a program logged, as the host keeps them: numbered, bounded, in order.
//!
//! The harness cuts and counts by the same limits; these are the host's own, for a harness that
//! was tampered with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// `console.debug`.
    Debug,
    /// `console.log`.
    Log,
    /// `console.info`.
    Info,
    /// `console.warn`, and what the harness itself has to say.
    Warn,
    /// `console.error`, unhandled rejections, exceptions in timers.
    Error,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 0. Line *i* is kept once.
    #[serde(skip)]
    pub number: u64,
    /// How grave it is.
    pub level: Level,
    /// Its text.
    pub text: String,
    /// Program time, in milliseconds since the start of the run.
    pub at: u64,
}

/// The lines of one run.
#[derive(Debug, Default)]
pub struct Log {
    lines: Vec<Line>,
    bytes: usize,
}

/// Room beyond the harness's own limit: its notices of dropped lines are lines too.
const SLACK_LINES: usize = 16;
const SLACK_BYTES: usize = 4_096;

impl Log {
    /// Takes the lines of one message, `[number, level, text, at]` each. A line whose number is
    /// known is left out, and so are lines that are not of this form or over the limits.
    pub fn take(&mut self, lines: &[Value], max_lines: usize, max_bytes: usize) {
        for line in lines {
            let Ok((number, level, text, at)) =
                serde_json::from_value::<(u64, Level, String, u64)>(line.clone())
            else {
                continue;
            };
            let place = self.lines.binary_search_by_key(&number, |line| line.number);
            let bytes = self.bytes.saturating_add(text.len());
            if bytes > max_bytes.saturating_add(SLACK_BYTES)
                || self.lines.len() >= max_lines.saturating_add(SLACK_LINES)
            {
                continue;
            }
            if let Err(place) = place {
                self.bytes = bytes;
                self.lines.insert(place, Line { number, level, text, at });
            }
        }
    }

    /// A log that goes on from stored lines: those of a run that has not ended, none of which is
    /// missing, so that a line's place is its number.
    #[must_use]
    pub fn resumed(lines: Vec<Line>) -> Self {
        let mut lines = lines;
        let mut bytes = 0_usize;
        for (line, number) in lines.iter_mut().zip(0_u64..) {
            line.number = number;
            bytes = bytes.saturating_add(line.text.len());
        }
        Self { lines, bytes }
    }

    /// The lines in order.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    //! Each line is kept once, in order, within its bounds.

    use super::*;
    use serde_json::json;

    #[test]
    fn lines_are_kept_once_and_in_order() {
        let mut log = Log::default();
        log.take(&[json!([0, "log", "a", 0]), json!([2, "warn", "c", 5])], 10, 1_000);
        log.take(&[json!([1, "info", "b", 3]), json!([2, "warn", "c again", 5])], 10, 1_000);
        log.take(&[json!("nonsense"), json!([3, "shout", "d", 1]), json!([4, "log"])], 10, 1_000);
        let texts: Vec<_> = log.lines().iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c"]);
    }

    #[test]
    fn a_tampered_harness_cannot_flood_the_host() {
        let mut log = Log::default();
        for number in 0..10_000_u64 {
            log.take(&[json!([number, "log", "x".repeat(100), 0])], 1_000, 65_536);
        }
        assert!(
            log.lines().iter().map(|line| line.text.len()).sum::<usize>() <= 65_536 + SLACK_BYTES
        );
        assert!(log.lines().len() <= 1_000 + SLACK_LINES);
    }
}
