//! Runs as people look at them: rows of several tables side by side. What a list shows of a program is
//! its first 600 characters, which an index holds.

use super::db::{Db, Statement, StoreError};
use super::runs::Cursor;
use crate::{row, sql};

row! {
    /// One run of a list.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Its id.
        pub id: String,
        /// Where it stands.
        pub status: String,
        /// Where it came from.
        pub surface: String,
        /// The caller's own name for it.
        pub label: Option<String>,
        /// When its request arrived.
        pub created_at: u64,
        /// When it ended.
        pub ended_at: Option<u64>,
        /// Kind of its error.
        pub error_kind: Option<String>,
        /// The run that started it.
        pub parent_id: Option<String>,
        /// The beginning of its program.
        pub head: Option<String>,
        /// Tool calls.
        pub calls: u64,
        /// Questions to people.
        pub questions: u64,
        /// The program on its own, of attempts that ended.
        pub compute_ms: Option<u64>,
    }
}

/// Which runs are wanted.
#[derive(Debug, Default)]
pub struct Wanted<'a> {
    /// That stand so.
    pub status: Option<&'a str>,
    /// That came from there.
    pub surface: Option<&'a str>,
    /// That called this tool.
    pub tool: Option<&'a str>,
    /// In whose label or first lines this is, whatever its case.
    pub text: Option<&'a str>,
    /// After this one.
    pub cursor: Option<Cursor>,
    /// At most so many.
    pub limit: u64,
}

/// A principal's runs, newest first.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn list(db: &Db, principal: &str, wanted: &Wanted<'_>) -> Result<Vec<Row>, StoreError> {
    let (at, id) =
        wanted.cursor.as_ref().map_or((u64::MAX >> 11, "~"), |c| (c.created_at, c.id.as_str()));
    let text = wanted.text.map(str::to_lowercase);
    // One text for each index: the status has its own.
    let sql = if wanted.status.is_some() {
        "SELECT r.id, r.status, r.surface, r.label, r.created_at, r.ended_at, r.error_kind,
                r.parent_id, substr(i.source, 1, 600) AS head,
                (SELECT COUNT(*) FROM dispatches d WHERE d.run_id = r.id) AS calls,
                (SELECT COUNT(*) FROM approvals a WHERE a.run_id = r.id) AS questions,
                (SELECT SUM(t.compute_ms) FROM attempts t WHERE t.run_id = r.id) AS compute_ms
         FROM runs r LEFT JOIN run_inputs i ON i.run_id = r.id
         WHERE r.principal = ?1 AND r.status = ?8 AND (r.created_at, r.id) < (?2, ?3)
           AND (?5 IS NULL OR r.surface = ?5)
           AND (?6 IS NULL OR EXISTS
                 (SELECT 1 FROM dispatches d WHERE d.run_id = r.id AND d.path = ?6))
           AND (?7 IS NULL
                OR instr(lower(COALESCE(r.label, '') || ' ' || substr(i.source, 1, 600)), ?7) > 0)
         ORDER BY r.created_at DESC, r.id DESC LIMIT ?4"
    } else {
        "SELECT r.id, r.status, r.surface, r.label, r.created_at, r.ended_at, r.error_kind,
                r.parent_id, substr(i.source, 1, 600) AS head,
                (SELECT COUNT(*) FROM dispatches d WHERE d.run_id = r.id) AS calls,
                (SELECT COUNT(*) FROM approvals a WHERE a.run_id = r.id) AS questions,
                (SELECT SUM(t.compute_ms) FROM attempts t WHERE t.run_id = r.id) AS compute_ms
         FROM runs r LEFT JOIN run_inputs i ON i.run_id = r.id
         WHERE r.principal = ?1 AND (r.created_at, r.id) < (?2, ?3) AND ?8 IS NULL
           AND (?5 IS NULL OR r.surface = ?5)
           AND (?6 IS NULL OR EXISTS
                 (SELECT 1 FROM dispatches d WHERE d.run_id = r.id AND d.path = ?6))
           AND (?7 IS NULL
                OR instr(lower(COALESCE(r.label, '') || ' ' || substr(i.source, 1, 600)), ?7) > 0)
         ORDER BY r.created_at DESC, r.id DESC LIMIT ?4"
    };
    let params = vec![
        principal.into(),
        at.into(),
        id.into(),
        wanted.limit.into(),
        wanted.surface.into(),
        wanted.tool.into(),
        text.into(),
        wanted.status.into(),
    ];
    db.all(&Statement::new(sql, params)).await
}

row! {
    /// A dispatch with all that is kept of it.
    #[derive(Debug, Clone)]
    pub struct Dispatch {
        /// Its number.
        pub n: u32,
        /// The tool.
        pub path: String,
        /// `called`, `returned`, `failed` or `stopped`.
        pub state: String,
        /// The argument, tagged JSON, perhaps cut.
        pub arguments: String,
        /// Its size when it was whole.
        pub bytes_in: u64,
        /// When it was called.
        pub called_at: u64,
        /// When it came back.
        pub returned_at: Option<u64>,
        /// The reply, perhaps cut.
        pub reply: Option<String>,
        /// Its size when it was whole.
        pub bytes_out: Option<u64>,
    }
}

/// The dispatches of a run, at most 1,000.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn dispatches(db: &Db, run: &str) -> Result<Vec<Dispatch>, StoreError> {
    let statement = sql!(
        "SELECT n, path, state, arguments, bytes_in, called_at, returned_at, reply, bytes_out
         FROM dispatches WHERE run_id = ?1 ORDER BY n LIMIT 1000",
        run
    );
    db.all(&statement).await
}

row! {
    /// A run beside another.
    #[derive(Debug, Clone)]
    pub struct Relative {
        /// Its id.
        pub id: String,
        /// Where it stands.
        pub status: String,
        /// Its name for itself.
        pub label: Option<String>,
    }
}

/// The run that started a principal's run.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn parent(db: &Db, principal: &str, run: &str) -> Result<Option<Relative>, StoreError> {
    let statement = sql!(
        "SELECT p.id, p.status, p.label FROM runs r JOIN runs p ON p.id = r.parent_id
         WHERE r.id = ?1 AND r.principal = ?2 AND p.principal = ?2",
        run,
        principal
    );
    db.first(&statement).await
}

/// The runs that a principal's run started, at most 100.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn children(db: &Db, principal: &str, run: &str) -> Result<Vec<Relative>, StoreError> {
    let statement = sql!(
        "SELECT id, status, label FROM runs WHERE parent_id = ?1 AND principal = ?2
         ORDER BY created_at LIMIT 100",
        run,
        principal
    );
    db.all(&statement).await
}

row! {
    struct Mark {
        mark: Option<String>,
    }
}

/// A text that differs once a principal's list of runs does.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn mark_of_runs(db: &Db, principal: &str) -> Result<String, StoreError> {
    let statement = sql!(
        "SELECT COALESCE((SELECT created_at || id FROM runs WHERE principal = ?1
                  ORDER BY created_at DESC, id DESC LIMIT 1), '')
           || ' ' || (SELECT COUNT(*) FROM runs WHERE principal = ?1 AND status = 'running')
           || ' ' || (SELECT COUNT(*) FROM runs
                WHERE principal = ?1 AND status = 'waiting_approval') AS mark",
        principal
    );
    Ok(db.first::<Mark>(&statement).await?.and_then(|row| row.mark).unwrap_or_default())
}

/// A text that differs once the page of a principal's run does; empty without such a run.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn mark_of_run(db: &Db, principal: &str, run: &str) -> Result<String, StoreError> {
    let statement = sql!(
        "SELECT status || ' ' || fence
           || ' ' || (SELECT COUNT(*) || '/' || COUNT(returned_at) FROM dispatches
                WHERE run_id = ?2)
           || ' ' || COALESCE((SELECT length(lines) FROM run_logs WHERE run_id = ?2), 0)
           || ' ' || (SELECT COUNT(*) || '/' || COUNT(decided_at) FROM approvals
                WHERE run_id = ?2) AS mark
         FROM runs WHERE id = ?2 AND principal = ?1",
        principal,
        run
    );
    Ok(db.first::<Mark>(&statement).await?.and_then(|row| row.mark).unwrap_or_default())
}
