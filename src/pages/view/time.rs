//! Moments and spans of time as people read them.

use maud::{Markup, html};

/// A moment: in UTC as it stands, in the reader's own zone where script runs.
#[must_use]
pub fn moment(at: u64) -> Markup {
    html! { time datetime=(iso(at)) data-moment { (short(at)) } }
}

/// `2026-11-30T21:18:05Z`.
#[must_use]
pub fn iso(at: u64) -> String {
    let Civil { year, month, day, hour, minute, second } = Civil::of(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `30 Nov 2026, 21:18 UTC`.
#[must_use]
pub fn short(at: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Civil { year, month, day, hour, minute, .. } = Civil::of(at);
    let place = usize::try_from(month.saturating_sub(1)).unwrap_or_default();
    let month = MONTHS.get(place).copied().unwrap_or_default();
    format!("{day} {month} {year}, {hour:02}:{minute:02} UTC")
}

/// A span in its two largest units: `0 ms`, `940 ms`, `1.24 s`, `3 min 4 s`, `2 h 5 min`, `6 d 3 h`.
#[must_use]
pub fn span(ms: u64) -> String {
    let two = |big: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{big} {unit}"),
        small => format!("{big} {unit} {small} {part}"),
    };
    let seconds = ms.div_euclid(1_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{seconds}.{:02} s", ms.rem_euclid(1_000).div_euclid(10)),
        10_000..60_000 => format!("{seconds}.{} s", ms.rem_euclid(1_000).div_euclid(100)),
        60_000..3_600_000 => two(seconds.div_euclid(60), "min", seconds.rem_euclid(60), "s"),
        3_600_000..86_400_000 => {
            two(seconds.div_euclid(3_600), "h", seconds.rem_euclid(3_600).div_euclid(60), "min")
        }
        _ => {
            two(seconds.div_euclid(86_400), "d", seconds.rem_euclid(86_400).div_euclid(3_600), "h")
        }
    }
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Civil {
    /// The civil date of a moment, by the days of 400-year eras that begin with March.
    fn of(at: u64) -> Self {
        let seconds = at.div_euclid(1_000);
        // Days since 1 March of the year 0.
        let days = seconds.div_euclid(86_400).saturating_add(719_468);
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let leap = of_era.div_euclid(1_460);
        let centuries = of_era.div_euclid(36_524);
        let year = of_era
            .saturating_sub(leap)
            .saturating_add(centuries)
            .saturating_sub(of_era.div_euclid(146_096))
            .div_euclid(365);
        let before = year
            .saturating_mul(365)
            .saturating_add(year.div_euclid(4))
            .saturating_sub(year.div_euclid(100));
        let of_year = of_era.saturating_sub(before);
        let month = of_year.saturating_mul(5).saturating_add(2).div_euclid(153);
        let first = month.saturating_mul(153).saturating_add(2).div_euclid(5);
        let day = of_year.saturating_sub(first).saturating_add(1);
        let month = if month < 10 { month.saturating_add(3) } else { month.saturating_sub(9) };
        let year =
            era.saturating_mul(400).saturating_add(year).saturating_add(u64::from(month < 3));
        let time = seconds.rem_euclid(86_400);
        Self {
            year,
            month,
            day,
            hour: time.div_euclid(3_600),
            minute: time.rem_euclid(3_600).div_euclid(60),
            second: time.rem_euclid(60),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Dates and spans read as a calendar and a clock say.

    use super::*;

    #[test]
    fn moments_are_the_calendars() {
        let cases = [
            (0, "1970-01-01T00:00:00Z", "1 Jan 1970, 00:00 UTC"),
            (951_782_400_000, "2000-02-29T00:00:00Z", "29 Feb 2000, 00:00 UTC"),
            (1_709_251_199_999, "2024-02-29T23:59:59Z", "29 Feb 2024, 23:59 UTC"),
            (1_796_073_485_000, "2026-11-30T21:18:05Z", "30 Nov 2026, 21:18 UTC"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z", "1 Mar 2100, 00:00 UTC"),
        ];
        for (at, long, brief) in cases {
            assert_eq!((iso(at).as_str(), short(at).as_str()), (long, brief));
        }
    }

    #[test]
    fn spans_have_two_units() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_240, "1.24 s"),
            (59_940, "59.9 s"),
            (60_000, "1 min"),
            (184_000, "3 min 4 s"),
            (7_500_000, "2 h 5 min"),
            (86_400_000, "1 d"),
            (529_200_000, "6 d 3 h"),
        ];
        for (ms, text) in cases {
            assert_eq!(span(ms), text);
        }
    }
}
