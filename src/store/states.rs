//! The table `used_states`: what clients brought once to go on with a call.

use super::db::{Db, Statement, StoreError};
use crate::sql;

/// Rows that one pruning removes. The schedule comes again in a minute.
const PRUNE_AT_ONCE: u64 = 1_000;

/// Takes a state; whether it was the first time. It is remembered until it would be refused for its
/// age.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn take(db: &Db, nonce: &str, expires_at: u64) -> Result<bool, StoreError> {
    let statement = sql!(
        "INSERT INTO used_states (nonce, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        nonce,
        expires_at
    );
    Ok(db.run(&statement).await? > 0)
}

/// Removes those that are refused for their age at `now`.
#[must_use]
pub fn prune(now: u64) -> Statement {
    sql!(
        "DELETE FROM used_states WHERE nonce IN (
           SELECT nonce FROM used_states WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
        now,
        PRUNE_AT_ONCE
    )
}
