//! The tables `sessions` and `sign_in_tries`: browsers that are signed in, and how often somebody tried.

use super::db::{Db, Statement, StoreError};
use crate::{row, sql};

/// Signs a browser in. `token`: the id of the token that did; `proof`: what binds it to the admin token.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn insert(
    db: &Db,
    hash: &str,
    token: Option<&str>,
    proof: Option<&str>,
    (now, expires_at): (u64, u64),
) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO sessions (hash, token_id, proof, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        hash,
        token,
        proof,
        now,
        expires_at
    );
    db.run(&statement).await.map(|_| ())
}

row! {
    /// A session that lives, and the token that it lives by.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// The token; `None` for the admin's.
        pub token_id: Option<String>,
        /// Of the admin's session.
        pub proof: Option<String>,
        /// When it ends.
        pub expires_at: u64,
        /// Whose the token is; `None` when there is none.
        pub principal: Option<String>,
        /// Its scopes.
        pub scopes: Option<String>,
        /// Its owner's name for it.
        pub label: Option<String>,
    }
}

/// The session of a cookie, unless it or its token has expired or the token is revoked.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn find(db: &Db, hash: &str, now: u64) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT s.token_id, s.proof, s.expires_at, t.principal, t.scopes, t.label
         FROM sessions s LEFT JOIN tokens t ON t.id = s.token_id
         WHERE s.hash = ?1 AND s.expires_at > ?2 AND t.revoked_at IS NULL
           AND (t.expires_at IS NULL OR t.expires_at > ?2)",
        hash,
        now
    );
    db.first(&statement).await
}

/// Signs a browser out.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn remove(db: &Db, hash: &str) -> Result<(), StoreError> {
    db.run(&sql!("DELETE FROM sessions WHERE hash = ?1", hash)).await.map(|_| ())
}

/// Counts a try from an address, before it is judged; how many there were in the window.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn count_try(
    db: &Db,
    address: &str,
    now: u64,
    window_ms: u64,
) -> Result<u64, StoreError> {
    row! {
        struct Tries {
            tries: u64,
        }
    }
    let statement = sql!(
        "INSERT INTO sign_in_tries (address, tries, since) VALUES (?1, 1, ?2)
         ON CONFLICT (address) DO UPDATE
           SET tries = CASE WHEN since <= ?3 THEN 1 ELSE tries + 1 END,
               since = CASE WHEN since <= ?3 THEN ?2 ELSE since END
         RETURNING tries",
        address,
        now,
        now.saturating_sub(window_ms)
    );
    Ok(db.first::<Tries>(&statement).await?.map_or(1, |row| row.tries))
}

/// Takes a try back that was none: it signed in.
#[must_use]
pub fn uncount(address: &str) -> Statement {
    sql!("UPDATE sign_in_tries SET tries = tries - 1 WHERE address = ?1 AND tries > 0", address)
}

/// Forgets sessions that have ended, and tries from before `since`.
#[must_use]
pub fn prune(now: u64, since: u64) -> [Statement; 2] {
    [
        sql!("DELETE FROM sessions WHERE expires_at <= ?1", now),
        sql!("DELETE FROM sign_in_tries WHERE since <= ?1", since),
    ]
}
