//! What an attempt begins with: nothing, or what the attempts before it recorded.

use super::order::Order;
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::run::journal::{Journal, tampered};
use crate::run::log::Line;
use crate::run::machine::Recorded;
use crate::sandbox::NUMBERING;
use crate::store::approvals::{self, Row};
use crate::store::db::Db;
use crate::store::{journal, runs};
use futures_util::future::try_join4;

/// The record of a run, read once.
#[derive(Debug)]
pub struct Memory {
    /// 64 hex digits.
    pub seed: String,
    /// What was recorded.
    pub journal: Journal,
    /// The lines that are stored.
    pub lines: Vec<Line>,
    /// The questions, decided or not.
    pub approvals: Vec<Row>,
    /// The next row of the journal.
    pub seq: u64,
}

impl Memory {
    /// Of a run that begins.
    ///
    /// # Errors
    ///
    /// When the platform has no randomness.
    pub fn fresh(order: &Order) -> Result<Self, Fault> {
        let seed = random::hex::<32>()
            .map_err(|error| Fault::internal(&order.run_id, error.to_string()))?;
        let journal = Journal::default();
        Ok(Self { seed, journal, lines: Vec::new(), approvals: Vec::new(), seq: 0 })
    }

    /// Of a run that goes on.
    ///
    /// # Errors
    ///
    /// The database; a record of another version, or one that cannot be read.
    pub async fn recall(db: &Db, order: &Order) -> Result<Self, Fault> {
        let run = &order.run_id;
        let lost = || Fault::new(Code::RecordLost, "The record of the run is not there.");
        // Side by side: each is a way to the database.
        let (recording, (text, seq), lines, approvals) = try_join4(
            journal::recording(db, run),
            journal::text(db, run),
            runs::logged(db, run),
            approvals::of_run(db, run, now_ms()),
        )
        .await?;
        let recording = recording.ok_or_else(lost)?;
        if recording.harness != NUMBERING {
            let message =
                "The run was recorded by another version of the sandbox and cannot go on.";
            return Err(Fault::new(Code::ReplayDiverged, message));
        }
        let journal = Journal::read(&text).map_err(|unfit| tampered(&unfit))?;
        let lines = lines.and_then(|lines| serde_json::from_str(&lines).ok()).unwrap_or_default();
        Ok(Self { seed: recording.seed, journal, lines, approvals, seq })
    }
}

/// The calls of a record, as the run is told of them; steps are none of its calls.
#[must_use]
pub fn recorded(journal: &Journal) -> Vec<(u32, Recorded)> {
    let calls = (0_u32..).zip(journal.calls()).filter(|(_, call)| !call.is_step());
    calls
        .map(|(n, call)| {
            let answer = call.reply.as_ref().map(|reply| reply.fault.clone());
            (n, (call.path.clone(), answer))
        })
        .collect()
}
