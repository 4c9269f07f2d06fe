//! Whether and when a request is made again. Pure.
//!
//! Only asked about requests that may be repeated. What the service says of when stands above what we
//! would do; a wait that is longer than a call can bear is not begun.

/// Further attempts after the first.
const MOST: u32 = 2;

/// The first wait where the service names none; each further one is four times as long.
const FIRST_MS: u64 = 250;

/// The longest wait that is begun: a third of a call's own limit.
const LONGEST_MS: u64 = 20_000;

/// How long to wait before the next attempt; `None`: there is none.
///
/// - `status`: `None` where there was no answer.
/// - `retry_after`: the header, in seconds or as a date.
/// - `tried`: attempts made again so far.
#[must_use]
pub fn wait_ms(
    status: Option<u16>,
    retry_after: Option<&str>,
    tried: u32,
    now_ms: u64,
) -> Option<u64> {
    if tried >= MOST || !matches!(status, None | Some(429 | 502 | 503 | 504)) {
        return None;
    }
    let asked = retry_after.and_then(|text| asked_ms(text.trim(), now_ms));
    let wait = asked.unwrap_or_else(|| FIRST_MS.saturating_mul(4_u64.saturating_pow(tried)));
    (wait <= LONGEST_MS).then_some(wait)
}

fn asked_ms(text: &str, now_ms: u64) -> Option<u64> {
    match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000),
        Err(_) => date_ms(text).map(|at| at.saturating_sub(now_ms)),
    }
}

/// Unix milliseconds of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form of a date that is still sent.
fn date_ms(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let day: u64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = u64::try_from(MONTHS.iter().position(|known| *known == month)?).ok()?;
    let year: u64 = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    if parts.next()? != "GMT" || !(1_970..=9_999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 by the civil calendar, the year beginning in March.
    let shifted = if month < 2 { year.checked_sub(1)? } else { year };
    let month = month.checked_add(10)?.checked_rem(12)?;
    let era_days = shifted
        .checked_mul(365)?
        .checked_add(shifted.div_euclid(4))?
        .checked_sub(shifted.div_euclid(100))?
        .checked_add(shifted.div_euclid(400))?;
    let in_year = month.checked_mul(153)?.checked_add(2)?.div_euclid(5);
    // 719,468 days lie between 1 March of the year 0 and 1 January 1970.
    let days = era_days.checked_add(in_year)?.checked_add(day)?.checked_sub(719_469)?;
    let seconds = days
        .checked_mul(86_400)?
        .checked_add(hour.checked_mul(3_600)?)?
        .checked_add(minute.checked_mul(60)?)?
        .checked_add(second)?;
    seconds.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    //! Twice at most, when the service says, and never after an answer.

    use super::*;

    #[test]
    fn only_passing_failures_are_tried_again_and_twice_at_most() {
        for (status, tried, expected) in [
            (None, 0, Some(250)),
            (Some(503), 0, Some(250)),
            (Some(503), 1, Some(1_000)),
            (Some(503), 2, None),
            (Some(429), 0, Some(250)),
            (Some(502), 0, Some(250)),
            (Some(504), 0, Some(250)),
            (Some(200), 0, None),
            (Some(400), 0, None),
            (Some(500), 0, None),
        ] {
            assert_eq!(wait_ms(status, None, tried, 0), expected, "{status:?} {tried}");
        }
    }

    #[test]
    fn the_service_says_when() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let at = 784_111_777_000;
        for (header, now, expected) in [
            ("2", 0, Some(2_000)),
            ("0", 0, Some(0)),
            ("21", 0, None),
            (date, at - 3_000, Some(3_000)),
            (date, at + 3_000, Some(0)),
            (date, at - 30_000, None),
            ("soon", 0, Some(250)),
            ("Sun, 06 Nov 1994 08:49:37 CET", 0, Some(250)),
        ] {
            assert_eq!(wait_ms(Some(429), Some(header), 0, now), expected, "{header}");
        }
    }

    #[test]
    fn dates_are_read_by_the_calendar() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
        ] {
            assert_eq!(date_ms(text), Some(seconds * 1_000), "{text}");
        }
    }
}
