//! The table `ledger`: which run answers an idempotency key.
//!
//! A claim is written in the batch that begins its run. Its owner is alive as long as the run's
//! lease holds.

use super::db::{Db, Statement, StoreError};
use crate::run::surface::Surface;
use crate::{row, sql};
use serde::{Deserialize, Serialize};

/// Rows that one pruning removes. The schedule comes again in a minute.
const PRUNE_AT_ONCE: u64 = 1_000;

/// What a run answers, beside its own caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// What is run: empty for a program, `name/export` for an invocation.
    pub target: String,
    /// The caller's key.
    pub key: String,
    /// SHA-256 of the canonical request, hex.
    pub request_hash: String,
}

/// Whose key it is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The principal.
    pub principal: &'a str,
    /// The surface.
    pub surface: Surface,
    /// Target, key and request.
    pub claim: &'a Claim,
}

/// The statements that follow those which begin the run `id`: the claim, or, when another has it,
/// no run either. The first one changes a row if the claim was made.
#[must_use]
pub fn claim(id: &str, place: Place<'_>, now: u64) -> [Statement; 3] {
    [
        sql!(
            "INSERT INTO ledger
               (principal, surface, target, key, request_hash, fence, run_id, claimed_at)
             SELECT ?2, ?3, ?4, ?5, ?6, 1, ?1, ?7 FROM runs WHERE id = ?1
             ON CONFLICT (principal, surface, target, key) DO UPDATE
               SET run_id = excluded.run_id, claimed_at = excluded.claimed_at, fence = fence + 1
               WHERE run_id IS NULL AND request_hash = excluded.request_hash",
            id,
            place.principal,
            place.surface.as_str(),
            place.claim.target.as_str(),
            place.claim.key.as_str(),
            place.claim.request_hash.as_str(),
            now,
        ),
        sql!(
            "DELETE FROM run_inputs
             WHERE run_id = ?1 AND NOT EXISTS (SELECT 1 FROM ledger WHERE run_id = ?1)",
            id
        ),
        sql!(
            "DELETE FROM runs
             WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM ledger WHERE run_id = ?1)",
            id
        ),
    ]
}

row! {
    /// A key's row, and how its run stands.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// The request that it was first sent with.
        pub request_hash: String,
        /// The run that answers; `None` when the claim was given back.
        pub run_id: Option<String>,
        /// Whether it was answered and the answer could not be stored.
        pub answer_lost: u64,
        /// Status of the run.
        pub status: Option<String>,
        /// Past it the run's attempt counts as dead.
        pub lease_until: Option<u64>,
    }
}

/// The row of a key.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(db: &Db, place: Place<'_>) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT l.request_hash, l.run_id, l.answer_lost, r.status, r.lease_until
         FROM ledger l LEFT JOIN runs r ON r.id = l.run_id
         WHERE l.principal = ?1 AND l.surface = ?2 AND l.target = ?3 AND l.key = ?4",
        place.principal,
        place.surface.as_str(),
        place.claim.target.as_str(),
        place.claim.key.as_str(),
    );
    db.first(&statement).await
}

/// Gives the claim of a run back that was ended as lost under `fence`, if nothing that it did can
/// have had an effect: no tool was called but those of `reads`, a JSON array of their names.
#[must_use]
pub fn give_back(run_id: &str, fence: u64, reads: &str) -> Statement {
    sql!(
        "UPDATE ledger SET run_id = NULL, fence = fence + 1
         WHERE run_id = ?1 AND answer_lost = 0
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'failed')
           AND NOT EXISTS (SELECT 1 FROM dispatches
                WHERE run_id = ?1 AND path NOT IN (SELECT value FROM json_each(?3)))",
        run_id,
        fence,
        reads
    )
}

/// Notes that a run was answered and the answer is not stored, so that it is not run again.
#[must_use]
pub fn lose_answer(run_id: &str) -> Statement {
    sql!("UPDATE ledger SET answer_lost = 1 WHERE run_id = ?1", run_id)
}

/// Removes keys that were claimed before `before`, those of `target` only before `longer`; never one
/// whose run has not ended.
#[must_use]
pub fn prune(before: u64, target: &str, longer: u64) -> Statement {
    sql!(
        "DELETE FROM ledger WHERE (principal, surface, target, key) IN (
           SELECT l.principal, l.surface, l.target, l.key
           FROM ledger l LEFT JOIN runs r ON r.id = l.run_id
           WHERE l.claimed_at < ?1 AND (l.target <> ?3 OR l.claimed_at < ?4)
             AND (r.status IS NULL OR r.status IN ('completed', 'failed', 'cancelled'))
           ORDER BY l.claimed_at LIMIT ?2)",
        before,
        PRUNE_AT_ONCE,
        target,
        longer
    )
}
