//! The table `workflows`, and the rows of a durable run while it is between two segments.
//!
//! A workflow is a run: what it was asked, its record, its questions and its response are in the same
//! tables as any other's. Here is what only a durable run has, and how one is begun and taken up.

use super::db::{Db, Statement, StoreError};
use super::ledger::{self, Place};
use super::permits::Permits;
use super::runs::{Cursor, LEASE_MS};
use crate::run::outcome::Status;
use crate::run::segment::Setback;
use crate::{row, sql};

/// A workflow that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'a> {
    /// Its id, which is its run's and its instance's.
    pub id: &'a str,
    /// Whose it is.
    pub principal: &'a str,
    /// The caller's own name for it.
    pub label: Option<&'a str>,
    /// The budget of a segment.
    pub budget_ms: u64,
    /// Now.
    pub now: u64,
    /// When its first segment begins.
    pub wake_at: u64,
    /// The program, or which export.
    pub source: &'a str,
    /// The parameters, JSON.
    pub params: &'a str,
    /// 64 hex digits.
    pub seed: &'a str,
    /// Version of the harness's numbering.
    pub harness: u64,
    /// What was ordered, without program and parameters, JSON.
    pub request: &'a str,
    /// Retries that were asked for.
    pub retries: u64,
    /// The end of its life time.
    pub ends_at: u64,
    /// Workflows of the principal that may be at work or wait at once.
    pub most_active: u64,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// Its rows are written.
    Yes,
    /// The principal has as many as it may.
    Full,
    /// Another run has the key.
    Taken,
}

/// Begins a workflow in one transaction; with a claim, only if no other has the key.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn begin(
    db: &Db,
    workflow: &Beginning<'_>,
    place: Option<Place<'_>>,
) -> Result<Begun, StoreError> {
    let mut statements = vec![
        sql!(
            "INSERT INTO runs
               (id, principal, surface, status, label, budget_ms, created_at, fence, lease_until,
                wake_at)
             SELECT ?1, ?2, 'workflow', 'parked', ?3, ?4, ?5, 0, 0, ?6
             WHERE (SELECT COUNT(*) FROM runs WHERE principal = ?2 AND surface = 'workflow'
                      AND status IN ('running', 'parked', 'waiting_approval')) < ?7
             ON CONFLICT DO NOTHING",
            workflow.id,
            workflow.principal,
            workflow.label,
            workflow.budget_ms,
            workflow.now,
            workflow.wake_at,
            workflow.most_active,
        ),
        sql!(
            "INSERT INTO run_inputs (run_id, source, params)
             SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)
             ON CONFLICT DO NOTHING",
            workflow.id,
            workflow.source,
            workflow.params,
        ),
    ];
    if let Some(place) = place {
        statements.extend(ledger::claim(workflow.id, place, workflow.now));
    }
    statements.push(sql!(
        "INSERT INTO recordings (run_id, seed, harness, request)
         SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)
         ON CONFLICT DO NOTHING",
        workflow.id,
        workflow.seed,
        workflow.harness,
        workflow.request,
    ));
    statements.push(sql!(
        "INSERT INTO workflows (run_id, retries, ends_at)
         SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)
         ON CONFLICT DO NOTHING",
        workflow.id,
        workflow.retries,
        workflow.ends_at,
    ));
    let written = db.batch(&statements).await?;
    let changed = |at: usize| written.get(at).is_some_and(|rows| *rows > 0);
    Ok(match (changed(0), place) {
        (true, None) => Begun::Yes,
        (true, Some(_)) if changed(2) => Begun::Yes,
        (true, Some(_)) => Begun::Taken,
        // An answer that is there needs no room.
        (false, Some(place)) => match ledger::find(db, place).await? {
            Some(row) if row.run_id.is_some() => Begun::Taken,
            _ => Begun::Full,
        },
        (false, None) => Begun::Full,
    })
}

row! {
    /// A workflow with its run.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Its id.
        pub id: String,
        /// Whose it is.
        pub principal: String,
        /// Where its run stands.
        pub status: String,
        /// The caller's own name for it.
        pub label: Option<String>,
        /// When it was accepted.
        pub created_at: u64,
        /// When it ended.
        pub ended_at: Option<u64>,
        /// The fence that may write.
        pub fence: u64,
        /// Past it the attempt counts as dead.
        pub lease_until: u64,
        /// When it goes on by itself.
        pub wake_at: Option<u64>,
        /// Code of its error.
        pub error_code: Option<String>,
        /// Kind of its error.
        pub error_kind: Option<String>,
        /// Whether the engine was told of it.
        pub made: u64,
        /// Whether the engine knows that it has ended.
        pub closed: u64,
        /// The segment at work, or the last.
        pub segment: u64,
        /// Retries that were asked for.
        pub retries: u64,
        /// The end of its life time.
        pub ends_at: u64,
        /// Segments in a row that were cut.
        pub cuts: u64,
        /// Segments in a row that were lost.
        pub faults: u64,
        /// How often the program was taken back.
        pub errors: u64,
        /// Attempts without a word since the journal last grew.
        pub losses: u64,
        /// Code of the failure for which the last segment is made again.
        pub last_code: Option<String>,
        /// Its message.
        pub last_error: Option<String>,
        /// When the window of the first open question ends.
        pub expires_at: Option<u64>,
        /// Whether somebody decided about a call that it waits with, or the run ended that a call invoked.
        pub decided: u64,
    }
}

impl Row {
    /// Where its run stands.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::parse(&self.status).unwrap_or(Status::Running)
    }

    /// Whether there is something to take it up for.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        match self.status() {
            Status::Parked | Status::WaitingApproval => {
                self.decided > 0
                    || self.wake_at.is_some_and(|at| at <= now)
                    || self.expires_at.is_some_and(|at| at <= now)
            }
            Status::Running => self.lease_until < now,
            Status::Completed | Status::Failed | Status::Cancelled => false,
        }
    }
}

/// The rows of the workflows whose ids a query gives, newest first. `+state`: by the run's own
/// questions, not through all that are open.
macro_rules! rows_of {
    ($ids:literal) => {
        concat!(
            "WITH wanted AS (",
            $ids,
            ") SELECT r.id, r.principal, r.status, r.label, r.created_at, r.ended_at, r.fence,
                r.lease_until, r.wake_at, r.error_code, r.error_kind, w.made, w.closed, w.segment,
                w.retries, w.ends_at, w.cuts, w.faults, w.errors, w.losses,
                w.error_code AS last_code, w.error AS last_error,
                (SELECT MIN(expires_at) FROM approvals WHERE run_id = r.id AND +state = 'open')
                  AS expires_at,
                EXISTS (SELECT 1 FROM approvals WHERE run_id = r.id AND used = 0
                          AND state IN ('allowed', 'declined', 'expired'))
                  OR EXISTS (SELECT 1 FROM followed f LEFT JOIN runs c ON c.id = f.child_id
                          WHERE f.run_id = r.id AND f.heard = 0
                            AND (c.id IS NULL OR c.status IN ('completed', 'failed', 'cancelled')))
                  AS decided
             FROM wanted CROSS JOIN runs r ON r.id = wanted.id JOIN workflows w ON w.run_id = r.id
             ORDER BY r.created_at DESC, r.id DESC"
        )
    };
}

/// A workflow by its id alone, for the engine and the schedule; never for a client.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn any(db: &Db, id: &str) -> Result<Option<Row>, StoreError> {
    db.first(&sql!(rows_of!("SELECT ?1 AS id"), id)).await
}

/// A principal's workflow. Somebody else's gives the same answer as none.
///
/// # Errors
///
/// As [`any`].
pub async fn find(db: &Db, principal: &str, id: &str) -> Result<Option<Row>, StoreError> {
    Ok(any(db, id).await?.filter(|row| row.principal == principal))
}

/// A principal's workflows, newest first, after `cursor`, at most `limit`.
///
/// # Errors
///
/// As [`any`].
pub async fn list(
    db: &Db,
    principal: &str,
    status: Option<Status>,
    cursor: Option<&Cursor>,
    limit: u64,
) -> Result<Vec<Row>, StoreError> {
    let (at, id) = cursor.map_or((u64::MAX >> 11, "~"), |c| (c.created_at, c.id.as_str()));
    let statement = sql!(
        rows_of!(
            "SELECT id FROM runs
             WHERE principal = ?1 AND surface = 'workflow' AND (created_at, id) < (?2, ?3)
               AND (?5 IS NULL OR status = ?5)
             ORDER BY created_at DESC, id DESC LIMIT ?4"
        ),
        principal,
        at,
        id,
        limit,
        status.map(Status::as_str)
    );
    db.all(&statement).await
}

/// Workflows that the schedule looks at: those that are due by `soon`, whose attempt is lost, of which
/// the engine does not know, or that have ended without the engine's knowing. At most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn left_behind(
    db: &Db,
    now: u64,
    soon: u64,
    limit: u64,
) -> Result<Vec<String>, StoreError> {
    row! {
        struct Id {
            run_id: String,
        }
    }
    let statement = sql!(
        "SELECT w.run_id AS run_id FROM workflows w JOIN runs r ON r.id = w.run_id
         WHERE w.closed = 0
           AND (w.made = 0 OR r.wake_at <= ?2 OR r.status IN ('completed', 'failed', 'cancelled')
             OR r.status = 'running' AND r.lease_until < ?1
             OR r.status = 'waiting_approval' AND EXISTS (SELECT 1 FROM approvals a
                  WHERE a.run_id = r.id AND a.used = 0
                    AND (a.state IN ('allowed', 'declined', 'expired') OR a.expires_at <= ?1)))
         LIMIT ?3",
        now,
        soon,
        limit
    );
    Ok(db.all::<Id>(&statement).await?.into_iter().map(|row| row.run_id).collect())
}

/// The engine has the instance.
#[must_use]
pub fn made(run: &str) -> Statement {
    sql!("UPDATE workflows SET made = 1 WHERE run_id = ?1", run)
}

/// The run has ended, and the engine knows.
#[must_use]
pub fn closed(run: &str) -> Statement {
    sql!("UPDATE workflows SET closed = 1, made = 1 WHERE run_id = ?1", run)
}

/// The segment that is at work; it never goes back.
#[must_use]
pub fn at_segment(run: &str, segment: u64) -> Statement {
    sql!(
        "UPDATE workflows SET segment = ?2, made = 1 WHERE run_id = ?1 AND segment < ?2",
        run,
        segment
    )
}

/// Takes a workflow up for one more attempt, if it is due and a permit is free; its fence.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn claim(
    db: &Db,
    run: &str,
    permits: &Permits,
    now: u64,
) -> Result<Option<u64>, StoreError> {
    row! {
        struct Fence {
            fence: u64,
        }
    }
    let lost = sql!(
        "UPDATE workflows
         SET losses = CASE WHEN progress < (SELECT COUNT(*) FROM journal WHERE run_id = ?1)
                      THEN 1 ELSE losses + 1 END,
             progress = (SELECT COUNT(*) FROM journal WHERE run_id = ?1)
         WHERE run_id = ?1 AND EXISTS (SELECT 1 FROM runs
           WHERE id = ?1 AND status = 'running' AND lease_until < ?2)",
        run,
        now
    );
    let taken = sql!(
        "UPDATE runs SET status = 'running', fence = fence + 1, lease_until = ?3, wake_at = NULL
         WHERE id = ?1 AND surface = 'workflow'
           AND (status IN ('parked', 'waiting_approval')
                AND (wake_at <= ?2 OR EXISTS (SELECT 1 FROM approvals
                  WHERE run_id = ?1 AND used = 0
                    AND (state IN ('allowed', 'declined', 'expired') OR expires_at <= ?2))
                OR EXISTS (SELECT 1 FROM followed f LEFT JOIN runs c ON c.id = f.child_id
                  WHERE f.run_id = ?1 AND f.heard = 0
                    AND (c.id IS NULL OR c.status IN ('completed', 'failed', 'cancelled'))))
             OR status = 'running' AND lease_until < ?2)
           AND (SELECT COUNT(*) FROM runs WHERE status = 'running' AND lease_until > ?2
                  AND parent_id IS NULL) < ?4
           AND (SELECT COUNT(*) FROM runs o WHERE o.status = 'running' AND o.lease_until > ?2
                  AND o.parent_id IS NULL
                  AND o.principal = (SELECT principal FROM runs WHERE id = ?1)) < ?5
         RETURNING fence",
        run,
        now,
        now.saturating_add(LEASE_MS),
        permits.all,
        permits.principal
    );
    db.run(&lost).await?;
    Ok(db.first::<Fence>(&taken).await?.map(|row| row.fence))
}

/// A segment parked: whatever went wrong before is over.
#[must_use]
pub fn came_further(run: &str, fence: u64) -> Statement {
    sql!(
        "UPDATE workflows SET cuts = 0, faults = 0, losses = 0, error_code = NULL, error = NULL
         WHERE run_id = ?1
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence
    )
}

/// A segment that failed and is made again.
#[derive(Debug, Clone, Copy)]
pub struct SettingBack<'a> {
    /// The run.
    pub run: &'a str,
    /// Fence of the attempt that failed.
    pub fence: u64,
    /// Why it is made again.
    pub setback: Setback,
    /// When.
    pub wake_at: u64,
    /// Code of the failure.
    pub code: &'a str,
    /// Its message.
    pub message: &'a str,
}

/// The rows of a segment that is made again; the last statement is the run's own row.
#[must_use]
pub fn set_back(of: &SettingBack<'_>) -> Vec<Statement> {
    let one = |is: Setback| u64::from(of.setback == is);
    vec![
        sql!(
            "UPDATE workflows
             SET cuts = cuts + ?3, faults = faults + ?4, errors = errors + ?5, error_code = ?6,
                 error = ?7
             WHERE run_id = ?1
               AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
            of.run,
            of.fence,
            one(Setback::Cut),
            one(Setback::Lost),
            one(Setback::Error),
            of.code,
            of.message
        ),
        sql!(
            "UPDATE runs SET status = 'parked', lease_until = 0, wake_at = ?3
             WHERE id = ?1 AND fence = ?2 AND status = 'running'",
            of.run,
            of.fence,
            of.wake_at
        ),
    ]
}
