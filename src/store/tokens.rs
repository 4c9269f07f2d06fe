//! The table `tokens`: bearer tokens by the hash of their secret part.

use super::db::{Db, StoreError};
use crate::{row, sql};

row! {
    /// One token, as stored.
    #[derive(Debug, Clone)]
    pub struct Token {
        /// Its public part.
        pub id: String,
        /// Whose it is.
        pub principal: String,
        /// SHA-256 of the secret part, hex.
        pub hash: String,
        /// Its owner's name for it.
        pub label: String,
        /// Scopes, separated by one space.
        pub scopes: String,
        /// When it was made, Unix ms.
        pub created_at: u64,
        /// When it stops working, Unix ms; `None` means never.
        pub expires_at: Option<u64>,
        /// When it was revoked, Unix ms.
        pub revoked_at: Option<u64>,
        /// When it was last used, Unix ms, to the minute.
        pub last_used_at: Option<u64>,
    }
}

/// The token with this public part.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn find(db: &Db, id: &str) -> Result<Option<Token>, StoreError> {
    let statement = sql!(
        "SELECT id, principal, hash, label, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM tokens WHERE id = ?1",
        id
    );
    db.first(&statement).await
}

/// A principal's tokens, newest first.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn list(db: &Db, principal: &str, limit: u64) -> Result<Vec<Token>, StoreError> {
    let statement = sql!(
        "SELECT id, principal, hash, label, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM tokens WHERE principal = ?1 ORDER BY created_at DESC LIMIT ?2",
        principal,
        limit
    );
    db.all(&statement).await
}

/// Stores a token.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn insert(db: &Db, token: &Token) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO tokens (id, principal, hash, label, scopes, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        token.id.as_str(),
        token.principal.as_str(),
        token.hash.as_str(),
        token.label.as_str(),
        token.scopes.as_str(),
        token.created_at,
        token.expires_at,
    );
    db.run(&statement).await?;
    Ok(())
}

/// Revokes a principal's token; whether there was one to revoke.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn revoke(db: &Db, principal: &str, id: &str, now: u64) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE tokens SET revoked_at = ?3
         WHERE id = ?1 AND principal = ?2 AND revoked_at IS NULL",
        id,
        principal,
        now
    );
    Ok(db.run(&statement).await? > 0)
}

/// Notes that a token was used, at most once a minute.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn touch(db: &Db, id: &str, now: u64) -> Result<(), StoreError> {
    let statement = sql!("UPDATE tokens SET last_used_at = ?2 WHERE id = ?1", id, now);
    db.run(&statement).await?;
    Ok(())
}
