//! The table `dispatches`: one row a tool call, written before the call and after it. A call that a limit
//! refused has none: no tool was called.

use super::db::{Db, Statement, StoreError};
use crate::{row, sql};
use serde_json::{Value, json};

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

/// A call as it is made.
#[derive(Debug, Clone)]
pub struct Called {
    n: u32,
    path: String,
    arguments: String,
    bytes_in: u64,
    at: u64,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct Ended {
    n: u32,
    path: String,
    ending: Ending,
    reply: String,
    bytes_out: u64,
    at: u64,
}

impl Called {
    /// The call `n`, made at `at`.
    #[must_use]
    pub fn new(n: u32, path: &str, arguments: &str, at: u64) -> Self {
        let (bytes_in, arguments) = (length(arguments), preview(arguments).to_owned());
        Self { n, path: path.to_owned(), arguments, bytes_in, at }
    }

    /// Its number.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    fn weight(&self) -> usize {
        self.path.len().saturating_add(self.arguments.len())
    }
}

impl Ended {
    /// The call `n` of the tool at `path`, over at `at`.
    #[must_use]
    pub fn new(n: u32, path: &str, ending: Ending, reply: &str, at: u64) -> Self {
        let (bytes_out, reply) = (length(reply), preview(reply).to_owned());
        Self { n, path: path.to_owned(), ending, reply, bytes_out, at }
    }

    /// Its number.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    fn weight(&self) -> usize {
        self.path.len().saturating_add(self.reply.len())
    }
}

/// What the row of a call is to say.
#[derive(Debug, Clone)]
pub enum Change {
    /// It is made, and may be over.
    Called(Called, Option<Ended>),
    /// It is over; its row is there.
    Ended(Ended),
}

impl Change {
    /// Bytes that it takes to send.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Called(called, ended) => {
                called.weight().saturating_add(ended.as_ref().map_or(0, Ended::weight))
            }
            Self::Ended(ended) => ended.weight(),
        }
    }

    fn row(&self) -> Value {
        let (call, ended) = match self {
            Self::Called(call, ended) => (Some(call), ended.as_ref()),
            Self::Ended(ended) => (None, Some(ended)),
        };
        json!([
            call.map(|call| call.n).or_else(|| ended.map(|ended| ended.n)),
            call.map(|call| &call.path).or_else(|| ended.map(|ended| &ended.path)),
            ended.map_or("called", |ended| ended.ending.as_str()),
            call.map_or("", |call| &call.arguments),
            call.map_or(0, |call| call.bytes_in),
            call.map(|call| call.at).or_else(|| ended.map(|ended| ended.at)),
            ended.map(|ended| ended.at),
            ended.map(|ended| &ended.reply),
            ended.map(|ended| ended.bytes_out),
        ])
    }
}

/// The rows of calls under the attempt's fence: one statement, however many they are. A row that is there
/// keeps what was called, and is told its end.
#[must_use]
pub fn write(run: &str, fence: u64, changes: &[Change]) -> Statement {
    sql!(
        "INSERT INTO dispatches
           (run_id, n, path, state, arguments, bytes_in, called_at, returned_at, reply, bytes_out)
         SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
                value ->> 6, value ->> 7, value ->> 8
         FROM runs CROSS JOIN json_each(?3) WHERE runs.id = ?1 AND runs.fence = ?2
         ON CONFLICT (run_id, n) DO UPDATE
           SET state = excluded.state, returned_at = excluded.returned_at, reply = excluded.reply,
               bytes_out = excluded.bytes_out
           WHERE excluded.returned_at IS NOT NULL",
        run,
        fence,
        changes.iter().map(Change::row).collect::<Value>().to_string(),
    )
}

row! {
    /// A dispatch, as it is listed.
    #[derive(Debug, Clone)]
    pub struct Done {
        /// Its number.
        pub n: u32,
        /// The tool.
        pub path: String,
        /// `called`, `returned`, `failed` or `stopped`.
        pub state: String,
    }
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
