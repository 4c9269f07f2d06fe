//! The tables `runs`, `run_inputs`, `run_responses` and `run_logs`.
//!
//! A run's row leaves `running` once, by an UPDATE that names the fence. Whoever lost the lease
//! can write nothing any more.

use super::db::{Db, Statement, StoreError};
use super::permits::Permits;
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::{row, sql};

/// How long an attempt counts as alive after its last sign of life, in milliseconds (DESIGN §11).
pub const LEASE_MS: u64 = 30_000;

/// The most bytes of a response or a journal in one row: half of what D1 allows.
const PART_BYTES: usize = 1_000_000;

/// A run that is about to begin.
#[derive(Debug, Clone)]
pub struct Beginning<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whose it is.
    pub principal: &'a str,
    /// Where it comes from.
    pub surface: Surface,
    /// The caller's own name for it.
    pub label: Option<&'a str>,
    /// Its budget.
    pub budget_ms: u64,
    /// When its request arrived.
    pub created_at: u64,
    /// The program.
    pub source: &'a str,
    /// The parameters, JSON.
    pub params: &'a str,
    /// Fence of its first attempt.
    pub fence: u64,
    /// The run that started it; such a run needs no permit.
    pub parent: Option<&'a str>,
    /// A package that must still point at this version.
    pub remembered: Option<(&'a str, u64)>,
    /// Now.
    pub now: u64,
}

/// The rows of a run that begins, if a permit is free: the run's own row is the permit. A stretch of a
/// service that was stopped meanwhile begins as one that is asked to end.
/// `joined_at`: when it took its place in line; whoever of its principal joined earlier goes first.
///
/// Both can be written twice: an id is never another run's.
#[must_use]
pub fn begin(
    run: &Beginning<'_>,
    permits: &Permits,
    joined_at: Option<u64>,
) -> (Statement, Statement) {
    (
        sql!(
            "INSERT INTO runs
               (id, principal, surface, status, label, budget_ms, created_at, fence, lease_until,
                parent_id, cancel_asked)
             SELECT ?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8, ?13,
                CASE WHEN ?3 = 'service' THEN (SELECT wanted = 'stopped' FROM services
                  WHERE run_id = ?1) ELSE 0 END
             WHERE (?14 IS NULL OR EXISTS (SELECT 1 FROM packages
                      WHERE principal = ?2 AND name = ?14 AND version = ?15))
               AND (?13 IS NOT NULL
                OR (?3 <> 'service' OR EXISTS (SELECT 1 FROM services WHERE run_id = ?1))
               AND (SELECT COUNT(*) FROM runs WHERE status = 'running' AND lease_until > ?9
                      AND parent_id IS NULL) < ?10
               AND (SELECT COUNT(*) FROM runs WHERE principal = ?2 AND status = 'running'
                      AND lease_until > ?9 AND parent_id IS NULL) < ?11
               AND NOT EXISTS (SELECT 1 FROM line
                    WHERE principal = ?2 AND expires_at > ?9 AND run_id <> ?1
                      AND (joined_at, run_id) < (?12, ?1)))
             ON CONFLICT DO NOTHING",
            run.id,
            run.principal,
            run.surface.as_str(),
            run.label,
            run.budget_ms,
            run.created_at,
            run.fence,
            run.now.saturating_add(LEASE_MS),
            run.now,
            permits.all,
            permits.principal,
            joined_at.unwrap_or(run.now),
            run.parent,
            run.remembered.map(|(name, _)| name),
            run.remembered.map(|(_, version)| version),
        ),
        sql!(
            "INSERT INTO run_inputs (run_id, source, params)
             SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)
             ON CONFLICT DO NOTHING",
            run.id,
            run.source,
            run.params
        ),
    )
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Ending<'a> {
    /// Its id.
    pub id: &'a str,
    /// Fence of the attempt that writes.
    pub fence: u64,
    /// Its final status.
    pub status: Status,
    /// Code and kind of the error, unless it completed.
    pub error: Option<(&'a str, &'a str)>,
    /// When.
    pub ended_at: u64,
    /// The response as it is answered.
    pub response: &'a str,
    /// Lines of it may be stored, which the response has now.
    pub logged: bool,
}

/// The rows of a run that ends: the response first, under the fence, then the row itself, which is
/// the last of the result. Nothing is written when the run has ended already.
#[must_use]
pub fn end(run: &Ending<'_>) -> Vec<Statement> {
    let mut statements: Vec<Statement> = parts(run.response)
        .zip(0_u64..)
        .map(|(body, part)| {
            sql!(
                "INSERT INTO run_responses (run_id, part, body)
                 SELECT ?1, ?3, ?4 FROM runs
                 WHERE id = ?1 AND fence = ?2 AND status = 'running'
                 ON CONFLICT DO NOTHING",
                run.id,
                run.fence,
                part,
                body
            )
        })
        .collect();
    if run.logged {
        statements.push(sql!("DELETE FROM run_logs WHERE run_id = ?1", run.id));
    }
    statements.push(sql!(
        "UPDATE runs SET status = ?3, error_code = ?4, error_kind = ?5, ended_at = ?6
         WHERE id = ?1 AND fence = ?2 AND status = 'running'",
        run.id,
        run.fence,
        run.status.as_str(),
        run.error.map(|(code, _)| code),
        run.error.map(|(_, kind)| kind),
        run.ended_at,
    ));
    statements
}

/// Takes a run over from an attempt that counts as dead at `now`: from then on only the next fence
/// may write.
#[must_use]
pub fn take_over(id: &str, fence: u64, now: u64) -> Statement {
    sql!(
        "UPDATE runs SET fence = fence + 1
         WHERE id = ?1 AND fence = ?2 AND status = 'running' AND lease_until < ?3",
        id,
        fence,
        now
    )
}

/// The lines logged so far, JSON.
#[must_use]
pub fn log(id: &str, fence: u64, lines: &str) -> Statement {
    sql!(
        "INSERT INTO run_logs (run_id, lines)
         SELECT ?1, ?3 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running'
         ON CONFLICT (run_id) DO UPDATE SET lines = ?3",
        id,
        fence,
        lines
    )
}

/// A sign of life; whether the lease still holds, and whether somebody asked for the end.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn renew(db: &Db, id: &str, fence: u64, now: u64) -> Result<Lease, StoreError> {
    row! {
        struct Row {
            cancel_asked: u64,
        }
    }
    let statement = sql!(
        "UPDATE runs SET lease_until = ?3
         WHERE id = ?1 AND fence = ?2 AND status = 'running' RETURNING cancel_asked",
        id,
        fence,
        now.saturating_add(LEASE_MS)
    );
    Ok(match db.first::<Row>(&statement).await? {
        None => Lease::Lost,
        Some(Row { cancel_asked: 0 }) => Lease::Held,
        Some(Row { .. }) => Lease::CancelAsked,
    })
}

/// What a sign of life found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// All is well.
    Held,
    /// Somebody asked for the end of the run.
    CancelAsked,
    /// The run has ended, or another attempt has it.
    Lost,
}

row! {
    /// A run's row.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Its id.
        pub id: String,
        /// Whose it is.
        pub principal: String,
        /// Where it stands.
        pub status: String,
        /// Where it came from.
        pub surface: String,
        /// The caller's own name for it.
        pub label: Option<String>,
        /// Its budget.
        pub budget_ms: u64,
        /// When its request arrived.
        pub created_at: u64,
        /// When it ended.
        pub ended_at: Option<u64>,
        /// The fence that may write.
        pub fence: u64,
        /// Past it the attempt counts as dead.
        pub lease_until: u64,
        /// Code of its error.
        pub error_code: Option<String>,
        /// Kind of its error.
        pub error_kind: Option<String>,
        /// When it goes on by itself.
        pub wake_at: Option<u64>,
    }
}

/// A principal's run. Somebody else's run gives the same answer as none.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(db: &Db, principal: &str, id: &str) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT id, principal, status, surface, label, budget_ms, created_at, ended_at, fence, lease_until,
                error_code, error_kind, wake_at
         FROM runs WHERE id = ?1 AND principal = ?2",
        id,
        principal
    );
    db.first(&statement).await
}

/// A run by its id alone, for whoever ends it in place of its attempt; never for a client.
///
/// # Errors
///
/// As [`find`].
pub async fn any(db: &Db, id: &str) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT id, principal, status, surface, label, budget_ms, created_at, ended_at, fence, lease_until,
                error_code, error_kind, wake_at
         FROM runs WHERE id = ?1",
        id
    );
    db.first(&statement).await
}

/// A place in a list: a run that was the last of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Its time.
    pub created_at: u64,
    /// Its id.
    pub id: String,
}

/// A principal's runs, newest first, after `cursor`, at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn list(
    db: &Db,
    principal: &str,
    status: Option<Status>,
    cursor: Option<&Cursor>,
    limit: u64,
) -> Result<Vec<Row>, StoreError> {
    // Row values compare along the index, so a page costs the same wherever it begins.
    let (at, id) = cursor.map_or((u64::MAX >> 11, "~"), |c| (c.created_at, c.id.as_str()));
    let statement = match status {
        None => sql!(
            "SELECT id, principal, status, surface, label, budget_ms, created_at, ended_at, fence,
                    lease_until, error_code, error_kind, wake_at
             FROM runs WHERE principal = ?1 AND (created_at, id) < (?2, ?3)
             ORDER BY created_at DESC, id DESC LIMIT ?4",
            principal,
            at,
            id,
            limit
        ),
        Some(status) => sql!(
            "SELECT id, principal, status, surface, label, budget_ms, created_at, ended_at, fence,
                    lease_until, error_code, error_kind, wake_at
             FROM runs WHERE principal = ?1 AND status = ?5 AND (created_at, id) < (?2, ?3)
             ORDER BY created_at DESC, id DESC LIMIT ?4",
            principal,
            at,
            id,
            limit,
            status.as_str()
        ),
    };
    db.all(&statement).await
}

/// The response of a run that ended, as it was answered.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn response(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    row! {
        struct Part {
            body: String,
        }
    }
    let statement = sql!("SELECT body FROM run_responses WHERE run_id = ?1 ORDER BY part", id);
    let parts = db.all::<Part>(&statement).await?;
    Ok((!parts.is_empty()).then(|| parts.into_iter().map(|part| part.body).collect()))
}

/// The lines that a run has logged so far, JSON.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn logged(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    row! {
        struct Lines {
            lines: String,
        }
    }
    let statement = sql!("SELECT lines FROM run_logs WHERE run_id = ?1", id);
    Ok(db.first::<Lines>(&statement).await?.map(|row| row.lines))
}

/// Runs whose attempt has given no sign of life for a lease, at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn lost(db: &Db, now: u64, limit: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT id, principal, status, surface, label, budget_ms, created_at, ended_at, fence, lease_until,
                error_code, error_kind, wake_at
         FROM runs WHERE status = 'running' AND lease_until < ?1 ORDER BY lease_until LIMIT ?2",
        now,
        limit
    );
    db.all(&statement).await
}

/// Asks for the end of a principal's run; whether it was at work.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn ask_cancel(db: &Db, principal: &str, id: &str) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE runs SET cancel_asked = 1 WHERE id = ?1 AND principal = ?2 AND status = 'running'",
        id,
        principal
    );
    Ok(db.run(&statement).await? > 0)
}

/// A text in parts that each fit a row.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(PART_BYTES);
        while !rest.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        let (part, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    //! A response is kept whole, whatever its size and characters.

    use super::*;

    #[test]
    fn a_long_response_is_kept_in_parts_that_join_to_the_same_bytes() {
        let text = "é".repeat(1_250_000) + "x";
        let found: Vec<_> = parts(&text).collect();
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|part| part.len() <= PART_BYTES));
        assert_eq!(found.concat(), text);
        assert_eq!(parts("").count(), 0);
    }
}
