//! The table `approvals`: one row a question. The first decision stands.

use super::db::{Db, Statement, StoreError};
use crate::error::{Code, Fault};
use crate::run::journal::Decision;
use crate::run::outcome::Question;
use crate::{row, sql};

/// A question to people, about to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whose run it is.
    pub principal: &'a str,
    /// The run.
    pub run: &'a str,
    /// Fence of the attempt that asks.
    pub fence: u64,
    /// The dispatch.
    pub n: u32,
    /// The tool.
    pub path: &'a str,
    /// The argument as a person is shown it, JSON.
    pub arguments: &'a str,
    /// The rule that asks, JSON.
    pub rule: &'a str,
    /// Now.
    pub now: u64,
    /// Until when.
    pub expires_at: u64,
}

/// The row of a question.
#[must_use]
pub fn ask(asking: &Asking<'_>) -> Statement {
    sql!(
        "INSERT INTO approvals
           (id, principal, run_id, n, path, arguments, rule, state, created_at, expires_at)
         SELECT ?1, ?2, ?3, ?5, ?6, ?7, ?8, 'open', ?9, ?10
         FROM runs WHERE id = ?3 AND fence = ?4 AND status = 'running'
         ON CONFLICT DO NOTHING",
        asking.id,
        asking.principal,
        asking.run,
        asking.fence,
        u64::from(asking.n),
        asking.path,
        asking.arguments,
        asking.rule,
        asking.now,
        asking.expires_at,
    )
}

/// Where in the program a question was put. The first word stands.
#[must_use]
pub fn placed(run: &str, fence: u64, n: u32, line: u32) -> Statement {
    sql!(
        "UPDATE approvals SET line = COALESCE(line, ?4) WHERE run_id = ?1 AND n = ?3
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2)",
        run,
        fence,
        u64::from(n),
        u64::from(line)
    )
}

/// The run has heard of the decision.
#[must_use]
pub fn used(run: &str, fence: u64, n: u32) -> Statement {
    sql!(
        "UPDATE approvals SET used = 1 WHERE run_id = ?1 AND n = ?3
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2)",
        run,
        fence,
        u64::from(n)
    )
}

/// The questions of a run that ends are dropped, under the fence of whoever ends it.
#[must_use]
pub fn drop_open(run: &str, fence: u64, now: u64) -> Statement {
    sql!(
        "UPDATE approvals
         SET state = CASE state WHEN 'open' THEN 'dropped' ELSE state END,
             decided_at = COALESCE(decided_at, ?3), used = 1
         WHERE run_id = ?1 AND used = 0
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running')",
        run,
        fence,
        now
    )
}

/// Questions whose window passed, of all runs.
#[must_use]
pub fn expire(now: u64) -> Statement {
    sql!(
        "UPDATE approvals SET state = 'expired', decided_at = ?1
         WHERE state = 'open' AND expires_at <= ?1",
        now
    )
}

row! {
    /// A row.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Its id.
        pub id: String,
        /// The run.
        pub run_id: String,
        /// The dispatch.
        pub n: u32,
        /// The tool.
        pub path: String,
        /// The argument as a person is shown it, JSON unless it was cut.
        pub arguments: String,
        /// The rule that asked, JSON.
        pub rule: String,
        /// `open`, `allowed`, `declined`, `expired` or `dropped`.
        pub state: String,
        /// Whether it is allowed for the rest of the run.
        pub for_run: u64,
        /// Why, in the words of whoever decided.
        pub reason: Option<String>,
        /// Id of the token that decided.
        pub decided_by: Option<String>,
        /// When it was asked.
        pub created_at: u64,
        /// Until when.
        pub expires_at: u64,
        /// When it was decided.
        pub decided_at: Option<u64>,
        /// Whether the run has heard of it.
        pub used: u64,
        /// Where in the program it was put, from 1.
        pub line: Option<u64>,
    }
}

impl Row {
    /// What was decided, if it was.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        let path = &self.path;
        match self.state.as_str() {
            "allowed" => Some(Decision::Allowed),
            "declined" => {
                let reason = self.reason.as_deref().unwrap_or("no reason was given");
                let message = format!("{path} was declined: {reason}.");
                let fault = Fault::new(Code::ApprovalDeclined, message).with("tool", path.as_str());
                Some(Decision::Refused(fault.with("reason", reason)))
            }
            "expired" => {
                let window_ms = self.expires_at.saturating_sub(self.created_at);
                let window = crate::error::message::span(window_ms);
                let message =
                    format!("The approval for {path} expired after {window}; nobody decided.");
                let fault = Fault::new(Code::ApprovalExpired, message).with("tool", path.as_str());
                Some(Decision::Refused(fault.with("windowMs", window_ms)))
            }
            _ => None,
        }
    }

    /// The question as its run shows it.
    #[must_use]
    pub fn question(&self, origin: &str) -> Question {
        Question {
            id: self.id.clone(),
            tool: self.path.clone(),
            approve_url: format!("{origin}/approvals/{}", self.id),
            expires_at: self.expires_at,
        }
    }
}

/// The questions of a run, decided or not, in the order of its dispatches. Those whose window
/// passed are expired first.
///
/// # Errors
///
/// When D1 cannot be read or written.
pub async fn of_run(db: &Db, run: &str, now: u64) -> Result<Vec<Row>, StoreError> {
    let expire = sql!(
        "UPDATE approvals SET state = 'expired', decided_at = ?2
         WHERE run_id = ?1 AND state = 'open' AND expires_at <= ?2",
        run,
        now
    );
    db.run(&expire).await?;
    let statement = sql!(
        "SELECT id, run_id, n, path, arguments, rule, state, for_run, reason, decided_by,
                created_at, expires_at, decided_at, used, line
         FROM approvals WHERE run_id = ?1 ORDER BY n LIMIT 10000",
        run
    );
    db.all(&statement).await
}

/// A principal's question. Somebody else's gives the same answer as none.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn find(db: &Db, principal: &str, id: &str) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT id, run_id, n, path, arguments, rule, state, for_run, reason, decided_by,
                created_at, expires_at, decided_at, used, line
         FROM approvals WHERE id = ?1 AND principal = ?2",
        id,
        principal
    );
    db.first(&statement).await
}

/// A principal's questions of one state, newest first, at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn list(
    db: &Db,
    principal: &str,
    state: &str,
    limit: u64,
) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT id, run_id, n, path, arguments, rule, state, for_run, reason, decided_by,
                created_at, expires_at, decided_at, used, line
         FROM approvals WHERE principal = ?1 AND state = ?2
         ORDER BY created_at DESC, id DESC LIMIT ?3",
        principal,
        state,
        limit
    );
    db.all(&statement).await
}

/// How many of a principal's questions nobody has answered.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn waiting(db: &Db, principal: &str, now: u64) -> Result<u64, StoreError> {
    row! {
        struct Count {
            n: u64,
        }
    }
    let statement = sql!(
        "SELECT COUNT(*) AS n FROM approvals
         WHERE principal = ?1 AND state = 'open' AND expires_at > ?2",
        principal,
        now
    );
    Ok(db.first::<Count>(&statement).await?.map_or(0, |row| row.n))
}

/// A decision of a person.
#[derive(Debug, Clone, Copy)]
pub struct Deciding<'a> {
    /// Allow, or decline.
    pub allow: bool,
    /// Allow every call of the tool for the rest of the run.
    pub for_run: bool,
    /// Why.
    pub reason: Option<&'a str>,
    /// Who.
    pub by: &'a str,
    /// When.
    pub now: u64,
}

/// Decides; whether this decision is the one that stands.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn decide(
    db: &Db,
    principal: &str,
    id: &str,
    deciding: &Deciding<'_>,
) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE approvals SET state = ?3, for_run = ?4, reason = ?5, decided_by = ?6, decided_at = ?7
         WHERE id = ?1 AND principal = ?2 AND state = 'open' AND expires_at > ?7",
        id,
        principal,
        if deciding.allow { "allowed" } else { "declined" },
        u64::from(deciding.for_run),
        deciding.reason,
        deciding.by,
        deciding.now
    );
    Ok(db.run(&statement).await? > 0)
}
