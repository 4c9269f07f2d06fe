//! What was dropped and why, counted until a client report tells the server.
//!
//! Whoever drops an item has to say so, or the numbers at the server mean nothing. Counts are
//! added up here; one report carries all that came together since the last one.

use std::fmt::Write as _;

/// Why something was dropped, in the protocol's words.
///
/// `filtered_events` and the like belong to relays and are not for clients to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It said nothing but that a budget was spent.
    EventProcessor,
    /// Only so many of a hundred are sent.
    SampleRate,
    /// The server asked for a pause.
    RateLimitBackoff,
    /// The server could not be reached.
    NetworkError,
    /// The server refused it.
    SendError,
    /// More came at once than is sent at once.
    QueueOverflow,
}

impl Reason {
    const fn as_str(self) -> &'static str {
        match self {
            Self::EventProcessor => "event_processor",
            Self::SampleRate => "sample_rate",
            Self::RateLimitBackoff => "ratelimit_backoff",
            Self::NetworkError => "network_error",
            Self::SendError => "send_error",
            Self::QueueOverflow => "queue_overflow",
        }
    }
}

/// What kind of item was dropped, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Events, counted each.
    Error,
    /// Attachments, counted in bytes.
    Attachment,
    /// User reports, counted each.
    Feedback,
    /// Profiles, counted each.
    Profile,
}

impl Category {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Attachment => "attachment",
            Self::Feedback => "feedback",
            Self::Profile => "profile",
        }
    }
}

/// Quantities by reason and category, in the order in which they first came up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(Vec<(Reason, Category, u64)>);

impl Losses {
    /// Nothing lost.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether nothing was lost.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts `quantity` more; 0 is not counted.
    pub fn add(&mut self, reason: Reason, category: Category, quantity: u64) {
        let known = self.0.iter_mut().find(|(r, c, _)| (*r, *c) == (reason, category));
        match known {
            _ if quantity == 0 => {}
            Some((_, _, count)) => *count = count.saturating_add(quantity),
            None => self.0.push((reason, category, quantity)),
        }
    }

    /// Counts all of `others` as well.
    pub fn add_all(&mut self, others: &Self) {
        for (reason, category, quantity) in &others.0 {
            self.add(*reason, *category, *quantity);
        }
    }

    /// An envelope that reports these losses: a header line and one `client_report` item.
    #[must_use]
    pub fn client_report(&self, now_ms: u64) -> String {
        let mut payload =
            format!("{{\"timestamp\":{},\"discarded_events\":[", now_ms.div_euclid(1_000));
        for (place, (reason, category, quantity)) in self.0.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(
                payload,
                "{}{{\"reason\":\"{}\",\"category\":\"{}\",\"quantity\":{quantity}}}",
                if place == 0 { "" } else { "," },
                reason.as_str(),
                category.as_str(),
            );
        }
        payload.push_str("]}");
        format!(
            "{{\"sent_at\":\"{}\",\"sdk\":{{\"name\":\"{SDK_NAME}\",\"version\":\"{SDK_VERSION}\"}}}}\n\
             {{\"type\":\"client_report\",\"length\":{}}}\n{payload}\n",
            iso_time(now_ms),
            payload.len(),
        )
    }
}

/// Who we are to the server.
pub(super) const SDK_NAME: &str = "holdfast";
/// Our version, as the server shows it.
pub(super) const SDK_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A moment in Unix milliseconds as RFC 3339 in UTC, `2026-01-01T00:00:00.000Z`.
///
/// Years from 1970 on; the arithmetic is the usual one on years that begin in March.
#[must_use]
pub fn iso_time(unix_ms: u64) -> String {
    let (days, ms_of_day) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000));
    let from_era = days.saturating_add(719_468);
    let (era, day_of_era) = (from_era.div_euclid(146_097), from_era.rem_euclid(146_097));
    let leaps = day_of_era
        .saturating_sub(day_of_era.div_euclid(1_460))
        .saturating_add(day_of_era.div_euclid(36_524))
        .saturating_sub(day_of_era.div_euclid(146_096));
    let year_of_era = leaps.div_euclid(365);
    let days_before = year_of_era
        .saturating_mul(365)
        .saturating_add(year_of_era.div_euclid(4))
        .saturating_sub(year_of_era.div_euclid(100));
    let day_of_year = day_of_era.saturating_sub(days_before);
    let month_from_march = day_of_year.saturating_mul(5).saturating_add(2).div_euclid(153);
    let month_start = month_from_march.saturating_mul(153).saturating_add(2).div_euclid(5);
    let day = day_of_year.saturating_sub(month_start).saturating_add(1);
    let (month, late) = if month_from_march < 10 {
        (month_from_march.saturating_add(3), 0)
    } else {
        (month_from_march.saturating_sub(9), 1)
    };
    let year = era.saturating_mul(400).saturating_add(year_of_era).saturating_add(late);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        ms_of_day.div_euclid(3_600_000),
        ms_of_day.div_euclid(60_000).rem_euclid(60),
        ms_of_day.div_euclid(1_000).rem_euclid(60),
        ms_of_day.rem_euclid(1_000),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_sums_by_reason_and_category() {
        let mut losses = Losses::none();
        losses.add(Reason::EventProcessor, Category::Error, 1);
        losses.add(Reason::EventProcessor, Category::Attachment, 0);
        let mut more = Losses::none();
        more.add(Reason::SampleRate, Category::Error, 2);
        more.add(Reason::EventProcessor, Category::Error, 4);
        losses.add_all(&more);
        let report = losses.client_report(1_767_225_600_999);
        let lines: Vec<&str> = report.lines().collect();
        assert_eq!(
            lines[0],
            format!(
                r#"{{"sent_at":"2026-01-01T00:00:00.999Z","sdk":{{"name":"holdfast","version":"{SDK_VERSION}"}}}}"#
            )
        );
        assert_eq!(lines[1], format!(r#"{{"type":"client_report","length":{}}}"#, lines[2].len()));
        assert_eq!(
            lines[2],
            r#"{"timestamp":1767225600,"discarded_events":[{"reason":"event_processor","category":"error","quantity":5},{"reason":"sample_rate","category":"error","quantity":2}]}"#
        );
    }

    #[test]
    fn a_moment_is_written_as_rfc_3339() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (1_767_225_600_000, "2026-01-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (unix_ms, expected) in cases {
            assert_eq!(iso_time(unix_ms), expected);
        }
    }
}
