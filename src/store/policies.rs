//! The table `policies`: one list of rules a principal, and one for all.

use super::db::{Db, StoreError};
use crate::sql;
use crate::tools::policy::{Policy, Rule};
use serde::Deserialize;

/// Whose the list is that holds for all.
pub const ALL: &str = "*";

#[derive(Deserialize)]
struct Row {
    principal: String,
    rules: String,
}

/// The rules that hold for a principal.
///
/// # Errors
///
/// When D1 cannot be read, or what is stored is no list of rules: then nothing may be called.
pub async fn of(db: &Db, principal: &str) -> Result<Policy, StoreError> {
    let statement = sql!(
        "SELECT principal, rules FROM policies WHERE principal = ?1 OR principal = ?2",
        principal,
        ALL
    );
    let mut policy = Policy::default();
    for row in db.all::<Row>(&statement).await? {
        let rules: Vec<Rule> = serde_json::from_str(&row.rules)
            .map_err(|error| StoreError(format!("the rules of {}: {error}", row.principal)))?;
        if row.principal == ALL {
            policy.all = rules;
        } else {
            policy.own = rules;
        }
    }
    Ok(policy)
}

/// Replaces a list.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn put(db: &Db, of: &str, rules: &str, by: &str, now: u64) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO policies (principal, rules, updated_at, updated_by) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (principal) DO UPDATE
           SET rules = excluded.rules, updated_at = excluded.updated_at,
               updated_by = excluded.updated_by",
        of,
        rules,
        now,
        by
    );
    db.run(&statement).await.map(|_| ())
}

/// Removes a list; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn remove(db: &Db, of: &str) -> Result<bool, StoreError> {
    Ok(db.run(&sql!("DELETE FROM policies WHERE principal = ?1", of)).await? > 0)
}
