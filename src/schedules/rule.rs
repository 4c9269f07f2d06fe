//! When a schedule fires, and what becomes of times that were missed. Pure.

use super::cron::Cron;
use super::zone::Offsets;
use serde::{Deserialize, Serialize};

/// A firing that is this late was missed: the schedule comes once a minute.
pub const LATE_MS: i64 = 150_000;

/// Times that one round looks at; what is older is counted as missed without being named.
const MOST_LOOKED: usize = 1_000;

/// Missed times that one round catches up with. The next round takes the next ones.
const MOST_CAUGHT_UP: usize = 10;

/// When a schedule fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// By a cron expression in a zone.
    Cron(Cron),
    /// Every so many milliseconds from a moment on.
    Every {
        /// How many.
        every_ms: i64,
        /// From when on.
        from: i64,
    },
    /// Once.
    Once {
        /// When.
        at: i64,
    },
}

impl Rule {
    /// The first moment after `after` at which it fires.
    ///
    /// # Errors
    ///
    /// When the platform cannot tell the zone's offset.
    pub fn next(&self, zone: &impl Offsets, after: i64) -> Result<Option<i64>, String> {
        Ok(match self {
            Self::Cron(cron) => cron.next(zone, after)?,
            Self::Every { from, .. } if after < *from => Some(*from),
            Self::Every { every_ms, from } => {
                let passed = after.saturating_sub(*from).checked_div(*every_ms).unwrap_or(0);
                Some(from.saturating_add(every_ms.saturating_mul(passed.saturating_add(1))))
            }
            Self::Once { at } => (*at > after).then_some(*at),
        })
    }
}

/// What to do about times that were missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// They are left out; the history says so.
    #[default]
    Skip,
    /// Each is made up for, in order.
    CatchUp,
}

impl Missed {
    /// The word on the wire and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::CatchUp => "catch_up",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Skip, Self::CatchUp].into_iter().find(|missed| missed.as_str() == word)
    }
}

/// Times that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// The first of them.
    pub first: i64,
    /// How many; at least so many where there are very many.
    pub count: u64,
}

/// What one round does for one schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Times that fire, in order.
    pub fire: Vec<i64>,
    /// Times that are left out.
    pub skipped: Option<Skipped>,
    /// The next time; `None` when there is none.
    pub next: Option<i64>,
}

/// What is due at `now` of a schedule whose next time is `due`.
///
/// # Errors
///
/// When the platform cannot tell the zone's offset.
pub fn round(
    rule: &Rule,
    zone: &impl Offsets,
    missed: Missed,
    due: i64,
    now: i64,
) -> Result<Round, String> {
    let mut round = Round { fire: Vec::new(), skipped: None, next: Some(due) };
    for looked in 0.. {
        let Some(at) = round.next.filter(|at| *at <= now) else { return Ok(round) };
        let late = now.saturating_sub(at) >= LATE_MS;
        if !late || missed == Missed::CatchUp {
            if round.fire.len() >= MOST_CAUGHT_UP {
                return Ok(round);
            }
            round.fire.push(at);
        } else {
            let skipped = round.skipped.get_or_insert(Skipped { first: at, count: 0 });
            skipped.count = skipped.count.saturating_add(1);
        }
        // What was missed for years is not looked through minute by minute.
        let after = if looked < MOST_LOOKED { at } else { now.saturating_sub(LATE_MS).max(at) };
        round.next = rule.next(zone, after)?;
    }
    Ok(round)
}

#[cfg(test)]
mod tests {
    //! Each time once, in order, and none is forgotten.
    #![expect(clippy::arithmetic_side_effects, reason = "times of tests are small")]

    use super::super::zone::Utc;
    use super::*;
    use proptest::prelude::*;

    const EVERY: Rule = Rule::Every { every_ms: 60_000, from: 0 };

    fn due(rule: &Rule, missed: Missed, due: i64, now: i64) -> Round {
        round(rule, &Utc, missed, due, now).unwrap()
    }

    #[test]
    fn what_is_due_fires_and_what_was_missed_goes_by_its_policy() {
        let on_time = due(&EVERY, Missed::Skip, 600_000, 630_000);
        assert_eq!(on_time, Round { fire: vec![600_000], skipped: None, next: Some(660_000) });
        let early = due(&EVERY, Missed::Skip, 600_000, 599_999);
        assert_eq!(early, Round { fire: vec![], skipped: None, next: Some(600_000) });
        let late = due(&EVERY, Missed::Skip, 60_000, 660_000);
        assert_eq!(late.fire, [540_000, 600_000, 660_000]);
        assert_eq!(late.skipped, Some(Skipped { first: 60_000, count: 8 }));
        assert_eq!(late.next, Some(720_000));
        let caught = due(&EVERY, Missed::CatchUp, 60_000, 1_200_000);
        assert_eq!(caught.fire, (1..=10).map(|n| n * 60_000).collect::<Vec<i64>>());
        assert_eq!((caught.skipped, caught.next), (None, Some(660_000)));
        let once = Rule::Once { at: 5_000 };
        assert_eq!(due(&once, Missed::Skip, 5_000, 6_000).fire, [5_000]);
        let gone = due(&once, Missed::Skip, 5_000, 5_000 + LATE_MS);
        assert_eq!((gone.fire.len(), gone.skipped.map(|s| s.count), gone.next), (0, Some(1), None));
        assert_eq!(due(&once, Missed::CatchUp, 5_000, 900_000).fire, [5_000]);
    }

    #[test]
    fn years_that_were_missed_are_not_looked_through() {
        let year = 365 * 86_400_000;
        let round = due(&EVERY, Missed::Skip, 60_000, year);
        assert!(round.fire.len() <= 3 && round.next > Some(year), "{round:?}");
        assert!(round.skipped.unwrap().count >= 1_000);
    }

    #[test]
    fn an_interval_counts_from_its_beginning() {
        let rule = Rule::Every { every_ms: 90_000, from: 1_000_000 };
        assert_eq!(rule.next(&Utc, 0), Ok(Some(1_000_000)));
        assert_eq!(rule.next(&Utc, 1_000_000), Ok(Some(1_090_000)));
        assert_eq!(rule.next(&Utc, 1_179_999), Ok(Some(1_180_000)));
    }

    proptest! {
        /// However rounds fall, what fires and what is left out are all the times there are, once each.
        #[test]
        fn no_time_is_lost_or_doubled(
            gaps in proptest::collection::vec(1_000_i64..400_000, 1..40),
            catch_up in any::<bool>(),
            every in 1_i64..5,
        ) {
            let every_ms = every * 60_000;
            let rule = Rule::Every { every_ms, from: 0 };
            let missed = if catch_up { Missed::CatchUp } else { Missed::Skip };
            let (mut now, mut next, mut fired, mut left_out) = (0, every_ms, Vec::new(), 0);
            for gap in gaps {
                now += gap;
                let round = round(&rule, &Utc, missed, next, now).unwrap();
                fired.extend(round.fire);
                left_out += round.skipped.map_or(0, |skipped| skipped.count);
                next = round.next.unwrap();
                prop_assert!(next > now || catch_up);
            }
            prop_assert!(fired.windows(2).all(|pair| pair[0] < pair[1]));
            let all = u64::try_from(fired.len()).unwrap() + left_out;
            prop_assert_eq!(i64::try_from(all).unwrap(), next / every_ms - 1);
            prop_assert!(!catch_up || left_out == 0);
        }
    }
}
