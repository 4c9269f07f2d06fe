//! Cron expressions: five fields, read, and their times in a zone. Pure.
//!
//! `minute hour day-of-month month day-of-week`, each `*`, a number, a name (`JAN`, `MON`), a range `a-b`,
//! a step `*/n` or `a-b/n`, or several of these with commas; and `@hourly`, `@daily`, `@weekly`, `@monthly`,
//! `@yearly`. Sunday is 0 and 7. Where day-of-month and day-of-week are both given, either will do, as in
//! every cron since Vixie's.
//!
//! When clocks change: an expression with `*` as its hours (`*/n` is none) means an interval and follows
//! the time that passes, so it fires in both of two hours alike. One that names hours means a time of
//! day: it fires once a day for each, at the change when its time is left out, the first time when its
//! time is there twice.

use super::calendar::{DAY_MS, Date, MINUTE_MS, local, weekday};
use super::zone::{Offsets, moment, moments, steady};

/// Days that are looked at for the next time: more than eight years, which is the longest that a leap
/// day is away.
const MOST_DAYS: i64 = 3_300;

/// Bytes of an expression.
pub const MAX_BYTES: usize = 256;

/// An expression, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Either of the two kinds of days will do.
    either: bool,
    /// Its hours are `*`.
    any_hour: bool,
}

struct Field {
    name: &'static str,
    from: u8,
    to: u8,
    names: &'static [&'static str],
}

const MONTHS: &[&str] =
    &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: [Field; 5] = [
    Field { name: "minute", from: 0, to: 59, names: &[] },
    Field { name: "hour", from: 0, to: 23, names: &[] },
    Field { name: "day of month", from: 1, to: 31, names: &[] },
    Field { name: "month", from: 1, to: 12, names: MONTHS },
    Field { name: "day of week", from: 0, to: 7, names: WEEKDAYS },
];

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it, naming the field.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("is over {MAX_BYTES} bytes"));
        }
        let text = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            text => text,
        };
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!(
                "must have five fields: minute, hour, day of month, month, day of week; it has {}",
                parts.len()
            ));
        };
        let [minutes, hours, days, months, weekdays] = &FIELDS;
        let mut of_week = weekdays.read(weekday)?;
        // Sunday is 0 and 7.
        if of_week & (1 << 7) != 0 {
            of_week = (of_week | 1) & !(1 << 7);
        }
        let cron = Self {
            minutes: minutes.read(minute)?,
            hours: hours.read(hour)?,
            days: days.read(day)?,
            months: months.read(month)?,
            weekdays: of_week,
            either: !is_any(day) && !is_any(weekday),
            any_hour: *hour == "*",
        };
        // Four years have every day of a month, and 28 every one on every day of the week.
        if !(0..MOST_DAYS).any(|day| cron.has_day(day)) {
            return Err("never fires: no month of it has such a day".to_owned());
        }
        Ok(cron)
    }

    /// The first moment after `after` at which it fires.
    ///
    /// # Errors
    ///
    /// When the platform cannot tell the zone's offset.
    pub fn next(&self, zone: &impl Offsets, after: i64) -> Result<Option<i64>, String> {
        let today = after.saturating_add(zone.offset_ms(after)?).div_euclid(DAY_MS);
        // Where clocks change at midnight the local day of a moment is one more or less.
        for ahead in -1..MOST_DAYS {
            let day = today.saturating_add(ahead);
            if !self.has_day(day) {
                continue;
            }
            if let Some(found) = self.of_day(zone, day, after)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first moment of a local day, after `after`, at which it fires.
    fn of_day(&self, zone: &impl Offsets, day: i64, after: i64) -> Result<Option<i64>, String> {
        if let Some(ahead) = steady(zone, day)? {
            let at = self.times(day).map(|at| at.saturating_sub(ahead));
            return Ok(at.into_iter().find(|at| *at > after));
        }
        let mut first: Option<i64> = None;
        for at in self.times(day) {
            let found = if self.any_hour { moments(zone, at)? } else { vec![moment(zone, at)?] };
            for at in found {
                if at > after && first.is_none_or(|first| at < first) {
                    first = Some(at);
                }
            }
        }
        Ok(first)
    }

    /// The local times of a day, in order.
    fn times(&self, day: i64) -> impl Iterator<Item = i64> {
        let (hours, minutes) = (self.hours, self.minutes);
        (0_i64..24).filter(move |hour| has(hours, *hour)).flat_map(move |hour| {
            (0_i64..60).filter(move |minute| has(minutes, *minute)).map(move |minute| {
                let minutes = hour.saturating_mul(60).saturating_add(minute);
                local(day, minutes.saturating_mul(MINUTE_MS))
            })
        })
    }

    fn has_day(&self, days: i64) -> bool {
        let date = Date::of_days(days);
        if !has(self.months, i64::from(date.month)) {
            return false;
        }
        let of_month = has(self.days, i64::from(date.day));
        let of_week = has(self.weekdays, i64::from(weekday(days)));
        if self.either { of_month || of_week } else { of_month && of_week }
    }
}

fn is_any(field: &str) -> bool {
    field.starts_with('*') || field == "?"
}

fn has(set: u64, number: i64) -> bool {
    u32::try_from(number)
        .ok()
        .and_then(|number| 1_u64.checked_shl(number))
        .is_some_and(|bit| set & bit != 0)
}

impl Field {
    /// The set of its numbers, a bit each.
    fn read(&self, text: &str) -> Result<u64, String> {
        let mut set = 0_u64;
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                None => (part, None),
                Some((range, step)) => (range, Some(self.step(part, step)?)),
            };
            let (from, to) = match range {
                "*" => (self.from, self.to),
                "?" if self.name.starts_with("day") && step.is_none() => (self.from, self.to),
                _ => {
                    if let Some((from, to)) = range.split_once('-') {
                        (self.number(part, from)?, self.number(part, to)?)
                    } else {
                        let from = self.number(part, range)?;
                        // `5/10` is read as `5-59/10`, as it is everywhere.
                        (from, if step.is_some() { self.to } else { from })
                    }
                }
            };
            // `*` of the days of a week is not eight of them.
            let to = if range == "*" && self.to == 7 { 6 } else { to };
            if from > to {
                return Err(self.wrong(part, "a range goes up"));
            }
            let mut number = from;
            while number <= to {
                set |= 1_u64.checked_shl(u32::from(number)).unwrap_or(0);
                number = number.saturating_add(step.unwrap_or(1));
            }
        }
        Ok(set)
    }

    fn step(&self, part: &str, text: &str) -> Result<u8, String> {
        // Sunday is counted once.
        let most =
            if self.to == 7 { 7 } else { self.to.saturating_sub(self.from).saturating_add(1) };
        match digits(text) {
            Some(step) if (1..=most).contains(&step) => Ok(step),
            _ => Err(self.wrong(part, &format!("a step is from 1 to {most}"))),
        }
    }

    fn number(&self, part: &str, text: &str) -> Result<u8, String> {
        let named =
            self.names.iter().zip(self.from..).find(|(name, _)| name.eq_ignore_ascii_case(text));
        match digits(text).or(named.map(|(_, number)| number)) {
            Some(number) if (self.from..=self.to).contains(&number) => Ok(number),
            _ => {
                let or = match self.names {
                    [first, .., last] => format!(", or {first} to {last}"),
                    _ => String::new(),
                };
                let what = format!("it is from {} to {}{or}", self.from, self.to);
                Err(self.wrong(part, &what))
            }
        }
    }

    fn wrong(&self, part: &str, what: &str) -> String {
        let shown: String = part.chars().filter(|c| !c.is_control()).take(32).collect();
        format!("has a {} that cannot be read, {shown:?}: {what}", self.name)
    }
}

fn digits(text: &str) -> Option<u8> {
    let fits = (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    //! What is read is what is meant, and clocks that change are dealt with as it is said above.
    #![expect(clippy::arithmetic_side_effects, reason = "times of tests are small")]

    use super::super::calendar::{Written, read as time};
    use super::super::zone::Utc;
    use super::*;
    use proptest::prelude::*;

    /// Clocks that are put forward by an hour at one moment and back at another, from 1 h ahead.
    struct Summer {
        forward: i64,
        back: i64,
    }

    impl Offsets for Summer {
        fn offset_ms(&self, at: i64) -> Result<i64, String> {
            let summer = at >= self.forward && at < self.back;
            Ok(if summer { 7_200_000 } else { 3_600_000 })
        }
    }

    fn at(text: &str) -> i64 {
        match time(text).unwrap() {
            Written::Moment(at) | Written::Local(at) => at,
        }
    }

    /// Central Europe in 2026.
    fn berlin() -> Summer {
        Summer { forward: at("2026-03-29T01:00Z"), back: at("2026-10-25T01:00Z") }
    }

    fn nexts(cron: &str, zone: &impl Offsets, after: &str, count: usize) -> Vec<i64> {
        let cron = Cron::read(cron).unwrap();
        let mut after = at(after);
        let mut found = Vec::new();
        for _ in 0..count {
            after = cron.next(zone, after).unwrap().unwrap();
            found.push(after);
        }
        found
    }

    #[test]
    fn the_next_times_are_those_that_are_meant() {
        for (cron, after, expected) in [
            ("* * * * *", "2026-11-30T10:00:00Z", ["2026-11-30T10:01Z", "2026-11-30T10:02Z"]),
            ("* * * * *", "2026-11-30T10:00:59.999Z", ["2026-11-30T10:01Z", "2026-11-30T10:02Z"]),
            ("*/15 9-10 * * *", "2026-11-30T09:50Z", ["2026-11-30T10:00Z", "2026-11-30T10:15Z"]),
            ("5/20 * * * *", "2026-11-30T09:50Z", ["2026-11-30T10:05Z", "2026-11-30T10:25Z"]),
            ("0 9 * * MON-FRI", "2026-11-27T09:00Z", ["2026-11-30T09:00Z", "2026-12-01T09:00Z"]),
            ("0 0 * * sun", "2026-11-30T00:00Z", ["2026-12-06T00:00Z", "2026-12-13T00:00Z"]),
            ("0 0 * * 7", "2026-11-30T00:00Z", ["2026-12-06T00:00Z", "2026-12-13T00:00Z"]),
            ("0 0 * * 5-7", "2026-12-04T12:00Z", ["2026-12-05T00:00Z", "2026-12-06T00:00Z"]),
            ("0 0 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
            ("0 0 29 2 *", "2096-03-01T00:00Z", ["2104-02-29T00:00Z", "2108-02-29T00:00Z"]),
            ("0 0 31 * *", "2026-01-31T00:00Z", ["2026-03-31T00:00Z", "2026-05-31T00:00Z"]),
            // Either kind of day will do where both are given.
            ("0 0 13 * FRI", "2026-11-10T00:00Z", ["2026-11-13T00:00Z", "2026-11-20T00:00Z"]),
            ("0 0 1,15 JAN,jul ?", "2026-01-02T00:00Z", ["2026-01-15T00:00Z", "2026-07-01T00:00Z"]),
            ("@monthly", "2026-12-31T00:00Z", ["2027-01-01T00:00Z", "2027-02-01T00:00Z"]),
            ("@hourly", "2026-12-31T23:30Z", ["2027-01-01T00:00Z", "2027-01-01T01:00Z"]),
        ] {
            let expected: Vec<i64> = expected.iter().map(|text| at(text)).collect();
            assert_eq!(nexts(cron, &Utc, after, 2), expected, "{cron} after {after}");
        }
    }

    #[test]
    fn a_time_of_day_that_is_left_out_fires_at_the_change_once() {
        let zone = berlin();
        // 02:30 is not there on 29 March: the clocks go from 02:00 to 03:00, at 01:00 UTC.
        assert_eq!(
            nexts("30 2 * * *", &zone, "2026-03-28T00:00Z", 3),
            ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"].map(at)
        );
        // Two times of the hour that is left out are one.
        assert_eq!(
            nexts("10,50 2 * * *", &zone, "2026-03-29T00:30Z", 2),
            ["2026-03-29T01:00Z", "2026-03-30T00:10Z"].map(at)
        );
        // What fires at the end of it fires once.
        assert_eq!(
            nexts("30 2,3 * * *", &zone, "2026-03-29T00:30Z", 2),
            ["2026-03-29T01:00Z", "2026-03-29T01:30Z"].map(at)
        );
    }

    #[test]
    fn a_time_of_day_that_is_there_twice_fires_the_first_time() {
        let zone = berlin();
        // 02:30 is at 00:30 UTC and again at 01:30 UTC on 25 October.
        assert_eq!(
            nexts("30 2 * * *", &zone, "2026-10-24T12:00Z", 2),
            ["2026-10-25T00:30Z", "2026-10-26T01:30Z"].map(at)
        );
        assert_eq!(
            nexts("30 */2 * * *", &zone, "2026-10-24T23:00Z", 2),
            ["2026-10-25T00:30Z", "2026-10-25T03:30Z"].map(at)
        );
    }

    #[test]
    fn an_interval_follows_the_time_that_passes() {
        let zone = berlin();
        let hours = |from: i64, count: i64| -> Vec<i64> {
            (0..count).map(|hour| from + hour * 3_600_000).collect()
        };
        for after in ["2026-10-24T22:59Z", "2026-03-28T23:59Z"] {
            let found = nexts("0 * * * *", &zone, after, 6);
            assert_eq!(found, hours(at(after) + MINUTE_MS, 6), "{after}");
        }
        let quarters = nexts("*/15 * * * *", &zone, "2026-10-25T00:40Z", 6);
        assert!(quarters.windows(2).all(|pair| pair[1] - pair[0] == 900_000), "{quarters:?}");
    }

    #[test]
    fn what_is_none_is_refused_by_its_field() {
        for (cron, part) in [
            ("", "five fields"),
            ("* * * *", "five fields"),
            ("* * * * * *", "five fields"),
            ("60 * * * *", "minute"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "day of month"),
            ("* * * 13 *", "month"),
            ("* * * * 8", "day of week"),
            ("5-1 * * * *", "goes up"),
            ("*/0 * * * *", "step"),
            ("*/61 * * * *", "step"),
            ("1,,2 * * * *", "minute"),
            ("-1 * * * *", "minute"),
            ("* * L * *", "day of month"),
            ("* * 15W * *", "day of month"),
            ("* * * * MON#2", "day of week"),
            ("* * * * FOO", "SUN to SAT"),
            ("0x1 * * * *", "minute"),
            ("? * * * *", "minute"),
            ("0 0 30 2 *", "never fires"),
            ("0 0 31 4,6 *", "never fires"),
            ("@reboot", "five fields"),
        ] {
            let error = Cron::read(cron).unwrap_err();
            assert!(error.contains(part), "{cron}: {error}");
        }
        assert!(Cron::read(&"1,".repeat(200)).unwrap_err().contains("256 bytes"));
    }

    fn field(from: u8, to: u8) -> impl Strategy<Value = String> {
        let number = from..=to;
        prop_oneof![
            3 => Just("*".to_owned()),
            2 => number.clone().prop_map(|n| n.to_string()),
            1 => (number.clone(), number.clone())
                .prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
            1 => (1_u8..=(to - from).min(10)).prop_map(|step| format!("*/{step}")),
            1 => proptest::collection::vec(number, 1..4)
                .prop_map(|all| all.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// The next time is after, matches, and nothing between would have: looked at minute by minute
        /// over the days around both changes.
        #[test]
        fn the_next_time_is_the_first_that_matches(
            minute in field(0, 59), hour in field(0, 23), weekday in field(0, 6),
            start in prop_oneof![Just("2026-03-28T20:00Z"), Just("2026-10-24T20:00Z"), Just("2026-06-30T20:00Z")],
            minutes in 0_i64..1_500,
        ) {
            let zone = berlin();
            let text = format!("{minute} {hour} * * {weekday}");
            let cron = Cron::read(&text).unwrap();
            let after = at(start) + minutes * MINUTE_MS;
            let found = cron.next(&zone, after).unwrap().unwrap();
            prop_assert!(found > after && found % MINUTE_MS == 0);
            let shown = |at: i64| at + zone.offset_ms(at).unwrap();
            let matches = |local: i64| {
                let day = local.div_euclid(DAY_MS);
                cron.has_day(day) && cron.times(day).any(|time| time == local)
            };
            let left_out = |at: i64| {
                // The change itself stands for the hour that it leaves out.
                at == zone.forward && !cron.any_hour
                    && (0..60).any(|m| matches(shown(at) - 3_600_000 + m * MINUTE_MS))
            };
            let again = |at: i64| {
                !cron.any_hour && at >= zone.back && at < zone.back + 3_600_000
            };
            let expected = |at: i64| left_out(at) || matches(shown(at)) && !again(at);
            prop_assert!(expected(found), "{text}: {found}");
            let mut looked = after.div_euclid(MINUTE_MS) * MINUTE_MS + MINUTE_MS;
            while looked < found && looked < after + 3 * DAY_MS {
                prop_assert!(!expected(looked), "{text} leaves {looked} out");
                looked += MINUTE_MS;
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9*/,?A-Z@ ]{0,40}") {
            if let Ok(cron) = Cron::read(&text) {
                let next = cron.next(&Utc, 0).unwrap();
                prop_assert!(next.is_some(), "{text} never fires");
            }
        }
    }
}
