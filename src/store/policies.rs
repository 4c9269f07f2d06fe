//! The table `policies`: one list of rules a principal, and one for all.

use super::db::{Db, Rows, Statement, StoreError};
use super::lists::ALL;
use crate::tools::policy::{Policy, Rule};
use crate::{row, sql};

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
