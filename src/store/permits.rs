//! Permits: how many attempts may be at work at once, for a principal and in all.
//!
//! A running row of `runs` is the permit, its lease the term: an isolate that died gives its permit
//! back by itself. Whoever finds none free takes a place in `line` and asks again; a place expires
//! when nobody asks. A promise of another request is never awaited.

use super::db::{Db, Rows, Statement, StoreError};
use super::ledger::{self, Claim, Place};
use super::packages;
use super::runs::{self, Beginning};
use crate::{row, sql};
use futures_util::FutureExt as _;

/// How many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permits {
    /// Attempts in all.
    pub all: u64,
    /// Attempts of one principal.
    pub principal: u64,
    /// Places in a principal's line.
    pub line: u64,
}

/// How long a place in line is kept without being asked for, in milliseconds: many polls.
const PLACE_MS: u64 = 5_000;

/// What asking for a permit came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The run has begun: its rows are written.
    Granted,
    /// No permit is free.
    Full,
    /// Another run answers the idempotency key.
    Taken,
    /// The package is not what was remembered.
    Moved,
}

/// Begins a run if a permit is free and nobody of its principal has waited longer; with a claim,
/// only if no other run has the key. `record` begins its record with it. `reads` are answered
/// by the same way to the database.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn ask(
    db: &Db,
    run: &Beginning<'_>,
    record: Option<&Statement>,
    claim: Option<&Claim>,
    permits: &Permits,
    joined_at: Option<u64>,
    reads: Vec<Statement>,
) -> Result<(Asked, Vec<Rows>), StoreError> {
    let begin = runs::begin(run, permits, joined_at);
    let mut statements = vec![begin.0, begin.1];
    let place = claim.map(|claim| Place { principal: run.principal, surface: run.surface, claim });
    if let Some(place) = place {
        statements.extend(ledger::claim(run.id, place, run.now));
    }
    if joined_at.is_some() {
        statements.push(sql!(
            "DELETE FROM line WHERE run_id = ?1 AND EXISTS (SELECT 1 FROM runs WHERE id = ?1)",
            run.id
        ));
    }
    statements.extend(record.cloned());
    let written = statements.len();
    statements.extend(reads);
    let mut answers = db.ask(&statements).await?;
    let read = answers.split_off(written.min(answers.len()));
    let written = answers.iter().map(Rows::changes).collect::<Result<Vec<_>, _>>()?;
    let changed = |at: usize| written.get(at).is_some_and(|rows| *rows > 0);
    let asked = match (changed(0), place) {
        (true, None) => Asked::Granted,
        (true, Some(_)) if changed(2) => Asked::Granted,
        (true, Some(_)) => Asked::Taken,
        (false, place) => why_not(db, run, place).boxed_local().await?,
    };
    Ok((asked, read))
}

/// Why a run did not begin.
async fn why_not(
    db: &Db,
    run: &Beginning<'_>,
    place: Option<Place<'_>>,
) -> Result<Asked, StoreError> {
    // An answer that is there needs no permit, and no package any more.
    if let Some(place) = place
        && let Some(row) = ledger::find(db, place).await?
        && row.run_id.is_some()
    {
        return Ok(Asked::Taken);
    }
    if let Some((name, version)) = run.remembered
        && !packages::points_at(db, run.principal, name, version).await?
    {
        return Ok(Asked::Moved);
    }
    Ok(Asked::Full)
}

/// Takes a place in line; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn join(
    db: &Db,
    run_id: &str,
    principal: &str,
    permits: &Permits,
    now: u64,
) -> Result<bool, StoreError> {
    let statement = sql!(
        "INSERT INTO line (run_id, principal, joined_at, expires_at)
         SELECT ?1, ?2, ?3, ?4
         WHERE (SELECT COUNT(*) FROM line WHERE principal = ?2 AND expires_at > ?3) < ?5",
        run_id,
        principal,
        now,
        now.saturating_add(PLACE_MS),
        permits.line
    );
    Ok(db.run(&statement).await? > 0)
}

/// Keeps a place.
#[must_use]
pub fn keep(run_id: &str, now: u64) -> Statement {
    sql!("UPDATE line SET expires_at = ?2 WHERE run_id = ?1", run_id, now.saturating_add(PLACE_MS))
}

/// Leaves the line.
#[must_use]
pub fn leave(run_id: &str) -> Statement {
    sql!("DELETE FROM line WHERE run_id = ?1", run_id)
}

/// Removes places that nobody keeps.
#[must_use]
pub fn prune(now: u64) -> Statement {
    sql!("DELETE FROM line WHERE expires_at < ?1", now)
}

/// How many attempts of a principal are at work.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn at_work(db: &Db, principal: &str, now: u64) -> Result<u64, StoreError> {
    row! {
        struct Count {
            n: u64,
        }
    }
    let statement = sql!(
        "SELECT COUNT(*) AS n FROM runs
         WHERE principal = ?1 AND status = 'running' AND lease_until > ?2 AND parent_id IS NULL",
        principal,
        now
    );
    Ok(db.first::<Count>(&statement).await?.map_or(0, |row| row.n))
}
