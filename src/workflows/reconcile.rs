//! Rows and instances held against each other: when a workflow is read, and on the schedule.
//!
//! The rows are the truth. What the engine says is told beside them, and where it cannot be true any
//! more (an instance that was terminated, that failed by itself, that is not there) the rows follow or
//! the instance is made again. An outcome never changes.
//!
//! After a local process was killed its instances neither wake nor answer; an event revives them.
//! So whatever is due is sent one, and so is whatever will be due before the schedule comes again.

use super::segments;
use crate::approvals::Hands;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::workflows::{Seen, Workflows};
use crate::report::desk::{Circumstances, Desk};
use crate::run::outcome::Status;
use crate::runs;
use crate::store::journal;
use crate::store::workflows::{self as table, Row};
use futures_util::future::FutureExt as _;
use futures_util::{pin_mut, select_biased};

/// How long the engine may take to say where an instance stands.
const LOOK_MS: u64 = 1_500;

/// Bytes of parameters that an instance's event carries; larger ones are in the rows only.
const MAX_EVENT_BYTES: usize = 16_384;

/// How far the schedule looks ahead: it comes again in a minute.
const AHEAD_MS: u64 = 90_000;

/// Workflows that one round of the schedule looks at.
const AT_ONCE: u64 = 100;

/// Makes the instance of a workflow. What goes wrong is told to the desk: the schedule tries again.
pub(super) async fn make(hands: &Hands, engine: &Workflows, id: &str, params: &str) {
    let params = if params.len() > MAX_EVENT_BYTES { "null" } else { params };
    let event = format!("{{\"runId\":\"{id}\",\"params\":{params}}}");
    let made = match engine.create(id, &event).await {
        Ok(()) => true,
        // There is one already: somebody was faster.
        Err(_) if matches!(seen(engine, id).await, Some(Seen::Known(_))) => true,
        Err(thrown) => {
            tell(&hands.desk, id, &thrown.to_string());
            false
        }
    };
    if made && let Err(error) = hands.db.run(&table::made(id)).await {
        // It is found to be there when it is made again.
        worker::console_error!("workflow {id}: {error}");
    }
}

fn tell(desk: &Desk, id: &str, cause: &str) {
    let message = "The engine of durable runs did not answer.";
    let fault = Fault::new(Code::Internal, message).caused_by(cause);
    desk.take(&fault, &Circumstances { surface: Some("workflow"), run: Some(id) });
}

/// What the engine says, if it says so in time.
async fn seen(engine: &Workflows, id: &str) -> Option<Seen> {
    let asked = engine.status(id).fuse();
    let late = sleep_ms(LOOK_MS).fuse();
    pin_mut!(asked, late);
    select_biased! {
        seen = asked => seen.ok(),
        () = late => None,
    }
}

/// Holds one against the engine: its row as it stands then, and what the engine says of it. Nothing is
/// asked about one that has ended.
pub(super) async fn look(hands: &Hands, row: Row) -> Result<(Row, Option<String>), Fault> {
    let Some(engine) = hands.engine.as_ref().filter(|_| !row.status().is_final()) else {
        return Ok((row, None));
    };
    let seen = seen(engine, &row.id).await;
    let said = match &seen {
        Some(Seen::Known(word)) => word.as_str(),
        Some(Seen::Unknown) => "unknown",
        None => "unanswered",
    };
    let said = said.to_owned();
    match said.as_str() {
        "errored" | "terminated" | "complete" => {
            end_as_the_engine_did(hands, &row.id, &said).await?;
            let now = table::any(&hands.db, &row.id).await?;
            return Ok((now.unwrap_or(row), Some(said)));
        }
        "unanswered" => prod(hands, &row).await,
        _ if row.is_due(now_ms()) => prod(hands, &row).await,
        _ => {}
    }
    Ok((row, Some(said)))
}

/// The engine drives it no more: unless it has ended in the meantime, it ends here.
async fn end_as_the_engine_did(hands: &Hands, id: &str, said: &str) -> Result<(), Fault> {
    let Some(row) = table::any(&hands.db, id).await? else { return Ok(()) };
    if row.status().is_final() {
        return Ok(());
    }
    let fault = if said == "terminated" {
        Fault::new(Code::Cancelled, "The run was cancelled: its instance was terminated.")
    } else {
        Fault::new(Code::SandboxGone, "The workflow is gone: the engine has given it up.")
            .caused_by(said)
    };
    end(hands, &row, fault).await
}

/// Ends a workflow between two attempts, or one whose attempt is lost. One that is at work goes on.
pub(super) async fn end(hands: &Hands, row: &Row, fault: Fault) -> Result<(), Fault> {
    let now = now_ms();
    let (db, desk) = (&hands.db, &hands.desk);
    if let Some(fence) = journal::claim_to_end(db, &row.id, now).await? {
        runs::end_lost(db, desk, &row.id, fence, fault, None).await?;
    } else if row.status() == Status::Running && row.lease_until < now {
        runs::end_lost(db, desk, &row.id, row.fence, fault, Some(now)).await?;
    }
    Ok(())
}

/// Sends an instance an event, so that it looks at its rows; makes one that the engine does not know.
pub(super) async fn prod(hands: &Hands, row: &Row) {
    let Some(engine) = &hands.engine else { return };
    let event = segments::wakes(row.segment);
    if row.made > 0 && engine.send_event(&row.id, &event).await.is_ok() {
        return;
    }
    if row.made == 0 || seen(engine, &row.id).await == Some(Seen::Unknown) {
        let params = match journal::input(&hands.db, &row.id).await {
            Ok(input) => input.map_or_else(|| "null".to_owned(), |(_, params)| params),
            Err(error) => return tell(&hands.desk, &row.id, &error.0),
        };
        make(hands, engine, &row.id, &params).await;
    }
}

/// The run has ended: its instance ends too, whatever it was waiting for.
pub(super) async fn close(hands: &Hands, id: &str) -> Result<(), Fault> {
    let Some(row) = table::any(&hands.db, id).await? else { return Ok(()) };
    if !row.status().is_final() || row.closed > 0 {
        return Ok(());
    }
    if let Some(engine) = &hands.engine {
        // It may be at its own end, or never have been made: then there is nothing to terminate.
        let _ = engine.terminate(id).await;
    }
    hands.db.run(&table::closed(id)).await?;
    Ok(())
}

/// Once a minute: makes what was not made, wakes what is due, ends what has ended.
///
/// # Errors
///
/// The database.
pub async fn sweep(hands: &Hands) -> Result<(), Fault> {
    if hands.engine.is_none() {
        return Ok(());
    }
    let now = now_ms();
    let soon = now.saturating_add(AHEAD_MS);
    for id in table::left_behind(&hands.db, now, soon, AT_ONCE).await? {
        let Some(row) = table::any(&hands.db, &id).await? else { continue };
        if row.status().is_final() {
            close(hands, &id).await?;
        } else if row.made > 0 && row.is_due(now) {
            look(hands, row).await?;
        } else {
            prod(hands, &row).await;
        }
    }
    Ok(())
}
