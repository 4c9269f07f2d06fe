//! What an instance of the engine does: segment after segment, until the run has its outcome.
//!
//! A segment is one attempt inside a step. Between two of them the instance hibernates: until a date
//! where the program sleeps, until an event where people are waited for. The rows decide what comes
//! next; a step's answer only tells the engine how long to hibernate. So it does no harm when the
//! engine runs a step again, loses one, or wakes early: a segment that finds nothing to do says so.
//!
//! An attempt that was cut or lost is a failed step, which the engine tries again with back-off: that is
//! a real second attempt, from the record. An outcome that no attempt can mend is told to the engine as
//! an error that is not tried again.

use super::reconcile;
use crate::approvals::{self, Hands};
use crate::attempt::Order;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::{hang_up, start_attempt};
use crate::platform::workflows::{Failed, Step, Tries};
use crate::report::desk::Circumstances;
use crate::run::outcome::Status;
use crate::run::segment::{MAX_FAULTS, Segment};
use crate::runs;
use crate::store::workflows::{self as table, Row};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// Segments of one workflow at most: the engine knows 10,000 steps of an instance, and each takes two.
const MAX_SEGMENTS: u64 = 4_900;

/// How often the engine tries a segment again before this asks the rows what to make of it.
const TRIES: u32 = 5;

/// The most that a step may take: waiting for a permit, the ceiling of an attempt, and the time to
/// store it.
const STEP_MS: u64 = 1_200_000;

/// How long a segment waits within its step: for a lease to run out, a permit, the rest of a back-off.
const PATIENCE_MS: u64 = 90_000;

/// How often it looks meanwhile.
const LOOK_MS: u64 = 500;

/// How long it waits for what has no time of its own, such as a run that it invoked and that waits for
/// people: it is woken when that has ended, and the schedule looks as well.
const UNTIMED_MS: u64 = 3_600_000;

/// The engine refuses shorter waits for an event.
const SHORTEST_WAIT_MS: u64 = 1_000;

/// What comes after a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "then")]
enum Then {
    /// Hibernate until a date.
    Sleep { until: u64 },
    /// Hibernate until somebody decided, or until a date.
    Wait { until: u64 },
    /// The run has its outcome.
    Done,
}

/// The type of the event that wakes an instance after a segment. Each has its own: an event that came
/// too late, or twice, wakes nothing later.
#[must_use]
pub fn wakes(segment: u64) -> String {
    format!("wake_{segment}")
}

/// Drives the workflow `id` to its end.
///
/// # Errors
///
/// What tells the engine that the run has failed; what the engine itself throws.
pub async fn drive(hands: Rc<Hands>, step: &Step, id: &str) -> Result<(), JsValue> {
    let tries =
        Tries { limit: TRIES, delay_ms: hands.config.workflows.back_off_ms, timeout_ms: STEP_MS };
    for number in 1..=MAX_SEGMENTS {
        let body = {
            let (hands, id): (Rc<Hands>, Rc<str>) = (Rc::clone(&hands), id.into());
            move || {
                let (hands, id) = (Rc::clone(&hands), Rc::clone(&id));
                async move { segment(&hands, &id, number).await }
            }
        };
        let told = step.run(&format!("segment {number}"), tries, body).await;
        let then = match told {
            Ok(text) => serde_json::from_str(&text).unwrap_or(Then::Sleep { until: 0 }),
            // The engine has tried often enough; whether it is given up, the rows decide.
            Err(thrown) => match table::any(&hands.db, id).await {
                Ok(Some(row)) if !row.status().is_final() => {
                    Then::Sleep { until: row.wake_at.unwrap_or_else(now_ms) }
                }
                Ok(_) => return Err(thrown),
                Err(_) => Then::Sleep { until: now_ms().saturating_add(tries.delay_ms) },
            },
        };
        let now = now_ms();
        let (hibernated, until) = match then {
            Then::Done => return Ok(()),
            Then::Sleep { until } if until <= now => continue,
            Then::Sleep { until } => {
                (step.sleep_until(&format!("sleep {number}"), until).await, until)
            }
            Then::Wait { until } => {
                let wait_ms = until.saturating_sub(now).max(SHORTEST_WAIT_MS);
                let (name, event) = (format!("wait {number}"), wakes(number));
                (step.wait_for_event(&name, &event, wait_ms).await, until)
            }
        };
        if let Err(thrown) = hibernated
            // Nobody came in time, or the date was past when an instance that was lost came back to it.
            && now_ms().saturating_add(SHORTEST_WAIT_MS) < until
        {
            return Err(thrown);
        }
    }
    give_up(&hands, id).await;
    Ok(())
}

async fn give_up(hands: &Hands, id: &str) {
    let fault = Fault::limit(
        "segments",
        "The number of segments of this workflow",
        None,
        MAX_SEGMENTS,
        "a workflow",
    );
    let ended = match table::any(&hands.db, id).await {
        Ok(Some(row)) => reconcile::end(hands, &row, fault).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    if let Err(fault) = ended {
        hands.desk.take(&fault, &Circumstances { surface: Some("workflow"), run: Some(id) });
    }
}

/// One segment: an attempt if there is something to attempt, and what comes next.
async fn segment(hands: &Hands, id: &str, number: u64) -> Result<String, Failed> {
    let then = match attempted(hands, id, number).await {
        Ok(then) => then?,
        Err(fault) => {
            let of = Circumstances { surface: Some("workflow"), run: Some(id) };
            hands.desk.take(&fault, &of);
            return Err(Failed::Again(fault.message));
        }
    };
    serde_json::to_string(&then).map_err(|error| Failed::Again(error.to_string()))
}

async fn attempted(hands: &Hands, id: &str, number: u64) -> Result<Result<Then, Failed>, Fault> {
    let (db, config) = (&hands.db, &hands.config);
    db.run(&table::at_segment(id, number)).await?;
    let began_at = now_ms();
    let fence = loop {
        let Some(row) = table::any(db, id).await? else {
            return Ok(Err(Failed::ForGood(format!("There is no run {id}."))));
        };
        let now = now_ms();
        if row.status().is_final() {
            return ended(hands, &row).await.map(Ok).or_else(|failed| Ok(Err(failed)));
        }
        if row.is_due(now) {
            if now >= row.ends_at {
                reconcile::end(hands, &row, outlived(&row)).await?;
                continue;
            }
            if row.losses >= MAX_FAULTS {
                let message = "The sandbox of this run is gone: it was lost again and again.";
                reconcile::end(hands, &row, Fault::new(Code::SandboxGone, message)).await?;
                continue;
            }
            if let Some(fence) = table::claim(db, id, &config.permits, now).await? {
                break fence;
            }
        }
        let then = next(&row, now);
        let due_at = match then {
            Then::Sleep { until } | Then::Wait { until } => until,
            Then::Done => now,
        };
        // The rest of a back-off is waited for here; so is what an attempt leaves that still lives.
        let soon = due_at.saturating_sub(now) <= config.workflows.back_off_ms.min(PATIENCE_MS);
        let waits_here = row.status() == Status::Running
            || row.is_due(now)
            || (row.last_error.is_some() && soon);
        if !waits_here {
            return Ok(Ok(then));
        }
        if now.saturating_sub(began_at) >= PATIENCE_MS {
            return Ok(Ok(Then::Sleep { until: now.saturating_add(5_000) }));
        }
        // For a permit or a lease there is no better time than the next look.
        let left_ms = if due_at > now { due_at.saturating_sub(now) } else { LOOK_MS };
        sleep_ms(left_ms.clamp(1, LOOK_MS)).await;
    };
    let Some(row) = table::any(db, id).await? else {
        return Ok(Err(Failed::ForGood(format!("There is no run {id}."))));
    };
    attempt(hands, &row, fence).await?;
    let Some(row) = table::any(db, id).await? else {
        return Ok(Err(Failed::ForGood(format!("There is no run {id}."))));
    };
    Ok(match row.status() {
        status if status.is_final() => ended(hands, &row).await,
        Status::Running => Err(Failed::Again("The attempt was lost.".to_owned())),
        _ => match &row.last_error {
            // A failed step: the engine comes again after its back-off.
            Some(error) => Err(Failed::Again(error.clone())),
            None => Ok(next(&row, now_ms())),
        },
    })
}

/// Makes the attempt that was claimed.
async fn attempt(hands: &Hands, row: &Row, fence: u64) -> Result<(), Fault> {
    let order = approvals::order_of(&hands.db, &row.id, fence).await?;
    let durable = &hands.config.workflows;
    let order = Order {
        segment: Some(Segment {
            park_ms: hands.config.park_ms,
            ends_at: row.ends_at,
            retries: row.retries,
            cuts: row.cuts,
            faults: row.faults,
            errors: row.errors,
            back_off_ms: durable.back_off_ms,
        }),
        ..order
    };
    let text = serde_json::to_string(&order)
        .map_err(|error| Fault::internal(&row.id, error.to_string()))?;
    // Nobody can hang up on it: a workflow has no caller.
    let (_stays, aborted) = hang_up();
    let answer = start_attempt(&hands.ctx, &text, aborted).await.map_err(|thrown| {
        Fault::new(Code::SandboxGone, "The request of an attempt was lost.")
            .caused_by(thrown.to_string())
    })?;
    runs::unpacked(answer).map(|_| ())
}

/// What is read of the response of a run that failed.
#[derive(Deserialize)]
struct Told {
    error: Option<String>,
}

/// What an outcome is for the engine.
async fn ended(hands: &Hands, row: &Row) -> Result<Then, Failed> {
    if let Err(error) = hands.db.run(&table::closed(&row.id)).await {
        // The schedule closes it.
        worker::console_error!("workflow {}: {error}", row.id);
    }
    if row.status() != Status::Failed {
        return Ok(Then::Done);
    }
    let told = runs::stored(&hands.db, &row.id).await.ok().flatten();
    let told = told.and_then(|text| serde_json::from_str::<Told>(&text).ok());
    let error = told.and_then(|told| told.error).unwrap_or_else(|| "The run failed.".to_owned());
    Err(Failed::ForGood(error))
}

fn outlived(row: &Row) -> Fault {
    let life_ms = row.ends_at.saturating_sub(row.created_at);
    Fault::limit("lifeMs", "The life time of this workflow", None, life_ms, "ms").with_next_step(
        "Create another workflow for what is left, and let it begin where this one stopped.",
    )
}

/// What a workflow waits for that is not at work.
fn next(row: &Row, now: u64) -> Then {
    let until = [row.wake_at, row.expires_at].into_iter().flatten().min();
    match (row.expires_at, until) {
        (Some(_), Some(until)) => Then::Wait { until },
        (None, Some(until)) => Then::Sleep { until },
        (_, None) => Then::Wait { until: now.saturating_add(UNTIMED_MS) },
    }
}
