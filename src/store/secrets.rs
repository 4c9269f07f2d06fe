//! The table `secrets`: sealed values, and where each may go. Nothing here can open one.

use super::db::{Db, StoreError};
use crate::platform::seal::Sealed;
use crate::{row, sql};

/// A secret that is to be stored.
#[derive(Debug)]
pub struct Putting<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The key that sealed it.
    pub key_id: &'a str,
    /// Its value, sealed.
    pub sealed: &'a Sealed,
    /// JSON.
    pub grants: &'a str,
    /// Now.
    pub now: u64,
}

row! {
    /// A secret's row.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Whose it is.
        pub principal: String,
        /// Its name.
        pub name: String,
        /// The key that sealed it.
        pub key_id: String,
        /// Hex.
        pub nonce: String,
        /// Hex.
        pub sealed: String,
        /// JSON.
        pub grants: String,
    }
}

row! {
    /// A secret as it is listed.
    #[derive(Debug, Clone)]
    pub struct Listed {
        /// Its name.
        pub name: String,
        /// JSON.
        pub grants: String,
        /// When it was first put.
        pub created_at: u64,
        /// When it was put last.
        pub updated_at: u64,
    }
}

/// Puts a secret, in place of one of the same name.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn put(db: &Db, putting: &Putting<'_>) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO secrets (principal, name, key_id, nonce, sealed, grants, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
         ON CONFLICT (principal, name) DO UPDATE
           SET key_id = ?3, nonce = ?4, sealed = ?5, grants = ?6, updated_at = ?7",
        putting.principal,
        putting.name,
        putting.key_id,
        putting.sealed.nonce.as_str(),
        putting.sealed.text.as_str(),
        putting.grants,
        putting.now,
    );
    db.run(&statement).await.map(|_| ())
}

/// The rows of the named secrets: `names` is a JSON array, of 20 at most.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn named(db: &Db, principal: &str, names: &str) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, key_id, nonce, sealed, grants FROM secrets
         WHERE principal = ?1 AND name IN (SELECT value FROM json_each(?2))",
        principal,
        names
    );
    db.all(&statement).await
}

/// The names and grants, at most 1,000.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn list(db: &Db, principal: &str) -> Result<Vec<Listed>, StoreError> {
    let statement = sql!(
        "SELECT name, grants, created_at, updated_at FROM secrets WHERE principal = ?1
         ORDER BY name LIMIT 1000",
        principal
    );
    db.all(&statement).await
}

/// Deletes a secret; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn delete(db: &Db, principal: &str, name: &str) -> Result<bool, StoreError> {
    let statement = sql!("DELETE FROM secrets WHERE principal = ?1 AND name = ?2", principal, name);
    Ok(db.run(&statement).await? > 0)
}

/// Up to `most` secrets that another key than `newest` has sealed.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn of_older_keys(db: &Db, newest: &str, most: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, key_id, nonce, sealed, grants FROM secrets
         WHERE key_id < ?1 OR key_id > ?1 LIMIT ?2",
        newest,
        most
    );
    db.all(&statement).await
}

/// Seals a secret anew, unless it was put meanwhile.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn reseal(db: &Db, row: &Row, key_id: &str, sealed: &Sealed) -> Result<(), StoreError> {
    let statement = sql!(
        "UPDATE secrets SET key_id = ?4, nonce = ?5, sealed = ?6
         WHERE principal = ?1 AND name = ?2 AND nonce = ?3",
        row.principal.as_str(),
        row.name.as_str(),
        row.nonce.as_str(),
        key_id,
        sealed.nonce.as_str(),
        sealed.text.as_str(),
    );
    db.run(&statement).await.map(|_| ())
}
