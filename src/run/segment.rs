//! Segments: a durable run is carried by one attempt after the other, and this says what follows a
//! failed one.
//!
//! - An attempt that its budget or ceiling cut is made again, at most [`MAX_CUTS`] times in a row: the
//!   dispatches that are recorded are kept, so a program that makes calls comes further each time.
//! - One that was lost with its sandbox is made again, at most [`MAX_FAULTS`] times in a row.
//! - A program that failed would fail alike when it is run again to the same point. Only where its
//!   author asked for retries is it taken back, see
//!   [`Journal::rewound`](super::journal::Journal::rewound).
//!
//! Anything else is final.

use crate::error::{Code, Fault};
use serde::{Deserialize, Serialize};

/// Cuts in a row: three more budgets than one.
pub const MAX_CUTS: u64 = 3;

/// Losses in a row.
pub const MAX_FAULTS: u64 = 5;

/// The most retries that an author may ask for.
pub const MAX_RETRIES: u64 = 10;

/// The longest back-off: an hour.
const MAX_BACK_OFF_MS: u64 = 3_600_000;

/// What an attempt of a durable run knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Segment {
    /// The longest sleep that is the program's own time; a longer one parks the run.
    pub park_ms: u64,
    /// The end of the run's life time, Unix ms.
    pub ends_at: u64,
    /// Retries that its author asked for.
    pub retries: u64,
    /// Attempts in a row that were cut.
    pub cuts: u64,
    /// Attempts in a row that were lost.
    pub faults: u64,
    /// How often the program was taken back.
    pub errors: u64,
    /// The first back-off; each further one is twice as long.
    pub back_off_ms: u64,
}

/// Why an attempt is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setback {
    /// A clock of ours ended it.
    Cut,
    /// It was lost with its sandbox.
    Lost,
    /// The program failed, and is taken back.
    Error,
}

impl Setback {
    /// What a fault is for a durable run; `None`: nothing that another attempt could mend.
    #[must_use]
    pub const fn of(fault: &Fault) -> Option<Self> {
        match fault.code {
            Code::BudgetSpent | Code::CeilingReached => Some(Self::Cut),
            Code::SandboxGone
            | Code::CreateFailed
            | Code::ConnectFailed
            | Code::CreateTimedOut
            | Code::StorageUnavailable => Some(Self::Lost),
            Code::RuntimeError
            | Code::ToolFailed
            | Code::UpstreamFailed
            | Code::DispatchTimedOut => Some(Self::Error),
            _ => None,
        }
    }
}

impl Segment {
    /// Whether the attempt that failed so is made again, and after how many milliseconds.
    #[must_use]
    pub fn again(&self, fault: &Fault) -> Option<(Setback, u64)> {
        let setback = Setback::of(fault)?;
        let (before, most) = match setback {
            Setback::Cut => (self.cuts, MAX_CUTS),
            Setback::Lost => (self.faults, MAX_FAULTS),
            Setback::Error => (self.errors, self.retries),
        };
        let doublings = u32::try_from(before).ok().filter(|_| before < most)?;
        let factor = 2_u64.saturating_pow(doublings);
        Some((setback, self.back_off_ms.saturating_mul(factor).min(MAX_BACK_OFF_MS)))
    }

    /// When a run goes on by itself that sleeps until `until`: it does not sleep past its life time.
    #[must_use]
    pub fn wake_at(&self, until: u64) -> u64 {
        until.min(self.ends_at)
    }
}

#[cfg(test)]
mod tests {
    //! What is made again, how often, and after how long.

    use super::*;

    fn segment() -> Segment {
        Segment {
            park_ms: 10_000,
            ends_at: 1_000_000,
            retries: 0,
            cuts: 0,
            faults: 0,
            errors: 0,
            back_off_ms: 10_000,
        }
    }

    #[test]
    fn a_cut_is_made_again_three_times_with_back_off() {
        let cut = Fault::budget_spent(270_000);
        let after = |cuts| Segment { cuts, ..segment() }.again(&cut);
        assert_eq!(after(0), Some((Setback::Cut, 10_000)));
        assert_eq!(after(1), Some((Setback::Cut, 20_000)));
        assert_eq!(after(2), Some((Setback::Cut, 40_000)));
        assert_eq!(after(3), None);
        assert_eq!(segment().again(&Fault::ceiling_reached(1)), Some((Setback::Cut, 10_000)));
    }

    #[test]
    fn a_lost_sandbox_is_made_again_five_times() {
        let gone = Fault::new(Code::SandboxGone, "gone");
        let after = |faults| Segment { faults, ..segment() }.again(&gone).is_some();
        assert_eq!((after(4), after(5)), (true, false));
    }

    #[test]
    fn a_program_that_failed_is_not_tried_again_unasked() {
        for code in [Code::RuntimeError, Code::ToolFailed] {
            let failed = Fault::new(code, "no");
            assert_eq!(segment().again(&failed), None);
            let asked = Segment { retries: 2, errors: 1, ..segment() };
            assert_eq!(asked.again(&failed), Some((Setback::Error, 20_000)));
            assert_eq!(Segment { errors: 2, ..asked }.again(&failed), None);
        }
    }

    #[test]
    fn what_no_attempt_can_mend_is_final() {
        let asked = Segment { retries: 10, ..segment() };
        for code in [
            Code::SyntaxRefused,
            Code::Deadlocked,
            Code::NotData,
            Code::ReplayDiverged,
            Code::JournalFull,
            Code::LimitExceeded,
            Code::PolicyBlocked,
            Code::ApprovalDeclined,
            Code::EffectUnknown,
            Code::Cancelled,
        ] {
            assert_eq!(asked.again(&Fault::new(code, "no")), None, "{code:?}");
        }
    }

    #[test]
    fn a_back_off_has_an_end_and_a_sleep_ends_with_the_life_time() {
        let slow = Segment { retries: 100, errors: 60, ..segment() };
        let failed = Fault::new(Code::RuntimeError, "no");
        assert_eq!(slow.again(&failed), Some((Setback::Error, MAX_BACK_OFF_MS)));
        assert_eq!(slow.wake_at(5), 5);
        assert_eq!(slow.wake_at(2_000_000), 1_000_000);
    }
}
