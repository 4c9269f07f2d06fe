//! The table `compensations`: one list of declarations a principal, and one for all; and those that
//! the settings of sources hold.

use super::db::{Db, StoreError};
use super::lists::ALL;
use crate::tools::compensation::{Declaration, Declarations};
use crate::{row, sql};

row! {
    struct Row {
        of: String,
        of_source: u64,
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
        "SELECT principal AS of, 0 AS of_source, list FROM compensations
         WHERE principal = ?1 OR principal = ?2
         UNION ALL
         SELECT name, 1, settings -> '$.compensations' FROM sources
         WHERE principal = ?1 AND settings -> '$.compensations' IS NOT NULL",
        principal,
        ALL
    );
    let mut declarations = Declarations::default();
    for row in db.all::<Row>(&statement).await? {
        let list: Vec<Declaration> = serde_json::from_str(&row.list)
            .map_err(|error| StoreError(format!("the compensations of {}: {error}", row.of)))?;
        match (row.of_source, row.of.as_str()) {
            (0, ALL) => declarations.all = list,
            (0, _) => declarations.own = list,
            _ => declarations.sources.extend(list),
        }
    }
    Ok(declarations)
}
