//! The table `policies`: one list of rules a principal, and one for all.

use super::db::{Db, Rows, Statement, StoreError};
use crate::tools::policy::{Policy, Rule};
use crate::{row, sql};

/// Whose the list is that holds for all.
pub const ALL: &str = "*";

row! {
    struct Row {
        principal: String,
        rules: String,
    }
}

/// The rules that hold for a principal.
///
/// # Errors
///
/// When D1 cannot be read, or what is stored is no list of rules: then nothing may be called.
pub async fn of(db: &Db, principal: &str) -> Result<Policy, StoreError> {
    read(db.all(&lists(principal)).await?)
}

/// Asks for the rules that hold for a principal, as part of a batch; [`in_rows`] reads them.
#[must_use]
pub fn lists(principal: &str) -> Statement {
    sql!(
        "SELECT principal, rules FROM policies WHERE principal = ?1 OR principal = ?2",
        principal,
        ALL
    )
}

/// The rules that [`lists`] found.
///
/// # Errors
///
/// As [`of`].
pub fn in_rows(rows: &Rows) -> Result<Policy, StoreError> {
    read(rows.read()?)
}

fn read(rows: Vec<Row>) -> Result<Policy, StoreError> {
    let mut policy = Policy::default();
    for row in rows {
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
