//! The table `source_turns`: which calls of a source may be made, over all runs, and which wait.
//!
//! Calls stand in the order in which they came. One has its turn when fewer than the source takes stand before
//! it; whoever waits asks again. A row runs out by itself, so what a dead isolate had comes back.

use super::db::{Db, Statement, StoreError};
use crate::{row, sql};

/// How long a call that waits keeps its place without asking again, in milliseconds: many looks.
const PLACE_MS: u64 = 5_000;

/// The source whose turns are taken.
#[derive(Debug, Clone, Copy)]
pub struct Of<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// Its name.
    pub source: &'a str,
    /// Calls at once.
    pub most: u64,
    /// How long a call may take, in milliseconds.
    pub call_ms: u64,
}

row! {
    /// A place among the calls.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Place {
        /// Its row.
        pub id: u64,
        /// When it runs out: of a call that waits, after a few seconds.
        until: u64,
    }
}

impl Place {
    /// Whether it was its turn at `now`.
    #[must_use]
    pub fn has_turn(&self, of: &Of<'_>, now: u64) -> bool {
        self.until == now.saturating_add(of.call_ms)
    }
}

/// Takes a place.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn join(db: &Db, of: &Of<'_>, now: u64) -> Result<Option<Place>, StoreError> {
    let statement = sql!(
        "INSERT INTO source_turns (principal, source, until)
         SELECT ?1, ?2, CASE WHEN COUNT(*) < ?4 THEN ?5 ELSE ?6 END
         FROM source_turns WHERE principal = ?1 AND source = ?2 AND until > ?3
         RETURNING id, until",
        of.principal,
        of.source,
        now,
        of.most,
        now.saturating_add(of.call_ms),
        now.saturating_add(waits_ms(of)),
    );
    db.first(&statement).await
}

/// Asks again; `None` when the place ran out.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn look(db: &Db, of: &Of<'_>, id: u64, now: u64) -> Result<Option<Place>, StoreError> {
    let statement = sql!(
        "UPDATE source_turns SET until = CASE WHEN
           (SELECT COUNT(*) FROM source_turns WHERE principal = ?1 AND source = ?2 AND id < ?7 AND until > ?3) < ?4
         THEN ?5 ELSE ?6 END
         WHERE id = ?7 AND until > ?3
         RETURNING id, until",
        of.principal,
        of.source,
        now,
        of.most,
        now.saturating_add(of.call_ms),
        now.saturating_add(waits_ms(of)),
        id,
    );
    db.first(&statement).await
}

/// A place and a turn are told apart by how long they last.
fn waits_ms(of: &Of<'_>) -> u64 {
    if of.call_ms == PLACE_MS { PLACE_MS.saturating_add(1) } else { PLACE_MS }
}

/// Gives a place back.
#[must_use]
pub fn leave(id: u64) -> Statement {
    sql!("DELETE FROM source_turns WHERE id = ?1", id)
}

/// Forgets what ran out.
#[must_use]
pub fn prune(now: u64) -> Statement {
    sql!("DELETE FROM source_turns WHERE until < ?1", now)
}
