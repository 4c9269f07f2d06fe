//! The tables `policies` and `compensations`: in each one list a principal, and one for all.

use super::db::{Db, StoreError};
use crate::sql;

/// Whose the list is that holds for all.
pub const ALL: &str = "*";

/// Which lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Rules of who may call what.
    Policies,
    /// By which calls what tools did is undone.
    Compensations,
}

/// Replaces a list, JSON.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn put(
    db: &Db,
    lists: Lists,
    of: &str,
    list: &str,
    by: &str,
    now: u64,
) -> Result<(), StoreError> {
    let text = match lists {
        Lists::Policies => {
            "INSERT INTO policies (principal, rules, updated_at, updated_by)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (principal) DO UPDATE
               SET rules = excluded.rules, updated_at = excluded.updated_at,
                   updated_by = excluded.updated_by"
        }
        Lists::Compensations => {
            "INSERT INTO compensations (principal, list, updated_at, updated_by)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (principal) DO UPDATE
               SET list = excluded.list, updated_at = excluded.updated_at,
                   updated_by = excluded.updated_by"
        }
    };
    db.run(&sql!(text, of, list, now, by)).await.map(|_| ())
}

/// Removes a list; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn remove(db: &Db, lists: Lists, of: &str) -> Result<bool, StoreError> {
    let text = match lists {
        Lists::Policies => "DELETE FROM policies WHERE principal = ?1",
        Lists::Compensations => "DELETE FROM compensations WHERE principal = ?1",
    };
    Ok(db.run(&sql!(text, of)).await? > 0)
}
