//! The round of the schedules: times that are due are put down, and their runs begin.

use super::rule::{self, Missed};
use super::when::whole;
use super::{Work, order, rule_of, workflow};
use crate::approvals::Hands;
use crate::attempt::Order;
use crate::error::{Code, Fault};
use crate::ledger::{self, request};
use crate::platform::clock::now_ms;
use crate::platform::exports::hang_up;
use crate::report::desk::Circumstances;
use crate::store::ledger::Claim;
use crate::store::schedules::{self as table, Firing, Row, Time};
use crate::workflows;
use serde::Deserialize;
use serde_json::json;

/// Schedules, and times, that one round takes.
const AT_ONCE: u64 = 50;

/// When a time is tried again whose run has not begun: longer than a run waits in line.
const AGAIN_MS: u64 = 60_000;

/// How long a time is tried whose run is refused for want of room.
const TRIED_FOR_MS: u64 = 3_600_000;

/// How long the history is kept: a month.
const HISTORY_MS: u64 = 2_592_000_000;

/// Once a minute: puts down the times that are due, begins their runs, forgets old history.
///
/// # Errors
///
/// The database.
pub async fn sweep(hands: &Hands) -> Result<(), Fault> {
    let now = now_ms();
    for row in table::due(&hands.db, now, AT_ONCE).await? {
        if let Err(fault) = advance(hands, &row, now).await {
            // One schedule that cannot be read keeps no other from its time.
            hands.desk.take(&fault, &Circumstances::default());
        }
    }
    for firing in table::to_fire(&hands.db, now.saturating_sub(AGAIN_MS), AT_ONCE).await? {
        fire(hands, firing).await?;
    }
    hands.db.run(&table::prune(now.saturating_sub(HISTORY_MS))).await?;
    Ok(())
}

async fn advance(hands: &Hands, row: &Row, now: u64) -> Result<(), Fault> {
    let Some(due) = row.next_at else { return Ok(()) };
    let missed = Missed::parse(&row.missed).unwrap_or_default();
    let round = rule_of(row)?
        .rule()
        .and_then(|(rule, zone)| rule::round(&rule, &zone, missed, whole(due), whole(now)))
        .map_err(|error| Fault::internal("none", format!("schedule {}: {error}", row.id)))?;
    let moment = |at: i64| u64::try_from(at).unwrap_or_default();
    let mut times: Vec<Time> =
        round.fire.iter().map(|at| Time { at: moment(*at), missed: None }).collect();
    if let Some(skipped) = round.skipped {
        times.push(Time { at: moment(skipped.first), missed: Some(skipped.count) });
    }
    let next = round.next.map(moment);
    Ok(table::advance(&hands.db, (&row.id, due), &times, next, now).await?)
}

/// Begins the run of a time.
async fn fire(hands: &Hands, firing: Firing) -> Result<(), Fault> {
    let work: Work = match serde_json::from_str(&firing.work) {
        Ok(work) => work,
        Err(error) => return Err(Fault::internal("none", error.to_string())),
    };
    let key = format!("schedule:{}:{}", firing.schedule_id, firing.at);
    if work.workflow.is_some() {
        return create(hands, &firing, &work, key).await;
    }
    let request_hash = request::hash(&json!(firing.work));
    let ordered = order(hands, &firing.principal, &firing.name, work.clone()).await;
    let target = work.target().ok().flatten().map(|target| target.to_string());
    let order = match ordered {
        Ok(order) => Order {
            origin: firing.origin.clone(),
            claim: Some(Claim { target: target.unwrap_or_default(), key, request_hash }),
            ..order
        },
        Err(fault) => return unfired(hands, &firing, &fault).await,
    };
    if !table::take(&hands.db, &firing, &order.run_id, now_ms()).await? {
        return Ok(());
    }
    let hands = hands.clone();
    let ctx = std::rc::Rc::clone(&hands.ctx);
    ctx.wait_until(async move {
        let (_stays, aborted) = hang_up();
        let answer = ledger::start(&hands, &order, aborted).await;
        let told = match answer {
            Ok(answered) => {
                let run = id_of(&answered.text);
                hands.db.run(&table::fired(&firing, "begun", run.as_deref(), None)).await
            }
            .map(|_| ())
            .map_err(Fault::from),
            // Another round has begun it, and puts it down.
            Err(fault) if fault.code == Code::IdempotencyInProgress => Ok(()),
            Err(fault) => unfired(&hands, &firing, &fault).await,
        };
        if let Err(fault) = told {
            // The next round comes to it again.
            let of = Circumstances { surface: None, run: Some(&order.run_id) };
            hands.desk.take(&fault, &of);
        }
    });
    Ok(())
}

/// Creates the durable run of a time: the same key again gives the same one.
async fn create(hands: &Hands, firing: &Firing, work: &Work, key: String) -> Result<(), Fault> {
    let (principal, origin) = (&firing.principal, &firing.origin);
    let created = async {
        let request = workflow(work, Some(key))?
            .ok_or_else(|| Fault::internal("none", "the work is no workflow"))?;
        workflows::create(hands, principal, origin, request).await
    }
    .await;
    match created {
        Ok(created) => {
            hands.db.run(&table::fired(firing, "begun", Some(&created.id), None)).await?;
            Ok(())
        }
        Err(fault) => unfired(hands, firing, &fault).await,
    }
}

/// No run began: it is tried again where there was no room, and refused for good where it cannot run.
async fn unfired(hands: &Hands, firing: &Firing, fault: &Fault) -> Result<(), Fault> {
    let room = fault.kind() == crate::error::Kind::TimedOut
        || matches!(
            fault.code,
            Code::CapacityExceeded | Code::StorageUnavailable | Code::SandboxGone
        );
    let again = room && now_ms().saturating_sub(firing.at) < TRIED_FOR_MS;
    let state = if again { "due" } else { "refused" };
    let error = fault.to_json().to_string();
    hands.db.run(&table::fired(firing, state, None, Some(&error))).await?;
    Ok(())
}

fn id_of(response: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        id: String,
    }
    serde_json::from_str::<Head>(response).ok().map(|head| head.id)
}
