//! The table `services`: what is to be kept at work. A stretch is a run; one at a time, for whoever
//! begins one clears `settled`, and only what that run came to sets it again.

use super::db::{Db, Statement, StoreError};
use crate::run::outcome::Status;
use crate::services::rule::{Service, Stretch};
use crate::{row, sql};

/// Which service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// Its package.
    pub package: &'a str,
    /// Its name.
    pub name: &'a str,
}

row! {
    /// A row, and how the run of its last stretch stands.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Whose it is.
        pub principal: String,
        /// Its package.
        pub package: String,
        /// Its name.
        pub name: String,
        wanted: String,
        /// The version that was asked for.
        pub version: Option<u64>,
        /// JSON as sent.
        pub params: String,
        /// Of the links to approvals.
        pub origin: String,
        /// The run of its last stretch.
        pub run_id: Option<String>,
        settled: u64,
        claimed_at: u64,
        /// When the next stretch may begin.
        pub next_at: u64,
        /// When it wants to be woken.
        pub alarm_at: Option<u64>,
        /// Stretches since it was started.
        pub stretches: u64,
        /// Stretches in a row that failed soon.
        pub failures: u64,
        /// JSON: why its last stretch failed, or none could begin.
        pub error: Option<String>,
        /// When it was started.
        pub started_at: u64,
        /// When it was told to stop.
        pub stopped_at: Option<u64>,
        status: Option<String>,
        lease_until: Option<u64>,
        cancel_asked: Option<u64>,
        created_at: Option<u64>,
        ended_at: Option<u64>,
    }
}

impl Row {
    /// What is known of it.
    #[must_use]
    pub fn service(&self) -> Service {
        Service {
            wanted: self.wanted == "running",
            settled: self.settled > 0,
            claimed_at: self.claimed_at,
            next_at: self.next_at,
            alarm_at: self.alarm_at,
            stretches: self.stretches,
            failures: self.failures,
        }
    }

    /// The run of its last stretch, once it has a row.
    #[must_use]
    pub fn stretch(&self) -> Option<Stretch> {
        Some(Stretch {
            status: Status::parse(self.status.as_deref()?)?,
            lease_until: self.lease_until?,
            cancel_asked: self.cancel_asked.is_some_and(|asked| asked > 0),
            created_at: self.created_at?,
            ended_at: self.ended_at,
        })
    }

    /// Which service it is.
    #[must_use]
    pub fn key(&self) -> Key<'_> {
        Key { principal: &self.principal, package: &self.package, name: &self.name }
    }
}

/// A service that is to be at work.
#[derive(Debug, Clone, Copy)]
pub struct Starting<'a> {
    /// Which.
    pub key: Key<'a>,
    /// A version in place of the package's current one.
    pub version: Option<u64>,
    /// JSON.
    pub params: &'a str,
    /// Of the links to approvals.
    pub origin: &'a str,
    /// How many of its principal may be at work.
    pub most: u64,
    /// Now.
    pub now: u64,
}

/// Wants a service to be at work; whether it was not, and there is room.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn start(db: &Db, starting: &Starting<'_>) -> Result<bool, StoreError> {
    let Key { principal, package, name } = starting.key;
    let statement = sql!(
        "INSERT INTO services
           (principal, package, name, wanted, version, params, origin, claimed_at, next_at, started_at)
         SELECT ?1, ?2, ?3, 'running', ?4, ?5, ?6, 0, ?7, ?7
         WHERE (SELECT COUNT(*) FROM services WHERE principal = ?1 AND wanted = 'running') < ?8
         ON CONFLICT (principal, package, name) DO UPDATE
           SET wanted = 'running', version = ?4, params = ?5, origin = ?6, next_at = ?7,
               alarm_at = NULL, stretches = 0, failures = 0, error = NULL, started_at = ?7,
               stopped_at = NULL
           WHERE services.wanted = 'stopped'",
        principal,
        package,
        name,
        starting.version,
        starting.params,
        starting.origin,
        starting.now,
        starting.most
    );
    Ok(db.run(&statement).await? > 0)
}

/// Wants services not to be at work, and asks for the end of their stretches: one of a package, or all
/// of it. `error`, JSON, says why where nobody asked.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn stop(
    db: &Db,
    (principal, package, name): (&str, &str, Option<&str>),
    error: Option<&str>,
    now: u64,
) -> Result<(), StoreError> {
    let wanted = sql!(
        "UPDATE services SET wanted = 'stopped', stopped_at = ?4, error = COALESCE(?5, error)
         WHERE principal = ?1 AND package = ?2 AND name = COALESCE(?3, name) AND wanted = 'running'",
        principal,
        package,
        name,
        now,
        error
    );
    let asked = sql!(
        "UPDATE runs SET cancel_asked = 1 WHERE status = 'running' AND id IN (
           SELECT run_id FROM services WHERE principal = ?1 AND package = ?2
             AND name = COALESCE(?3, name) AND wanted = 'stopped')",
        principal,
        package,
        name
    );
    db.batch(&[wanted, asked]).await?;
    Ok(())
}

/// Begins a stretch as `run`, if it is due and no other is at work; whether it did.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn claim(db: &Db, key: Key<'_>, run: &str, now: u64) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE services SET run_id = ?4, settled = 0, claimed_at = ?5, alarm_at = NULL,
           stretches = stretches + 1
         WHERE principal = ?1 AND package = ?2 AND name = ?3
           AND wanted = 'running' AND settled = 1 AND next_at <= ?5",
        key.principal,
        key.package,
        key.name,
        run,
        now
    );
    Ok(db.run(&statement).await? > 0)
}

/// What a stretch came to.
#[derive(Debug, Clone, Copy)]
pub struct Settling<'a> {
    /// Its run.
    pub run: &'a str,
    /// When the next one may begin.
    pub next_at: u64,
    /// Stretches in a row that failed soon.
    pub failures: u64,
    /// JSON: why it failed.
    pub error: Option<&'a str>,
    /// There is no next one: what it ran is gone.
    pub gone: bool,
    /// Now.
    pub now: u64,
}

/// Puts down what a stretch came to, once.
#[must_use]
pub fn settle(settling: &Settling<'_>) -> Statement {
    sql!(
        "UPDATE services SET settled = 1, next_at = ?2, failures = ?3,
           error = CASE wanted WHEN 'stopped' THEN COALESCE(?4, error) ELSE ?4 END,
           wanted = CASE WHEN ?5 = 1 THEN 'stopped' ELSE wanted END,
           stopped_at = CASE WHEN ?5 = 1 THEN ?6 ELSE stopped_at END
         WHERE run_id = ?1 AND settled = 0",
        settling.run,
        settling.next_at,
        settling.failures,
        settling.error,
        u64::from(settling.gone),
        settling.now
    )
}

/// Sets the alarm of the service whose stretch is `run`; whether it is one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn alarm(db: &Db, run: &str, at: Option<u64>) -> Result<bool, StoreError> {
    let statement = sql!("UPDATE services SET alarm_at = ?2 WHERE run_id = ?1", run, at);
    Ok(db.run(&statement).await? > 0)
}

/// A principal's service. Somebody else's gives the same answer as none.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(db: &Db, key: Key<'_>) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT s.*, r.status, r.lease_until, r.cancel_asked, r.created_at, r.ended_at
         FROM services s LEFT JOIN runs r ON r.id = s.run_id
         WHERE s.principal = ?1 AND s.package = ?2 AND s.name = ?3",
        key.principal,
        key.package,
        key.name
    );
    db.first(&statement).await
}

/// A principal's services in the order of their names, after one of them, at most `limit`.
///
/// # Errors
///
/// As [`find`].
pub async fn list(
    db: &Db,
    principal: &str,
    (package, name): (&str, &str),
    limit: u64,
) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT s.*, r.status, r.lease_until, r.cancel_asked, r.created_at, r.ended_at
         FROM services s LEFT JOIN runs r ON r.id = s.run_id
         WHERE s.principal = ?1 AND (s.package, s.name) > (?2, ?3)
         ORDER BY s.package, s.name LIMIT ?4",
        principal,
        package,
        name,
        limit
    );
    db.all(&statement).await
}

/// Services whose stretch has ended, or never began before `before`, and that nobody settled.
///
/// # Errors
///
/// As [`find`].
pub async fn to_settle(db: &Db, before: u64, limit: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT s.*, r.status, r.lease_until, r.cancel_asked, r.created_at, r.ended_at
         FROM services s LEFT JOIN runs r ON r.id = s.run_id
         WHERE s.settled = 0 AND (r.status IN ('completed', 'failed', 'cancelled')
           OR r.id IS NULL AND s.claimed_at < ?1)
         ORDER BY s.claimed_at LIMIT ?2",
        before,
        limit
    );
    db.all(&statement).await
}

/// Services whose next stretch is due, the longest overdue first.
///
/// # Errors
///
/// As [`find`].
pub async fn due(db: &Db, now: u64, limit: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT s.*, r.status, r.lease_until, r.cancel_asked, r.created_at, r.ended_at
         FROM services s LEFT JOIN runs r ON r.id = s.run_id
         WHERE s.wanted = 'running' AND s.next_at <= ?1 AND s.settled = 1
         ORDER BY s.next_at LIMIT ?2",
        now,
        limit
    );
    db.all(&statement).await
}
