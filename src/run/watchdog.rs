//! The watchdog: the host's clock over an attempt's dispatches.
//!
//! The sandbox watches itself too, but a program can replace what it is watched with, so this
//! one decides. It is pure: it is told what happened and when, and says what is left. Nothing
//! here reads a clock or sleeps.
//!
//! The rule. The reference point is
//!
//! - `now` while a dispatch is in flight: the program is not on its own,
//! - the moment the last dispatch returned, otherwise,
//! - the start of the attempt, before any.
//!
//! The budget is spent when `now - reference >= budget`. Each return grants a fresh budget;
//! budgets never add up.
//!
//! What this cannot do: stop a program that never yields (the guard and `limits.cpuMs` do), or
//! end one that always has a dispatch in flight (the ceiling does).

/// In-flight and last-returned state of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// When the program was started.
    pub started_at: u64,
    /// When the last dispatch returned; `None` before any did.
    pub last_returned_at: Option<u64>,
    /// Dispatches that arrived and have not returned.
    pub in_flight: u32,
}

impl Watch {
    /// A watch that begins at `started_at`.
    #[must_use]
    pub const fn new(started_at: u64) -> Self {
        Self { started_at, last_returned_at: None, in_flight: 0 }
    }

    /// A dispatch arrived.
    pub const fn arrived(&mut self) {
        self.in_flight = self.in_flight.saturating_add(1);
    }

    /// A dispatch returned, with whatever answer.
    pub const fn returned(&mut self, now: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last_returned_at = Some(now);
    }

    /// Milliseconds of autonomous compute left at `now`, or `None` once the budget is spent.
    ///
    /// A `now` before the reference point counts as no time passed: in production the clock
    /// stands still between two I/O operations, and it can be set back.
    #[must_use]
    pub fn left_ms(&self, budget_ms: u64, now: u64) -> Option<u64> {
        if self.in_flight > 0 {
            return Some(budget_ms);
        }
        let reference = self.last_returned_at.unwrap_or(self.started_at);
        let spent_ms = now.saturating_sub(reference);
        budget_ms.checked_sub(spent_ms).filter(|left_ms| *left_ms > 0)
    }
}

#[cfg(test)]
mod tests {
    //! The budget is continuous autonomous compute.

    use super::*;

    #[test]
    fn the_budget_is_continuous_autonomous_compute() {
        let watch =
            |last_returned_at, in_flight| Watch { started_at: 0, last_returned_at, in_flight };
        let cases = [
            ("at the start", watch(None, 0), 0, Some(1_000)),
            ("the last millisecond", watch(None, 0), 999, Some(1)),
            ("exactly the budget", watch(None, 0), 1_000, None),
            ("a dispatch in flight suspends it", watch(None, 1), 60_000, Some(1_000)),
            ("a return grants a fresh one", watch(Some(60_000), 0), 60_400, Some(600)),
            ("one of two returned", watch(Some(60_000), 1), 90_000, Some(1_000)),
            ("a clock set back takes nothing", watch(Some(60_000), 0), 59_000, Some(1_000)),
        ];
        for (name, watch, now, expected) in cases {
            assert_eq!(watch.left_ms(1_000, now), expected, "{name}");
        }
    }
}
