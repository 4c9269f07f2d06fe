//! Workflows: durable runs, as every surface uses them.
//!
//! A workflow is a run that nobody holds a connection for. Its rows are the truth; the engine
//! (Cloudflare Workflows) only drives it, one segment after the other.
//!
//! | File | Lives there |
//! |---|---|
//! | here | create, get, list, cancel |
//! | [`request`] | what was asked for, checked before anything is created |
//! | [`segments`] | what an instance of the engine does |
//! | [`reconcile`] | rows and instances held against each other, on reading and on the schedule |
//! | [`program`] | the same for programs: `workflows.create`, `.get`, `.cancel` |

pub mod program;
pub mod reconcile;
pub mod request;
pub mod segments;

use crate::approvals::Hands;
use crate::error::{Code, Fault};
use crate::ledger;
use crate::ledger::key;
use crate::platform::random;
use crate::run::outcome::Status;
use crate::runs::{self, Page, Wanted};
use crate::sandbox::NUMBERING;
use crate::store::ledger::{self as ledger_table, Place};
use crate::store::workflows::{self as table, Beginning, Begun, Row};
use futures_util::future::join_all;
use serde_json::{Value, json};

pub use request::WorkflowRequest;

/// How often a cancel is tried that came between two segments.
const CANCELS: u32 = 3;

/// A workflow that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Its id, which is its run's.
    pub id: String,
    /// It as it is told: `{id, status, …}`.
    pub text: String,
    /// It was made by an earlier request under the same key.
    pub replayed: bool,
}

/// Checks a workflow that is to be created later.
///
/// # Errors
///
/// Whatever would refuse it.
pub async fn check(
    hands: &Hands,
    principal: &str,
    origin: &str,
    request: WorkflowRequest,
) -> Result<(), Fault> {
    hands.engine.as_ref().ok_or_else(no_engine)?;
    request.check(hands, principal, origin).await.map(|_| ())
}

/// Creates a workflow for a principal. `origin`: of the links to its approvals.
///
/// # Errors
///
/// Whatever refuses it, before anything is created; the database.
pub async fn create(
    hands: &Hands,
    principal: &str,
    origin: &str,
    request: WorkflowRequest,
) -> Result<Created, Fault> {
    let engine = hands.engine.as_ref().ok_or_else(no_engine)?;
    let durable = &hands.config.workflows;
    let checked = request.check(hands, principal, origin).await?;
    let order = &checked.order;
    let place =
        order.claim.as_ref().map(|claim| Place { principal, surface: order.surface, claim });
    let internal = |error: String| Fault::internal(&order.run_id, error);
    let seed = random::hex::<32>().map_err(|error| internal(error.to_string()))?;
    let kept = order.kept().map_err(|error| internal(error.to_string()))?;
    let begun = table::begin(
        &hands.db,
        &Beginning {
            id: &order.run_id,
            principal,
            label: order.label.as_deref(),
            budget_ms: order.limits.budget_ms,
            now: order.arrived_at,
            wake_at: checked.run_at,
            source: &order.source,
            params: order.params.get(),
            seed: &seed,
            harness: NUMBERING,
            request: &kept,
            retries: checked.retries,
            ends_at: checked.run_at.saturating_add(durable.life_ms),
            most_active: durable.active,
        },
        place,
    )
    .await?;
    match begun {
        Begun::Yes => {}
        Begun::Full => return Err(too_many(durable.active)),
        Begun::Taken => {
            let place = place.ok_or_else(|| internal("a claim without a key".to_owned()))?;
            return first_of(hands, place).await;
        }
    }
    // Should this fail, the schedule makes it: the rows say that the engine does not know of it yet.
    reconcile::make(hands, engine, &order.run_id, order.params.get()).await;
    Ok(Created {
        id: order.run_id.clone(),
        text: json!({
            "id": order.run_id,
            "status": Status::Parked,
            "label": order.label,
            "createdAt": order.arrived_at,
            "wakeAt": checked.run_at,
        })
        .to_string(),
        replayed: false,
    })
}

/// The workflow that an earlier request made under the key.
async fn first_of(hands: &Hands, place: Place<'_>) -> Result<Created, Fault> {
    let shown = key::shown(&place.claim.key);
    let row = ledger_table::find(&hands.db, place).await?;
    let Some(row) = row else { return Err(ledger::in_progress(&place.claim.key)) };
    if row.request_hash != place.claim.request_hash {
        let message = format!("The idempotency key {shown} was first sent with another payload.");
        return Err(Fault::new(Code::IdempotencyMismatch, message));
    }
    let id = row.run_id.ok_or_else(|| ledger::in_progress(&place.claim.key))?;
    let found = table::find(&hands.db, place.principal, &id).await?;
    let found = found.ok_or_else(|| runs::not_found(&id))?;
    Ok(Created {
        id: found.id.clone(),
        text: json!({
            "id": found.id,
            "status": found.status,
            "label": found.label,
            "createdAt": found.created_at,
            "wakeAt": found.wake_at,
        })
        .to_string(),
        replayed: true,
    })
}

/// A principal's workflow: its run, and in `workflow` what only a durable run has. It is held against
/// the engine first.
///
/// # Errors
///
/// `run_not_found`, also for somebody else's and for a run that is none; the database.
pub async fn get(hands: &Hands, principal: &str, id: &str) -> Result<String, Fault> {
    let row = table::find(&hands.db, principal, id).await?.ok_or_else(|| runs::not_found(id))?;
    let (row, engine) = reconcile::look(hands, row).await?;
    let run = runs::get(&hands.db, &hands.desk, principal, id).await?;
    let more = json!({
        "segment": row.segment,
        "engine": engine,
        "retries": row.retries,
        "endsAt": row.ends_at,
        "lastError": row.last_error,
        "lastErrorCode": row.last_code,
    });
    // Appended as text: a result passes on with its digits and keys as they are.
    let head = run.strip_suffix('}').unwrap_or("{\"id\":null");
    Ok(format!("{head},\"workflow\":{more}}}"))
}

/// One page of a principal's workflows, newest first: `{workflows: [...], nextCursor?}`. Those that
/// have not ended are held against the engine first.
///
/// # Errors
///
/// `invalid_request` for a bad page; the database.
pub async fn list(hands: &Hands, principal: &str, page: &Page<'_>) -> Result<String, Fault> {
    let Wanted { limit, status, cursor } = page.read()?;
    let db = &hands.db;
    let mut rows =
        table::list(db, principal, status, cursor.as_ref(), limit.saturating_add(1)).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let next = rows.last().filter(|_| more).map(|row| format!("{}-{}", row.created_at, row.id));
    let looked = join_all(rows.into_iter().map(|row| reconcile::look(hands, row))).await;
    let looked: Vec<(Row, Option<String>)> = looked.into_iter().collect::<Result<_, _>>()?;
    let shown: Vec<Value> =
        looked.iter().map(|(row, engine)| summary(row, engine.as_deref())).collect();
    Ok(match next {
        Some(cursor) => json!({ "workflows": shown, "nextCursor": cursor }),
        None => json!({ "workflows": shown }),
    }
    .to_string())
}

fn summary(row: &Row, engine: Option<&str>) -> Value {
    json!({
        "id": row.id,
        "status": row.status,
        "label": row.label,
        "createdAt": row.created_at,
        "endedAt": row.ended_at,
        "wakeAt": row.wake_at.filter(|_| row.ended_at.is_none()),
        "segment": row.segment,
        "errorCode": row.error_code,
        "errorKind": row.error_kind,
        "engine": engine,
        "lastError": row.last_error,
    })
}

/// Ends a principal's workflow: its segment, the dispatches in it, its sleeps. One that has ended keeps
/// its outcome.
///
/// # Errors
///
/// As [`get`].
pub async fn cancel(hands: &Hands, principal: &str, id: &str) -> Result<String, Fault> {
    let mut row = table::find(&hands.db, principal, id).await?;
    let mut text = None;
    for _ in 0..CANCELS {
        let Some(known) = &row else { return Err(runs::not_found(id)) };
        if !known.status().is_final() {
            // Nobody is asked whose process is dead.
            let fault = Fault::new(Code::Cancelled, "The run was cancelled: it was asked to end.");
            reconcile::end(hands, known, fault).await?;
        }
        text = Some(runs::cancel(&hands.db, &hands.desk, principal, id).await?);
        // It may have parked in the moment in which its attempt was asked.
        row = table::find(&hands.db, principal, id).await?;
        if row.as_ref().is_some_and(|row| row.status().is_final()) {
            break;
        }
    }
    reconcile::close(hands, id).await?;
    text.ok_or_else(|| runs::not_found(id))
}

/// Wakes the instance of a workflow, so that it looks at its rows; whether the run is one.
///
/// # Errors
///
/// The database.
pub async fn wake(hands: &Hands, run: &str) -> Result<bool, Fault> {
    let Some(row) = table::any(&hands.db, run).await? else { return Ok(false) };
    reconcile::prod(hands, &row).await;
    Ok(true)
}

fn too_many(active: u64) -> Fault {
    let message = format!(
        "{active} workflows of yours are at work or wait, which is the limit; nothing was created."
    );
    Fault::new(Code::CapacityExceeded, message)
        .with("limitName", "activeWorkflows")
        .with("limit", active)
        .with_next_step(
            "Wait for one to end, or cancel one: workflow_run_list shows them, workflow_cancel ends \
             one.",
        )
}

fn no_engine() -> Fault {
    Fault::new(
        Code::ConfigurationInvalid,
        "WORKFLOWS: the binding of Cloudflare Workflows is missing from this deployment.",
    )
}
