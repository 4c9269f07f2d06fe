//! The table `attempts`: where the time of each attempt of a run went. For people to look at; nothing is
//! decided by it.

use super::db::{Db, Statement, StoreError};
use crate::run::outcome::Status;
use crate::{row, sql};

/// An attempt begins.
#[must_use]
pub fn began(run: &str, fence: u64, now: u64, ceiling_ms: u64) -> Statement {
    sql!(
        "INSERT INTO attempts (run_id, fence, began_at, ceiling_ms)
         SELECT ?1, ?2, ?3, ?4 FROM runs WHERE id = ?1 AND fence = ?2
         ON CONFLICT DO NOTHING",
        run,
        fence,
        now,
        ceiling_ms
    )
}

/// Where an attempt's time went.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// Until its program could start; `None`: it never could.
    pub loaded_ms: Option<u64>,
    /// From there until the recorded part was behind it.
    pub replayed_ms: Option<u64>,
    /// The program on its own.
    pub compute_ms: u64,
    /// At least one dispatch in flight.
    pub tools_ms: u64,
}

/// An attempt ends that began at `began_at`; its row need not be there yet.
#[must_use]
pub fn ended(
    run: &str,
    fence: u64,
    began: (u64, u64),
    spent: &Spent,
    ended: (Status, u64),
) -> Statement {
    let ((began_at, ceiling_ms), (status, ended_at)) = (began, ended);
    sql!(
        "INSERT INTO attempts (run_id, fence, began_at, ceiling_ms, loaded_ms, replayed_ms,
                               compute_ms, tools_ms, ended_at, ended_as)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM runs WHERE id = ?1 AND fence = ?2
         ON CONFLICT (run_id, fence) DO UPDATE
           SET loaded_ms = excluded.loaded_ms, replayed_ms = excluded.replayed_ms,
               compute_ms = excluded.compute_ms, tools_ms = excluded.tools_ms,
               ended_at = excluded.ended_at, ended_as = excluded.ended_as",
        run,
        fence,
        began_at,
        ceiling_ms,
        spent.loaded_ms,
        spent.replayed_ms,
        spent.compute_ms,
        spent.tools_ms,
        ended_at,
        status.as_str()
    )
}

row! {
    /// An attempt.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Its fence.
        pub fence: u64,
        /// When it began.
        pub began_at: u64,
        /// The most that it may take.
        pub ceiling_ms: u64,
        /// Until its program could start.
        pub loaded_ms: Option<u64>,
        /// From there until the recorded part was behind it.
        pub replayed_ms: Option<u64>,
        /// The program on its own.
        pub compute_ms: Option<u64>,
        /// At least one dispatch in flight.
        pub tools_ms: Option<u64>,
        /// When it ended; `None`: it is at work, or was lost.
        pub ended_at: Option<u64>,
    }
}

/// The attempts of a run, in order.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn of_run(db: &Db, run: &str) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT fence, began_at, ceiling_ms, loaded_ms, replayed_ms, compute_ms, tools_ms, ended_at
         FROM attempts WHERE run_id = ?1 ORDER BY fence LIMIT 2000",
        run
    );
    db.all(&statement).await
}
