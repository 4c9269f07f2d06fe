//! The table `policies`: one list of rules a principal, and one for all.

use super::db::{Db, StoreError};
use super::lists::ALL;
use crate::sql;
use crate::tools::policy::{Policy, Rule};
use serde::Deserialize;

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
