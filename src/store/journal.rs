//! The tables `recordings` and `journal`, and what the row of a run becomes while it waits.

use super::db::{Db, Statement, StoreError};
use super::permits::Permits;
use super::runs::LEASE_MS;
use crate::run::outcome::Status;
use crate::{row, sql};

/// How many attempts of a run may be lost before it is given up.
pub const MAX_LOSSES: u64 = 5;

/// Parts of a journal that are read at once: of 1 MB at most, so 32 MB of the isolate's 128. Most
/// journals have fewer, and are read once.
const PARTS_AT_ONCE: u64 = 32;

/// What a run needs to be run again.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// The run.
    pub run: &'a str,
    /// Fence of the attempt that writes.
    pub fence: u64,
    /// 64 hex digits.
    pub seed: &'a str,
    /// Version of the harness's numbering.
    pub harness: u64,
    /// What was ordered, without program and parameters, JSON.
    pub request: &'a str,
}

/// The row of a run that is recorded.
#[must_use]
pub fn begin(recording: &Recording<'_>) -> Statement {
    sql!(
        "INSERT INTO recordings (run_id, seed, harness, request)
         SELECT ?1, ?3, ?4, ?5 FROM runs WHERE id = ?1 AND fence = ?2
         ON CONFLICT DO NOTHING",
        recording.run,
        recording.fence,
        recording.seed,
        recording.harness,
        recording.request,
    )
}

/// Rows of a journal from `seq` on: whole lines of text, in parts. To be written in one transaction;
/// can be written twice.
#[must_use]
pub fn append(run: &str, fence: u64, seq: u64, text: &str) -> Vec<Statement> {
    super::runs::parts(text)
        .zip(seq..)
        .map(|(body, seq)| {
            sql!(
                "INSERT INTO journal (run_id, seq, body)
                 SELECT ?1, ?3, ?4 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running'
                 ON CONFLICT (run_id, seq) DO UPDATE SET body = excluded.body",
                run,
                fence,
                seq,
                body
            )
        })
        .collect()
}

row! {
    /// What is stored of a run's record.
    #[derive(Debug, Clone)]
    pub struct Stored {
        /// 64 hex digits.
        pub seed: String,
        /// Version of the harness's numbering.
        pub harness: u64,
        /// What was ordered, without program and parameters, JSON.
        pub request: String,
    }
}

/// The record of a run, without its journal.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn recording(db: &Db, run: &str) -> Result<Option<Stored>, StoreError> {
    let statement = sql!("SELECT seed, harness, request FROM recordings WHERE run_id = ?1", run);
    db.first(&statement).await
}

/// The text of a run's journal, and the next `seq`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn text(db: &Db, run: &str) -> Result<(String, u64), StoreError> {
    row! {
        struct Part {
            seq: u64,
            body: String,
        }
    }
    let mut text = String::new();
    let mut next = 0_u64;
    loop {
        // D1 answers with all rows at once.
        let statement = sql!(
            "SELECT seq, body FROM journal WHERE run_id = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
            run,
            next,
            PARTS_AT_ONCE
        );
        let parts = db.all::<Part>(&statement).await?;
        let read = u64::try_from(parts.len()).unwrap_or(u64::MAX);
        for part in parts {
            text.push_str(&part.body);
            next = part.seq.saturating_add(1);
        }
        if read < PARTS_AT_ONCE {
            return Ok((text, next));
        }
    }
}

/// Puts a journal in the place of the one that is stored: whole lines of text.
#[must_use]
pub fn rewrite(run: &str, fence: u64, text: &str) -> Vec<Statement> {
    let mut statements = vec![sql!(
        "DELETE FROM journal WHERE run_id = ?1
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence
    )];
    statements.extend(append(run, fence, 0, text));
    statements
}

/// Ends an attempt without ending its run, which goes on by itself at `wake_at`.
#[must_use]
pub fn park(run: &str, fence: u64, status: Status, wake_at: Option<u64>) -> Statement {
    sql!(
        "UPDATE runs SET status = ?3, lease_until = 0, wake_at = ?4
         WHERE id = ?1 AND fence = ?2 AND status = 'running'",
        run,
        fence,
        status.as_str(),
        wake_at
    )
}

/// Takes a run up for one more attempt: it waits and somebody decided, or a run has ended that it
/// waited for, or its attempt is lost and somebody comes back for it, which the run that invoked it
/// does as long as it is at work. Gives the fence of the attempt that begins. `None`: there is
/// nothing to do, another was first, or no permit is free; a run below another needs none.
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
        "UPDATE recordings SET losses = losses + 1
         WHERE run_id = ?1 AND EXISTS (SELECT 1 FROM runs
           WHERE id = ?1 AND status = 'running' AND lease_until < ?2
             AND surface <> 'workflow')",
        run,
        now
    );
    db.run(&lost).await?;
    let statement = sql!(
        "UPDATE runs SET status = 'running', fence = fence + 1, lease_until = ?3
         WHERE id = ?1 AND surface <> 'workflow'
           AND (status = 'waiting_approval' AND (EXISTS (SELECT 1 FROM approvals
                  WHERE run_id = ?1 AND used = 0
                    AND (state IN ('allowed', 'declined', 'expired') OR expires_at <= ?2))
                OR EXISTS (SELECT 1 FROM followed f LEFT JOIN runs c ON c.id = f.child_id
                  WHERE f.run_id = ?1 AND f.heard = 0
                    AND (c.id IS NULL OR c.status IN ('completed', 'failed', 'cancelled'))))
             OR status = 'running' AND lease_until < ?2
                AND (EXISTS (SELECT 1 FROM approvals WHERE run_id = ?1)
                  OR EXISTS (SELECT 1 FROM followed WHERE run_id = ?1)
                  OR EXISTS (SELECT 1 FROM ledger WHERE run_id = ?1 AND answer_lost = 0)
                  OR EXISTS (SELECT 1 FROM runs c JOIN runs p ON p.id = c.parent_id
                    WHERE c.id = ?1 AND p.status = 'running' AND p.lease_until > ?2))
                AND EXISTS (SELECT 1 FROM recordings WHERE run_id = ?1 AND losses <= ?4))
           AND (parent_id IS NOT NULL
             OR (SELECT COUNT(*) FROM runs
                 WHERE status = 'running' AND lease_until > ?2 AND parent_id IS NULL) < ?5)
         RETURNING fence",
        run,
        now,
        now.saturating_add(LEASE_MS),
        MAX_LOSSES,
        permits.all
    );
    Ok(db.first::<Fence>(&statement).await?.map(|row| row.fence))
}

/// Takes a run away from its record, to end it: it waits, or its attempt is lost; its fence then.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn claim_to_end(db: &Db, run: &str, now: u64) -> Result<Option<u64>, StoreError> {
    row! {
        struct Fence {
            fence: u64,
        }
    }
    let statement = sql!(
        "UPDATE runs SET status = 'running', fence = fence + 1, lease_until = ?2
         WHERE id = ?1 AND (status IN ('waiting_approval', 'parked')
           OR status = 'running' AND lease_until < ?3) RETURNING fence",
        run,
        now.saturating_add(LEASE_MS),
        now
    );
    Ok(db.first::<Fence>(&statement).await?.map(|row| row.fence))
}

/// The program and the parameters of a run.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn input(db: &Db, run: &str) -> Result<Option<(String, String)>, StoreError> {
    row! {
        struct Input {
            source: String,
            params: String,
        }
    }
    let statement = sql!("SELECT source, params FROM run_inputs WHERE run_id = ?1", run);
    Ok(db.first::<Input>(&statement).await?.map(|row| (row.source, row.params)))
}

/// Runs that somebody decided about and nobody took up, those whose run they waited for has ended, and
/// those whose attempt is lost and that somebody comes back for: people were asked, or it answers a
/// key. At most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn left_behind(db: &Db, now: u64, limit: u64) -> Result<Vec<String>, StoreError> {
    row! {
        struct Id {
            run_id: String,
        }
    }
    let statement = sql!(
        "SELECT DISTINCT a.run_id AS run_id FROM approvals a JOIN runs r ON r.id = a.run_id
         WHERE a.used = 0 AND a.state IN ('allowed', 'declined', 'expired')
           AND r.status = 'waiting_approval'
         UNION
         SELECT r.id FROM runs r WHERE r.status = 'running' AND r.lease_until < ?2
           AND (EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = r.id)
             OR EXISTS (SELECT 1 FROM followed f WHERE f.run_id = r.id)
             OR EXISTS (SELECT 1 FROM ledger l WHERE l.run_id = r.id AND l.answer_lost = 0))
         UNION
         SELECT r.id FROM runs r JOIN followed f ON f.run_id = r.id AND f.heard = 0
           JOIN runs c ON c.id = f.child_id
         WHERE r.status = 'waiting_approval'
           AND c.status IN ('completed', 'failed', 'cancelled')
         LIMIT ?1",
        limit,
        now
    );
    Ok(db.all::<Id>(&statement).await?.into_iter().map(|row| row.run_id).collect())
}

/// Whether a run whose attempt is lost is taken up again, not ended. One that another invoked is, as
/// long as that one has not ended: its call is made again, and finds it.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn survives(db: &Db, run: &str) -> Result<bool, StoreError> {
    row! {
        struct Losses {
            losses: u64,
        }
    }
    let statement = sql!(
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM workflows WHERE run_id = ?1) THEN 0
                ELSE losses END AS losses
         FROM recordings
         WHERE run_id = ?1
           AND (EXISTS (SELECT 1 FROM approvals WHERE run_id = ?1)
             OR EXISTS (SELECT 1 FROM followed WHERE run_id = ?1)
             OR EXISTS (SELECT 1 FROM workflows WHERE run_id = ?1)
             OR EXISTS (SELECT 1 FROM ledger WHERE run_id = ?1 AND answer_lost = 0)
             OR EXISTS (SELECT 1 FROM runs c JOIN runs p ON p.id = c.parent_id
               WHERE c.id = ?1 AND p.status NOT IN ('completed', 'failed', 'cancelled')))",
        run
    );
    // A workflow's attempts are counted by itself.
    Ok(db.first::<Losses>(&statement).await?.is_some_and(|row| row.losses < MAX_LOSSES))
}

/// Keeps the record of a run that ended until a time, so that what it did can be undone.
#[must_use]
pub fn keep(run: &str, fence: u64, until: u64) -> Statement {
    sql!(
        "UPDATE recordings SET keep_until = ?3
         WHERE run_id = ?1
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence,
        until
    )
}

/// Records that one pruning removes. The schedule comes again in a minute.
const PRUNE_AT_ONCE: u64 = 50;

/// Forgets the records whose time is over.
#[must_use]
pub fn prune(now: u64) -> [Statement; 2] {
    // The journals first: the second finds the same records again.
    [
        sql!(
            "DELETE FROM journal WHERE run_id IN (
               SELECT run_id FROM recordings WHERE keep_until IS NOT NULL AND keep_until < ?1
               ORDER BY keep_until LIMIT ?2)",
            now,
            PRUNE_AT_ONCE
        ),
        sql!(
            "DELETE FROM recordings WHERE run_id IN (
               SELECT run_id FROM recordings WHERE keep_until IS NOT NULL AND keep_until < ?1
               ORDER BY keep_until LIMIT ?2)",
            now,
            PRUNE_AT_ONCE
        ),
    ]
}

/// Forgets the journal of a run that has ended: it is never run again.
#[must_use]
pub fn forget_entries(run: &str, fence: u64) -> Statement {
    sql!(
        "DELETE FROM journal WHERE run_id = ?1
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence
    )
}

/// Forgets what else a run was recorded with that has ended.
#[must_use]
pub fn forget_recording(run: &str, fence: u64) -> Statement {
    sql!(
        "DELETE FROM recordings WHERE run_id = ?1
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence
    )
}
