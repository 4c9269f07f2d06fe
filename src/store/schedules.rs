//! The tables `schedules` and `firings`.

use super::db::{Db, Statement, StoreError};
use crate::{row, sql};

/// Rows that one pruning removes. The schedule comes again in a minute.
const PRUNE_AT_ONCE: u64 = 1_000;

row! {
    /// A schedule.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Whose it is.
        pub principal: String,
        /// Its name.
        pub name: String,
        /// Another one each time it is put.
        pub id: String,
        /// JSON.
        pub rule: String,
        /// JSON.
        pub work: String,
        /// `skip` or `catch_up`.
        pub missed: String,
        /// Whether it is paused.
        pub paused: u64,
        /// Its next time.
        pub next_at: Option<u64>,
        /// Of the links to approvals.
        pub origin: String,
        /// When it was first put.
        pub created_at: u64,
        /// When it was last put, paused or resumed.
        pub updated_at: u64,
    }
}

/// A schedule that is put.
#[derive(Debug, Clone, Copy)]
pub struct Putting<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its id.
    pub id: &'a str,
    /// JSON.
    pub rule: &'a str,
    /// JSON.
    pub work: &'a str,
    /// `skip` or `catch_up`.
    pub missed: &'a str,
    /// Whether it is paused.
    pub paused: bool,
    /// Its next time.
    pub next_at: u64,
    /// Of the links to approvals.
    pub origin: &'a str,
    /// How many a principal may have.
    pub most: u64,
    /// Now.
    pub now: u64,
}

/// Puts a schedule in place of the one that has its name; whether there was room.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn put(db: &Db, putting: &Putting<'_>) -> Result<bool, StoreError> {
    let statement = sql!(
        "INSERT INTO schedules
           (principal, name, id, rule, work, missed, paused, next_at, origin, created_at, updated_at)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10
         WHERE EXISTS (SELECT 1 FROM schedules WHERE principal = ?1 AND name = ?2)
            OR (SELECT COUNT(*) FROM schedules WHERE principal = ?1) < ?11
         ON CONFLICT (principal, name) DO UPDATE
           SET id = ?3, rule = ?4, work = ?5, missed = ?6, paused = ?7, next_at = ?8, origin = ?9,
               updated_at = ?10",
        putting.principal,
        putting.name,
        putting.id,
        putting.rule,
        putting.work,
        putting.missed,
        u64::from(putting.paused),
        putting.next_at,
        putting.origin,
        putting.now,
        putting.most
    );
    Ok(db.run(&statement).await? > 0)
}

/// A principal's schedule. Somebody else's gives the same answer as none.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(db: &Db, principal: &str, name: &str) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, id, rule, work, missed, paused, next_at, origin, created_at,
                updated_at
         FROM schedules WHERE principal = ?1 AND name = ?2",
        principal,
        name
    );
    db.first(&statement).await
}

/// A principal's schedules by name after `after`, at most `limit`.
///
/// # Errors
///
/// As [`find`].
pub async fn list(
    db: &Db,
    principal: &str,
    after: &str,
    limit: u64,
) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, id, rule, work, missed, paused, next_at, origin, created_at,
                updated_at
         FROM schedules WHERE principal = ?1 AND name > ?2 ORDER BY name LIMIT ?3",
        principal,
        after,
        limit
    );
    db.all(&statement).await
}

/// Schedules whose next time has come, the longest overdue first.
///
/// # Errors
///
/// As [`find`].
pub async fn due(db: &Db, now: u64, limit: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, id, rule, work, missed, paused, next_at, origin, created_at,
                updated_at
         FROM schedules WHERE paused = 0 AND next_at <= ?1 ORDER BY next_at LIMIT ?2",
        now,
        limit
    );
    db.all(&statement).await
}

/// Pauses a schedule, or has it go on from `next_at`.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn pause(
    db: &Db,
    (principal, name): (&str, &str),
    next_at: Option<u64>,
    now: u64,
) -> Result<(), StoreError> {
    let statement = match next_at {
        None => sql!(
            "UPDATE schedules SET paused = 1, updated_at = ?3 WHERE principal = ?1 AND name = ?2",
            principal,
            name,
            now
        ),
        Some(next_at) => sql!(
            "UPDATE schedules SET paused = 0, next_at = ?4, updated_at = ?3
             WHERE principal = ?1 AND name = ?2 AND paused = 1",
            principal,
            name,
            now,
            next_at
        ),
    };
    db.run(&statement).await?;
    Ok(())
}

/// Deletes a schedule and its history; whether there was one. Runs that it began go on.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn delete(db: &Db, principal: &str, name: &str) -> Result<bool, StoreError> {
    let changes = db
        .batch(&[
            sql!("DELETE FROM schedules WHERE principal = ?1 AND name = ?2", principal, name),
            sql!("DELETE FROM firings WHERE principal = ?1 AND name = ?2", principal, name),
        ])
        .await?;
    Ok(changes.first().is_some_and(|changed| *changed > 0))
}

/// One time that is put down.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// When it was due.
    pub at: u64,
    /// `None`: it fires. Else it stands for so many that are left out.
    pub missed: Option<u64>,
}

/// Moves a schedule on from the time `from` to `next`, and puts down the times between, in one
/// transaction; nothing where another was first, or the schedule was put anew or paused meanwhile.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn advance(
    db: &Db,
    (id, from): (&str, u64),
    times: &[Time],
    next: Option<u64>,
    now: u64,
) -> Result<(), StoreError> {
    let mut statements: Vec<Statement> = times
        .iter()
        .map(|time| {
            sql!(
                "INSERT INTO firings (schedule_id, at, principal, name, state, missed, created_at)
                 SELECT id, ?3, principal, name, ?4, ?5, ?6 FROM schedules
                 WHERE id = ?1 AND next_at = ?2 AND paused = 0
                 ON CONFLICT DO NOTHING",
                id,
                from,
                time.at,
                if time.missed.is_some() { "skipped" } else { "due" },
                time.missed.unwrap_or(0),
                now
            )
        })
        .collect();
    statements.push(sql!(
        "UPDATE schedules SET next_at = ?3 WHERE id = ?1 AND next_at = ?2 AND paused = 0",
        id,
        from,
        next
    ));
    db.batch(&statements).await?;
    Ok(())
}

row! {
    /// A time that fires, with what runs.
    #[derive(Debug, Clone)]
    pub struct Firing {
        /// The schedule, as it was put then.
        pub schedule_id: String,
        /// When it was due.
        pub at: u64,
        /// Whose it is.
        pub principal: String,
        /// The schedule's name.
        pub name: String,
        /// When its run was last begun, or tried to be.
        pub tried_at: u64,
        /// JSON.
        pub work: String,
        /// Of the links to approvals.
        pub origin: String,
    }
}

/// Times that fire and that nobody has tried since `before`, the oldest first.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn to_fire(db: &Db, before: u64, limit: u64) -> Result<Vec<Firing>, StoreError> {
    let begun = sql!(
        "UPDATE firings SET state = 'begun' WHERE state = 'due'
           AND run_id IS NOT NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.id = firings.run_id)"
    );
    db.run(&begun).await?;
    let statement = sql!(
        "SELECT f.schedule_id, f.at, f.principal, f.name, f.tried_at, s.work, s.origin
         FROM firings f JOIN schedules s ON s.id = f.schedule_id
         WHERE f.state = 'due' AND f.tried_at < ?1 ORDER BY f.tried_at, f.at LIMIT ?2",
        before,
        limit
    );
    db.all(&statement).await
}

/// Takes a time to begin its run as `run`; whether nobody else did.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn take(db: &Db, firing: &Firing, run: &str, now: u64) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE firings SET run_id = ?4, tried_at = ?5
         WHERE schedule_id = ?1 AND at = ?2 AND manual = 0 AND state = 'due' AND tried_at = ?3",
        firing.schedule_id.as_str(),
        firing.at,
        firing.tried_at,
        run,
        now
    );
    Ok(db.run(&statement).await? > 0)
}

/// Puts down what became of a time: the run that it has, or why there is none. `state`: `due` where it
/// is tried again.
#[must_use]
pub fn fired(
    firing: &Firing,
    state: &'static str,
    run: Option<&str>,
    error: Option<&str>,
) -> Statement {
    sql!(
        "UPDATE firings SET state = ?3, run_id = COALESCE(?4, run_id), error = ?5
         WHERE schedule_id = ?1 AND at = ?2 AND manual = 0 AND state = 'due'",
        firing.schedule_id.as_str(),
        firing.at,
        state,
        run,
        error
    )
}

/// Puts down a run that somebody asked for.
#[must_use]
pub fn asked(row: &Row, run: &str, now: u64) -> Statement {
    sql!(
        "INSERT INTO firings
           (schedule_id, at, manual, principal, name, state, run_id, tried_at, created_at)
         SELECT ?1, MAX(?4, 1 + COALESCE((SELECT MAX(at) FROM firings
                  WHERE schedule_id = ?1 AND at >= ?4 AND manual = 1), 0)),
                1, ?2, ?3, 'begun', ?5, ?4, ?4",
        row.id.as_str(),
        row.principal.as_str(),
        row.name.as_str(),
        now,
        run
    )
}

row! {
    /// A time of the history.
    #[derive(Debug, Clone)]
    pub struct Past {
        /// When it was due.
        pub at: u64,
        /// Whether somebody asked for it.
        pub manual: u64,
        /// `due`, `begun`, `skipped` or `refused`.
        pub state: String,
        /// How many times a skipped one stands for.
        pub missed: u64,
        /// Its run.
        pub run_id: Option<String>,
        /// JSON: why no run began.
        pub error: Option<String>,
        /// How its run stands.
        pub status: Option<String>,
        /// When its run was begun.
        pub begun_at: Option<u64>,
        /// When its run ended.
        pub ended_at: Option<u64>,
    }
}

/// The times of a schedule before `before`, newest first, at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn history(
    db: &Db,
    (principal, name): (&str, &str),
    before: (u64, u64),
    limit: u64,
) -> Result<Vec<Past>, StoreError> {
    let statement = sql!(
        "SELECT f.at, f.manual, f.state, f.missed, f.run_id, f.error, r.status,
                r.created_at AS begun_at, r.ended_at
         FROM firings f LEFT JOIN runs r ON r.id = f.run_id
         WHERE f.principal = ?1 AND f.name = ?2
           AND (f.at < ?3 OR f.at = ?3 AND f.manual > ?4)
         ORDER BY f.at DESC, f.manual LIMIT ?5",
        principal,
        name,
        before.0,
        before.1,
        limit
    );
    db.all(&statement).await
}

/// Removes times that were put down before `before`; never one that has still to fire.
#[must_use]
pub fn prune(before: u64) -> Statement {
    sql!(
        "DELETE FROM firings WHERE (schedule_id, at, manual) IN (
           SELECT schedule_id, at, manual FROM firings
           WHERE created_at < ?1 AND state <> 'due' ORDER BY created_at LIMIT ?2)",
        before,
        PRUNE_AT_ONCE
    )
}
