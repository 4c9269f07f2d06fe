//! The table `followed`: calls that wait because the run that they invoked waits for people.

use super::db::{Db, Statement, StoreError};
use crate::{row, sql};

/// Calls of one run that wait so, at most: as many as it may make.
const MOST: u64 = 1_000;

/// The row of a call that begins to wait, under the attempt's fence.
#[must_use]
pub fn begin(run: &str, fence: u64, n: u32, child: &str) -> Statement {
    sql!(
        "INSERT INTO followed (run_id, n, child_id)
         SELECT ?1, ?3, ?4 FROM runs WHERE id = ?1 AND fence = ?2 AND status = 'running'
         ON CONFLICT DO NOTHING",
        run,
        fence,
        u64::from(n),
        child
    )
}

/// The call was answered.
#[must_use]
pub fn heard(run: &str, fence: u64, n: u32) -> Statement {
    sql!(
        "UPDATE followed SET heard = 1 WHERE run_id = ?1 AND n = ?3
           AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND fence = ?2)",
        run,
        fence,
        u64::from(n)
    )
}

row! {
    /// A call that waits, and how the run stands that it invoked.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// The call.
        pub n: u32,
        /// The run that it invoked.
        pub child_id: String,
        /// That run's status; `None` when it is not there any more.
        pub status: Option<String>,
    }
}

/// The calls of a run that wait so and were not answered.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn of_run(db: &Db, run: &str) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT f.n AS n, f.child_id AS child_id, c.status AS status
         FROM followed f LEFT JOIN runs c ON c.id = f.child_id
         WHERE f.run_id = ?1 AND f.heard = 0 ORDER BY f.n LIMIT ?2",
        run,
        MOST
    );
    db.all(&statement).await
}

/// The run that a call waits for.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn find(db: &Db, run: &str, n: u32) -> Result<Option<String>, StoreError> {
    row! {
        struct Child {
            child_id: String,
        }
    }
    let statement =
        sql!("SELECT child_id FROM followed WHERE run_id = ?1 AND n = ?2", run, u64::from(n));
    Ok(db.first::<Child>(&statement).await?.map(|row| row.child_id))
}

/// Runs that wait for `child`, which has ended; at most `limit`.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn parents_of(db: &Db, child: &str, limit: u64) -> Result<Vec<String>, StoreError> {
    row! {
        struct Parent {
            run_id: String,
        }
    }
    let statement = sql!(
        "SELECT f.run_id AS run_id FROM followed f
           JOIN runs c ON c.id = f.child_id JOIN runs p ON p.id = f.run_id
         WHERE f.child_id = ?1 AND f.heard = 0 AND p.status = 'waiting_approval'
           AND c.status IN ('completed', 'failed', 'cancelled') LIMIT ?2",
        child,
        limit
    );
    Ok(db.all::<Parent>(&statement).await?.into_iter().map(|row| row.run_id).collect())
}

/// Runs that wait for people and that only `run` waited for: they end with it. One under a key
/// goes on: the key says that somebody asks again.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn left_alone(db: &Db, run: &str) -> Result<Vec<String>, StoreError> {
    row! {
        struct Child {
            child_id: String,
        }
    }
    let statement = sql!(
        "SELECT f.child_id AS child_id FROM followed f JOIN runs c ON c.id = f.child_id
         WHERE f.run_id = ?1 AND f.heard = 0 AND c.status IN ('waiting_approval', 'parked')
           AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.run_id = f.child_id) LIMIT ?2",
        run,
        MOST
    );
    Ok(db.all::<Child>(&statement).await?.into_iter().map(|row| row.child_id).collect())
}
