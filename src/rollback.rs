//! Rollback: what a run that failed or was cancelled did is undone, by a run of its own.
//!
//! The run that undoes is a program of ours, with the steps as its parameters. So its calls are under
//! the principal's policy, people are asked where it asks, each is journaled and made once, and it goes
//! on after a crash, as any run. It runs under a key of the ledger that nobody else can name
//! ([`TARGET`]), so a run is undone once, whoever asks how often.

use crate::attempt::Order;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::ledger;
use crate::platform::clock::now_ms;
use crate::run::journal::{Call, Journal};
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest};
use crate::store::db::{Db, StoreError};
use crate::store::ledger::Claim;
use crate::store::{compensations, journal, runs as table};
use crate::tools::compensation::{Step, Undo};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The target of the keys that rollbacks run under: no program and no export has it.
pub const TARGET: &str = "rollback";

/// How long what a run did can be undone, in milliseconds: a week. So long is its journal kept.
pub const KEPT_MS: u64 = 604_800_000;

/// The program that undoes.
const PROGRAM: &str = include_str!("rollback.js");

/// What can be undone of a run whose journal is at hand, the last effect first.
///
/// # Errors
///
/// The database.
pub async fn plan(db: &Db, principal: &str, journal: &Journal) -> Result<Vec<Undo>, StoreError> {
    // Most runs that fail have changed nothing: they cost no look at the database.
    if !journal.calls().iter().any(Call::is_started) {
        return Ok(Vec::new());
    }
    Ok(compensations::of(db, principal).await?.plan(journal))
}

/// Calls that a plan offers to make.
#[must_use]
pub fn offered(plan: &[Undo]) -> Vec<&Step> {
    let steps = plan.iter().filter_map(|undo| match undo {
        Undo::By(step) => Some(step),
        Undo::Unknown { .. } | Undo::Unfit { .. } => None,
    });
    steps.collect()
}

/// How many calls a plan offers to make; `None` for none.
#[must_use]
pub fn count(plan: &[Undo]) -> Option<u64> {
    u64::try_from(offered(plan).len()).ok().filter(|steps| *steps > 0)
}

/// What can be undone of a run by what is stored of it, whatever its state.
///
/// # Errors
///
/// The database; a record that cannot be read.
pub async fn plan_of(db: &Db, principal: &str, run: &str) -> Result<Vec<Undo>, Fault> {
    let (text, _) = journal::text(db, run).await?;
    let lost = || Fault::new(Code::RecordLost, "The record of the run cannot be read.");
    let journal = Journal::read(&text).map_err(|unfit| lost().caused_by(unfit.0))?;
    Ok(plan(db, principal, &journal).await?)
}

/// The run that undoes or undid a run, if there is one.
///
/// # Errors
///
/// The database.
pub async fn run_of(db: &Db, principal: &str, run: &str) -> Result<Option<String>, Fault> {
    ledger::run_of(db, principal, Surface::Execute, &claim(run)).await
}

/// What of a run can be undone, and the run that does or did it.
///
/// # Errors
///
/// `run_not_found`, also for somebody else's; the database.
pub async fn look(db: &Db, principal: &str, run: &str) -> Result<String, Fault> {
    let plan = stored_plan(db, principal, run).await?;
    let by = run_of(db, principal, run).await?;
    let steps: Vec<Value> = plan.iter().map(Undo::view).collect();
    Ok(json!({ "runId": run, "rollbackRunId": by, "steps": steps }).to_string())
}

/// The order of the run that undoes `run`.
///
/// # Errors
///
/// `run_not_found`; `not_undoable` for a run that goes on, completed, or has nothing to undo.
pub async fn order(
    db: &Db,
    config: &Config,
    principal: &str,
    run: &str,
    arrived_at: u64,
) -> Result<Order, Fault> {
    let plan = stored_plan(db, principal, run).await?;
    let known = run_of(db, principal, run).await?.is_some();
    let steps = offered(&plan);
    if steps.is_empty() && !known {
        return Err(not_undoable(
            run,
            "nothing that it did has a compensation, or its time is over",
        ));
    }
    let params = RawValue::from_string(json!({ "steps": steps }).to_string())
        .map_err(|error| Fault::internal(run, error.to_string()))?;
    let request = RunRequest {
        code: PROGRAM.to_owned(),
        params: Some(params),
        budget_ms: None,
        label: Some(format!("rollback of {run}")),
        limits: None,
    };
    let order = runs::order(config, principal, Surface::Execute, request, arrived_at)?;
    Ok(Order { claim: Some(claim(run)), ..order })
}

fn claim(run: &str) -> Claim {
    // The key says all: what is to be undone does not change any more.
    Claim { target: TARGET.to_owned(), key: run.to_owned(), request_hash: String::new() }
}

async fn stored_plan(db: &Db, principal: &str, run: &str) -> Result<Vec<Undo>, Fault> {
    let row = table::find(db, principal, run).await?.ok_or_else(|| runs::not_found(run))?;
    match Status::parse(&row.status) {
        Some(Status::Failed | Status::Cancelled) => {}
        Some(Status::Completed) => return Err(not_undoable(run, "it completed")),
        _ => return Err(not_undoable(run, "it goes on; cancel it first")),
    }
    plan_of(db, principal, run).await
}

fn not_undoable(run: &str, why: &str) -> Fault {
    Fault::new(Code::NotUndoable, format!("{run} cannot be undone: {why}.")).with("runId", run)
}

/// Forgets the journals whose time is over.
///
/// # Errors
///
/// The database.
pub async fn prune(db: &Db) -> Result<(), Fault> {
    db.batch(&journal::prune(now_ms())).await?;
    Ok(())
}
