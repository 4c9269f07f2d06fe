//! When our own reports have to pause, because the server said so.
//!
//! `X-Sentry-Rate-Limits: 60:error;transaction:key, 2700::organization` counts on any status:
//! each limit is `seconds:categories:…`, no categories means all, unknown ones are ignored, and
//! of two limits on a category the longer stays. Without that header, a 429 pauses everything
//! for its `Retry-After`, or for a minute.

/// Limits of one DSN, kept while the isolate lives. All times are Unix milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimits {
    errors_until: u64,
    client_reports_until: u64,
}

/// A day. A server that asks for more is mistaken, and we would never be heard of again.
const MAX_PAUSE_MS: u64 = 24 * 60 * 60 * 1000;

/// What a limit without a readable number of seconds stands for.
const DEFAULT_PAUSE_MS: u64 = 60_000;

impl RateLimits {
    /// No limits.
    #[must_use]
    pub const fn none() -> Self {
        Self { errors_until: 0, client_reports_until: 0 }
    }

    /// Whether events have to wait at `now`.
    #[must_use]
    pub const fn holds_errors(&self, now: u64) -> bool {
        now < self.errors_until
    }

    /// Whether client reports have to wait at `now`.
    #[must_use]
    pub const fn holds_client_reports(&self, now: u64) -> bool {
        now < self.client_reports_until
    }

    /// Takes note of an answer: its status, its `X-Sentry-Rate-Limits`, and its `Retry-After` in
    /// milliseconds from `now`.
    pub fn note(
        &mut self,
        now: u64,
        status: u16,
        limits: Option<&str>,
        retry_after_ms: Option<u64>,
    ) {
        match limits.filter(|limits| !limits.trim().is_empty()) {
            Some(limits) => limits.split(',').for_each(|limit| self.note_limit(now, limit)),
            None if status == 429 => {
                let pause = retry_after_ms.unwrap_or(DEFAULT_PAUSE_MS);
                self.pause(now, pause, true, true);
            }
            None => {}
        }
    }

    fn note_limit(&mut self, now: u64, limit: &str) {
        let mut fields = limit.split(':').map(str::trim);
        let pause = fields.next().and_then(read_seconds).unwrap_or(DEFAULT_PAUSE_MS);
        let categories = fields.next().unwrap_or_default();
        let names = |name: &str| {
            categories.is_empty() || categories.split(';').any(|category| category.trim() == name)
        };
        self.pause(now, pause, names("error"), names("internal"));
    }

    fn pause(&mut self, now: u64, pause: u64, errors: bool, client_reports: bool) {
        let until = now.saturating_add(pause.min(MAX_PAUSE_MS));
        if errors {
            self.errors_until = self.errors_until.max(until);
        }
        if client_reports {
            self.client_reports_until = self.client_reports_until.max(until);
        }
    }
}

/// Seconds, fractions allowed, as milliseconds rounded up.
#[must_use]
pub fn read_seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let number = |digits: &str| {
        digits.bytes().fold(0_u64, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
        })
    };
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let more = fraction.get(3..).is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'));
    let ms = number(whole).saturating_mul(1_000).saturating_add(number(&thousandths));
    Some(ms.saturating_add(u64::from(more)))
}

#[cfg(test)]
mod tests {
    //! A pause that was asked for is kept, no longer than a day.

    use super::*;

    const NOW: u64 = 1_000_000;

    fn after(status: u16, limits: Option<&str>, retry_after_ms: Option<u64>) -> (u64, u64) {
        let mut state = RateLimits::none();
        state.note(NOW, status, limits, retry_after_ms);
        (state.errors_until.saturating_sub(NOW), state.client_reports_until.saturating_sub(NOW))
    }

    #[test]
    fn an_answer_names_its_limits() {
        let cases = [
            ("an error limit on 200", 200, Some("60:error;transaction:key"), None, (60_000, 0)),
            ("all categories", 429, Some("2700::organization"), None, (2_700_000, 2_700_000)),
            ("others only", 200, Some("86400:transaction;span:organization"), None, (0, 0)),
            ("unknown only", 429, Some("60:teapot"), None, (0, 0)),
            ("the longer stays", 200, Some("60:error, 10:error"), None, (60_000, 0)),
            ("two limits", 200, Some("60:error:key, 5:internal:key:x:y"), None, (60_000, 5_000)),
            ("spaces", 200, Some(" 60 : error ; x :key , "), None, (60_000, 60_000)),
            ("a fraction", 200, Some("0.5:error"), None, (500, 0)),
            ("not a number", 200, Some("soon:error"), None, (60_000, 0)),
            ("a day at most", 200, Some("999999999999999999999:error"), None, (86_400_000, 0)),
            ("header before retry-after", 429, Some("1:error"), Some(9_000), (1_000, 0)),
            ("retry-after", 429, None, Some(9_000), (9_000, 9_000)),
            ("a bare 429", 429, None, None, (60_000, 60_000)),
            ("an empty header", 429, Some(" "), None, (60_000, 60_000)),
            ("retry-after on another status", 503, None, Some(9_000), (0, 0)),
            ("nothing", 200, None, None, (0, 0)),
        ];
        for (name, status, limits, retry_after_ms, expected) in cases {
            assert_eq!(after(status, limits, retry_after_ms), expected, "{name}");
        }
    }

    #[test]
    fn a_limit_holds_until_its_end() {
        let mut limits = RateLimits::none();
        limits.note(NOW, 200, Some("60:error"), None);
        limits.note(NOW, 200, Some("1:error"), None);
        assert!(limits.holds_errors(NOW + 59_999));
        assert!(!limits.holds_errors(NOW + 60_000));
        assert!(!limits.holds_client_reports(NOW));
    }

    #[test]
    fn seconds_are_read_exactly() {
        let cases = [
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            (".5", Some(500)),
            ("2.", Some(2_000)),
            ("0.0001", Some(1)),
            ("", None),
            (".", None),
            ("-1", None),
            ("1e3", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read_seconds(text), expected, "{text}");
        }
    }
}
