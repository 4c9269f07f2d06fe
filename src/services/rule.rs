//! What becomes of a service when a stretch of it has ended, and what state it is in. Pure.

use crate::run::outcome::Status;

/// A stretch that failed before it was this old failed soon: the next one waits.
const SOON_MS: u64 = 60_000;

/// The longest wait for the next stretch.
const MAX_BACK_OFF_MS: u64 = 3_600_000;

/// What is known of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// Whether it is to be at work.
    pub wanted: bool,
    /// What its last stretch came to is told here.
    pub settled: bool,
    /// When that stretch was begun.
    pub claimed_at: u64,
    /// When the next one may begin.
    pub next_at: u64,
    /// When it wants to be woken.
    pub alarm_at: Option<u64>,
    /// Stretches since it was started.
    pub stretches: u64,
    /// Stretches in a row that failed soon.
    pub failures: u64,
}

impl Service {
    /// When a stretch that was begun is given up that has no row.
    #[must_use]
    pub const fn given_up_at(&self, begin_ms: u64) -> u64 {
        self.claimed_at.saturating_add(begin_ms)
    }
}

/// The run of its last stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// How it stands.
    pub status: Status,
    /// Past it its attempt counts as dead.
    pub lease_until: u64,
    /// It is asked to end.
    pub cancel_asked: bool,
    /// When it was begun.
    pub created_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
}

/// What a service is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its first stretch is about to begin.
    Starting,
    /// A stretch is at work: its lease holds.
    Running,
    /// Its stretch waits for a person.
    WaitingApproval,
    /// It was asked to stop and has not ended.
    Stopping,
    /// It has ended by itself and is woken by its alarm.
    Sleeping,
    /// Its stretches fail soon; the next one waits.
    BackingOff,
    /// A stretch has ended, or was lost; the next one begins with the schedule.
    Restarting,
    /// Nobody wants it to be at work, and it is not.
    Stopped,
}

impl State {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::Stopping => "stopping",
            Self::Sleeping => "sleeping",
            Self::BackingOff => "backing_off",
            Self::Restarting => "restarting",
            Self::Stopped => "stopped",
        }
    }
}

/// What a service is doing at `now`. `begin_ms`: how long a stretch may take to begin.
#[must_use]
pub fn state(service: &Service, stretch: Option<&Stretch>, now: u64, begin_ms: u64) -> State {
    let at_work = match stretch {
        Some(stretch) => match stretch.status {
            Status::Running if stretch.lease_until >= now => Some(State::Running),
            Status::WaitingApproval | Status::Parked => Some(State::WaitingApproval),
            _ => None,
        },
        None if !service.settled && now < service.given_up_at(begin_ms) => Some(State::Starting),
        None => None,
    };
    match at_work {
        Some(_) if !service.wanted => State::Stopping,
        Some(state) => state,
        None if !service.wanted => State::Stopped,
        None if service.stretches == 0 => State::Starting,
        None if !service.settled || service.next_at <= now => State::Restarting,
        None if service.failures > 0 => State::BackingOff,
        None => State::Sleeping,
    }
}

/// When the next stretch may begin, and how many have failed soon in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// When.
    pub at: u64,
    /// How many.
    pub failures: u64,
}

/// What follows a stretch that has ended; `status` and `lived_ms` are its own.
///
/// - It completed: the next begins when its alarm says, without one at once.
/// - It was cancelled: the next begins at once; whoever wants no next one stops the service.
/// - It failed: at once the first time, then after one minute, two, four, … up to an hour, unless it
///   had lived for a minute.
#[must_use]
pub fn after(service: &Service, status: Status, lived_ms: u64, ended_at: u64) -> Next {
    match status {
        Status::Completed => {
            let at = service.alarm_at.map_or(ended_at, |alarm| alarm.max(ended_at));
            Next { at, failures: 0 }
        }
        Status::Failed => {
            let soon = lived_ms < SOON_MS;
            let failures = if soon { service.failures.saturating_add(1) } else { 1 };
            Next { at: ended_at.saturating_add(back_off_ms(failures)), failures }
        }
        _ => Next { at: ended_at, failures: service.failures },
    }
}

/// How long the next stretch waits after so many failures in a row.
#[must_use]
pub fn back_off_ms(failures: u64) -> u64 {
    let Some(doublings) = failures.checked_sub(2) else { return 0 };
    let factor = u32::try_from(doublings).ok().and_then(|by| 1_u64.checked_shl(by));
    factor.unwrap_or(u64::MAX).saturating_mul(SOON_MS).min(MAX_BACK_OFF_MS)
}

#[cfg(test)]
mod tests {
    //! A service is told as it is, and a loop of crashes slows down.

    use super::*;

    const BEGIN_MS: u64 = 90_000;

    const NEW: Service = Service {
        wanted: true,
        settled: true,
        claimed_at: 0,
        next_at: 0,
        alarm_at: None,
        stretches: 0,
        failures: 0,
    };

    const RUN: Stretch = Stretch {
        status: Status::Running,
        lease_until: 2_000,
        cancel_asked: false,
        created_at: 0,
        ended_at: None,
    };

    #[test]
    fn a_service_is_told_as_it_is() {
        let begun = Service { settled: false, stretches: 1, ..NEW };
        let ended = Service { stretches: 1, next_at: 5_000, ..NEW };
        let waits = Stretch { status: Status::WaitingApproval, lease_until: 0, ..RUN };
        let done = Stretch { status: Status::Completed, ..RUN };
        let stopped = |of: Service| Service { wanted: false, ..of };
        let failing = Service { failures: 2, ..ended };
        let cases = [
            ("never begun", NEW, None, State::Starting),
            ("its row is not there yet", begun, None, State::Starting),
            ("at work", begun, Some(RUN), State::Running),
            ("asked", begun, Some(waits), State::WaitingApproval),
            (
                "its isolate died",
                begun,
                Some(Stretch { lease_until: 999, ..RUN }),
                State::Restarting,
            ),
            ("ended a moment ago", begun, Some(done), State::Restarting),
            ("until its alarm", ended, Some(done), State::Sleeping),
            (
                "its alarm is due",
                Service { next_at: 1_000, ..ended },
                Some(done),
                State::Restarting,
            ),
            ("it fails soon", failing, Some(done), State::BackingOff),
            ("stopped", stopped(ended), Some(done), State::Stopped),
            ("stopped while it begins", stopped(begun), None, State::Stopping),
            ("stopped while at work", stopped(begun), Some(RUN), State::Stopping),
            ("stopped while it waits", stopped(begun), Some(waits), State::Stopping),
            (
                "stopped, and then lost",
                stopped(begun),
                Some(Stretch { lease_until: 0, ..RUN }),
                State::Stopped,
            ),
        ];
        for (name, service, stretch, expected) in cases {
            assert_eq!(state(&service, stretch.as_ref(), 1_000, BEGIN_MS), expected, "{name}");
        }
        let never = state(&begun, None, BEGIN_MS, BEGIN_MS);
        assert_eq!(never, State::Restarting, "a stretch that never began");
    }

    #[test]
    fn a_stretch_that_completed_is_followed_at_once_or_by_its_alarm() {
        let alarm = Service { alarm_at: Some(9_000), failures: 3, ..NEW };
        let next = |of: &Service| after(of, Status::Completed, 10, 1_000);
        assert_eq!(next(&NEW), Next { at: 1_000, failures: 0 });
        assert_eq!(next(&alarm), Next { at: 9_000, failures: 0 });
        let past = Service { alarm_at: Some(5), ..NEW };
        assert_eq!(next(&past), Next { at: 1_000, failures: 0 });
        assert_eq!(after(&alarm, Status::Cancelled, 10, 1_000), Next { at: 1_000, failures: 3 });
    }

    #[test]
    fn a_loop_of_crashes_slows_down_to_once_an_hour() {
        let mut service = NEW;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let next = after(&service, Status::Failed, SOON_MS - 1, 0);
            waits.push(next.at / 60_000);
            service.failures = next.failures;
        }
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(after(&service, Status::Failed, SOON_MS, 7), Next { at: 7, failures: 1 });
        assert_eq!(back_off_ms(u64::MAX), MAX_BACK_OFF_MS);
    }
}
