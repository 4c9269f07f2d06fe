//! The host's clock. In production it stands still between two I/O operations.

/// Now, in Unix milliseconds.
#[must_use]
pub fn now_ms() -> u64 {
    worker::Date::now().as_millis()
}

/// Waits. The timer is cleared when the future is dropped.
pub async fn sleep_ms(ms: u64) {
    // `Delay` casts to i32: a longer wait would come back at once.
    let ms = ms.min(2_147_483_647);
    worker::Delay::from(std::time::Duration::from_millis(ms)).await;
}

/// The date of a text in ISO 8601, Unix milliseconds; `None` for one that is none, or before 1970.
#[must_use]
pub fn read_date(text: &str) -> Option<u64> {
    let ms = js_sys::Date::parse(text);
    // Formatting is exact here, and the only conversion that cannot go wrong silently.
    (ms.is_finite() && ms >= 0.0).then(|| format!("{ms:.0}").parse().ok()).flatten()
}
