//! Dates and times of day as people write them, without a zone. Pure.
//!
//! A moment is Unix milliseconds. A local time is counted alike, as if its zone were UTC: so both are
//! numbers, and a zone is nothing but the difference between them at a moment.

/// A minute, in milliseconds.
pub const MINUTE_MS: i64 = 60_000;

/// A day, in milliseconds.
pub const DAY_MS: i64 = 86_400_000;

/// A date of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl Date {
    /// The date so many days after 1970-01-01.
    #[must_use]
    pub fn of_days(days: i64) -> Self {
        // Eras of 400 years that begin on 1 March, so that the leap day is the last of a year.
        let shifted = days.saturating_add(719_468);
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let leap_days = of_era
            .div_euclid(1_460)
            .saturating_sub(of_era.div_euclid(36_524))
            .saturating_add(of_era.div_euclid(146_096));
        let year = of_era.saturating_sub(leap_days).div_euclid(365);
        let of_year = of_era.saturating_sub(
            year.saturating_mul(365)
                .saturating_add(year.div_euclid(4))
                .saturating_sub(year.div_euclid(100)),
        );
        let from_march = of_year.saturating_mul(5).saturating_add(2).div_euclid(153);
        let before = from_march.saturating_mul(153).saturating_add(2).div_euclid(5);
        let day = of_year.saturating_sub(before).saturating_add(1);
        let month = if from_march < 10 {
            from_march.saturating_add(3)
        } else {
            from_march.saturating_sub(9)
        };
        let year = era.saturating_mul(400).saturating_add(year);
        Self {
            year: if month <= 2 { year.saturating_add(1) } else { year },
            month: u8::try_from(month).unwrap_or(1),
            day: u8::try_from(day).unwrap_or(1),
        }
    }

    /// Days from 1970-01-01 to this date.
    #[must_use]
    pub fn days(self) -> i64 {
        let year = if self.month <= 2 { self.year.saturating_sub(1) } else { self.year };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let from_march = (i64::from(self.month).saturating_add(9)).rem_euclid(12);
        let of_year = from_march
            .saturating_mul(153)
            .saturating_add(2)
            .div_euclid(5)
            .saturating_add(i64::from(self.day))
            .saturating_sub(1);
        let of_era = of_era
            .saturating_mul(365)
            .saturating_add(of_era.div_euclid(4))
            .saturating_sub(of_era.div_euclid(100))
            .saturating_add(of_year);
        era.saturating_mul(146_097).saturating_add(of_era).saturating_sub(719_468)
    }

    /// Whether the calendar has it.
    #[must_use]
    pub fn is_real(self) -> bool {
        (1..=12).contains(&self.month) && self.day >= 1 && Self::of_days(self.days()) == self
    }
}

/// The day of the week of a day, Sunday 0.
#[must_use]
pub fn weekday(days: i64) -> u8 {
    // 1970-01-01 was a Thursday.
    u8::try_from(days.saturating_add(4).rem_euclid(7)).unwrap_or(0)
}

/// A local time: a day, and milliseconds of it.
#[must_use]
pub const fn local(days: i64, of_day_ms: i64) -> i64 {
    days.saturating_mul(DAY_MS).saturating_add(of_day_ms)
}

/// What was written as a moment: with its offset from UTC, or as a local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A moment.
    Moment(i64),
    /// A local time of a zone that stands elsewhere.
    Local(i64),
}

/// Reads `2026-12-01T09:00`, with or without seconds, a fraction and an offset (`Z`, `+01:00`).
#[must_use]
pub fn read(text: &str) -> Option<Written> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let date = Date {
        year: number(year, 4)?,
        month: u8::try_from(number(month, 2)?).ok()?,
        day: u8::try_from(number(day, 2)?).ok()?,
    };
    if !date.is_real() {
        return None;
    }
    let zone = time.find(['Z', 'z', '+', '-']);
    let (time, zone) = match zone {
        Some(at) => time.split_at_checked(at)?,
        None => (time, ""),
    };
    let (time, fraction_ms) = match time.split_once('.') {
        Some((time, fraction)) => {
            let digits = fraction.get(..fraction.len().min(3))?;
            let scale =
                10_i64.checked_pow(3_u32.checked_sub(u32::try_from(digits.len()).ok()?)?)?;
            if digits.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            (time, digits.parse::<i64>().ok()?.checked_mul(scale)?)
        }
        None => (time, 0),
    };
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds =
        hour.saturating_mul(3_600).saturating_add(minute.saturating_mul(60)).saturating_add(second);
    let of_day_ms = seconds.saturating_mul(1_000).saturating_add(fraction_ms);
    let at = local(date.days(), of_day_ms);
    Some(match zone {
        "" => Written::Local(at),
        "Z" | "z" => Written::Moment(at),
        offset => {
            let (sign, offset) = match offset.split_at_checked(1)? {
                ("+", offset) => (1, offset),
                (_, offset) => (-1, offset),
            };
            let (hours, minutes) = offset.split_once(':')?;
            let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let minutes = hours.saturating_mul(60).saturating_add(minutes);
            let offset_ms = minutes.saturating_mul(MINUTE_MS).saturating_mul(sign);
            Written::Moment(at.saturating_sub(offset_ms))
        }
    })
}

/// Reads a local time as the platform shows it: `12/01/2026, 09:00:00`.
#[must_use]
pub fn shown(text: &str) -> Option<i64> {
    let numbers: Vec<i64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map_while(|part| part.parse().ok())
        .collect();
    let [month, day, year, hour, minute, second] = numbers.as_slice() else { return None };
    let date =
        Date { year: *year, month: u8::try_from(*month).ok()?, day: u8::try_from(*day).ok()? };
    if !date.is_real() || *hour > 24 || *minute > 59 || *second > 59 {
        return None;
    }
    let seconds = (hour.rem_euclid(24))
        .saturating_mul(3_600)
        .saturating_add(minute.saturating_mul(60))
        .saturating_add(*second);
    Some(local(date.days(), seconds.saturating_mul(1_000)))
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let fits = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    //! Dates and days are two ways to write the same.

    use super::*;

    #[test]
    fn days_and_dates_are_the_same_both_ways() {
        let mut last = Date::of_days(-800_001);
        for days in -800_000..800_000 {
            let date = Date::of_days(days);
            assert_eq!(date.days(), days);
            assert!(date > last && date.is_real(), "{date:?}");
            last = date;
        }
        assert_eq!(Date::of_days(0), Date { year: 1970, month: 1, day: 1 });
        assert_eq!(Date::of_days(20_787), Date { year: 2026, month: 11, day: 30 });
        assert_eq!((weekday(0), weekday(20_787)), (4, 1));
        assert!(!Date { year: 2027, month: 2, day: 29 }.is_real());
        assert!(Date { year: 2028, month: 2, day: 29 }.is_real());
        assert!(!Date { year: 2100, month: 2, day: 29 }.is_real());
    }

    #[test]
    fn a_time_is_read_with_and_without_an_offset() {
        let nine = 1_796_115_600_000;
        for (text, expected) in [
            ("2026-12-01T09:00:00Z", Some(Written::Moment(nine))),
            ("2026-12-01T09:00Z", Some(Written::Moment(nine))),
            ("2026-12-01T10:00:00.5+01:00", Some(Written::Moment(nine + 500))),
            ("2026-12-01T03:30-05:30", Some(Written::Moment(nine))),
            ("2026-12-01T09:00", Some(Written::Local(nine))),
            ("2026-12-01 09:00:00.123456", Some(Written::Local(nine + 123))),
            ("2026-13-01T09:00Z", None),
            ("2026-02-30T09:00Z", None),
            ("2026-12-01T24:00Z", None),
            ("2026-12-01T09:00:60Z", None),
            ("2026-12-01T9:00Z", None),
            ("2026-12-01", None),
            ("2026-12-01T09:00+1:00", None),
            ("2026-12-01T09:00:00.Z", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_the_platform_shows_is_read() {
        assert_eq!(shown("12/01/2026, 09:00:00"), Some(1_796_115_600_000));
        assert_eq!(shown("12/01/2026, 24:00:01"), Some(1_796_083_201_000));
        assert_eq!(shown("13/01/2026, 09:00:00"), None);
        assert_eq!(shown("Invalid Date"), None);
    }
}
