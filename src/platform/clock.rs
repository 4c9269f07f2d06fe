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
