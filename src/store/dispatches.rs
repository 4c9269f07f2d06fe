//! The table `dispatches`: one row a tool call, written before the call and after it. A call that a limit
//! refused has none: no tool was called.

use super::db::{Db, Statement, StoreError};
use crate::sql;
use serde::Deserialize;

/// The most of an argument or a reply that a row keeps, in bytes; it is for people to look at.
const PREVIEW_BYTES: usize = 4_096;

/// How a dispatch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It answered.
    Returned,
    /// The tool failed.
    Failed,
    /// It was stopped while it ran.
    Stopped,
}

impl Ending {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// The row before the call, under the attempt's fence.
#[must_use]
pub fn called(run: &str, fence: u64, n: u32, path: &str, arguments: &str, now: u64) -> Statement {
    sql!(
        "INSERT INTO dispatches (run_id, n, path, state, arguments, bytes_in, called_at)
         SELECT ?1, ?3, ?4, 'called', ?5, ?6, ?7 FROM runs WHERE id = ?1 AND fence = ?2
         ON CONFLICT DO NOTHING",
        run,
        fence,
        u64::from(n),
        path,
        preview(arguments),
        length(arguments),
        now,
    )
}

/// The row after the call.
#[must_use]
pub fn ended(run: &str, fence: u64, n: u32, ending: Ending, reply: &str, now: u64) -> Statement {
    sql!(
        "UPDATE dispatches SET state = ?4, returned_at = ?5, reply = ?6, bytes_out = ?7
         WHERE run_id = ?1 AND n = ?3
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2)",
        run,
        fence,
        u64::from(n),
        ending.as_str(),
        now,
        preview(reply),
        length(reply),
    )
}

/// A dispatch, as it is listed.
#[derive(Debug, Clone, Deserialize)]
pub struct Done {
    /// Its number.
    pub n: u32,
    /// The tool.
    pub path: String,
    /// `called`, `returned`, `failed` or `stopped`.
    pub state: String,
}

/// What a run called so far, at most 1,000.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn of_run(db: &Db, run: &str) -> Result<Vec<Done>, StoreError> {
    let statement =
        sql!("SELECT n, path, state FROM dispatches WHERE run_id = ?1 ORDER BY n LIMIT 1000", run);
    db.all(&statement).await
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn preview(text: &str) -> &str {
    let mut end = text.len().min(PREVIEW_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}
