//! The table `compensations`: one list of declarations a principal, and one for all.

use super::db::{Db, StoreError};
use super::policies::ALL;
use crate::tools::compensation::{Declaration, Declarations};
use crate::{row, sql};

row! {
    struct Row {
        principal: String,
        list: String,
    }
}

/// The declarations that hold for a principal.
///
/// # Errors
///
/// When D1 cannot be read, or what is stored is no list of declarations.
pub async fn of(db: &Db, principal: &str) -> Result<Declarations, StoreError> {
    let statement = sql!(
        "SELECT principal, list FROM compensations WHERE principal = ?1 OR principal = ?2",
        principal,
        ALL
    );
    let mut declarations = Declarations::default();
    for row in db.all::<Row>(&statement).await? {
        let list: Vec<Declaration> = serde_json::from_str(&row.list).map_err(|error| {
            StoreError(format!("the compensations of {}: {error}", row.principal))
        })?;
        if row.principal == ALL {
            declarations.all = list;
        } else {
            declarations.own = list;
        }
    }
    Ok(declarations)
}

/// Replaces a list.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn put(db: &Db, of: &str, list: &str, by: &str, now: u64) -> Result<(), StoreError> {
    let statement = sql!(
        "INSERT INTO compensations (principal, list, updated_at, updated_by) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (principal) DO UPDATE
           SET list = excluded.list, updated_at = excluded.updated_at,
               updated_by = excluded.updated_by",
        of,
        list,
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
    Ok(db.run(&sql!("DELETE FROM compensations WHERE principal = ?1", of)).await? > 0)
}
