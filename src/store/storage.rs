//! The table `storage`: small values of a principal's programs.

use super::db::{Db, StoreError};
use crate::{row, sql};

row! {
    /// One key of a list.
    #[derive(Debug)]
    pub struct Key {
        /// The key.
        pub key: String,
    }
}

row! {
    struct Value {
        value: String,
    }
}

/// The value of a key, as tagged JSON.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn get(db: &Db, principal: &str, key: &str) -> Result<Option<String>, StoreError> {
    let statement =
        sql!("SELECT value FROM storage WHERE principal = ?1 AND key = ?2", principal, key);
    Ok(db.first::<Value>(&statement).await?.map(|row| row.value))
}

/// Sets a key. `value` is tagged JSON.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn set(
    db: &Db,
    principal: &str,
    key: &str,
    value: &str,
    now: u64,
) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO storage (principal, key, value, updated_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (principal, key) DO UPDATE SET value = ?3, updated_at = ?4",
        principal,
        key,
        value,
        now,
    );
    db.run(&statement).await?;
    Ok(())
}

/// Deletes a key; whether it was there.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn delete(db: &Db, principal: &str, key: &str) -> Result<bool, StoreError> {
    let statement = sql!("DELETE FROM storage WHERE principal = ?1 AND key = ?2", principal, key);
    Ok(db.run(&statement).await? > 0)
}

/// Keys that begin with `prefix`, in order, after `after`, at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn list(
    db: &Db,
    principal: &str,
    prefix: &str,
    after: &str,
    limit: u64,
) -> Result<Vec<String>, StoreError> {
    // A range over the primary key. Not LIKE: its patterns end at 50 bytes and it ignores case.
    // U+10FFFF sorts after every text that goes on with another character.
    let upper = format!("{prefix}\u{10FFFF}");
    let statement = sql!(
        "SELECT key FROM storage
         WHERE principal = ?1 AND key >= ?2 AND key < ?3 AND key > ?4
         ORDER BY key LIMIT ?5",
        principal,
        prefix,
        upper,
        after,
        limit,
    );
    Ok(db.all::<Key>(&statement).await?.into_iter().map(|row| row.key).collect())
}
