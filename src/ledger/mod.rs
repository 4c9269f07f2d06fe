//! The ledger: what was asked under an idempotency key is done once, and answered alike ever after.
//!
//! | File | Lives there |
//! |---|---|
//! | [`key`] | pure: what a key may look like |
//! | [`request`] | pure: whether two requests are the same |
//! | [`answer`] | pure: answers that were stored in an older form |
//!
//! The rows are [`crate::store::ledger`]'s. A claim is made in the batch that begins its run, so a
//! first request under a key costs no way to the database more than one without. Only who finds
//! the key taken looks further: at the answer, at an owner that lives, at one that is dead.

pub mod answer;
pub mod key;
pub mod request;

use crate::approvals::Hands;
use crate::attempt::Order;
use crate::error::{Code, Fault};
use crate::packages;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::{Aborted, hang_up};
use crate::rollback;
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::runs;
use crate::store::db::Db;
use crate::store::journal;
use crate::store::ledger::{self as table, Claim, Place, Row};
use futures_util::FutureExt as _;

/// How often a caller looks whether the owner of its key has ended: a second in all.
const LOOKS: u32 = 10;

/// Between two looks, in milliseconds.
const LOOK_MS: u64 = 100;

/// How often a claim that came free is fought for.
const TRIES: u32 = 3;

/// A run's response, and whether it had been given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The response as it is stored.
    pub text: String,
    /// The answer to an earlier request under the same key.
    pub replayed: bool,
}

/// Runs an order, or answers what its key was answered before.
///
/// A run with a key goes on when its caller hangs up: the key says that somebody will ask again,
/// and others may be waiting for the same answer. `aborted` counts for a run without one.
///
/// # Errors
///
/// As [`runs::start`]; 422 for another payload under the key; 409 while its owner is at work.
pub async fn start(hands: &Hands, order: &Order, aborted: Aborted) -> Result<Answered, Fault> {
    let Some(claim) = &order.claim else {
        let text = begin(hands, order, aborted).await?;
        return Ok(Answered { text, replayed: false });
    };
    let place = Place { principal: &order.principal, surface: order.surface, claim };
    for _ in 0..TRIES {
        let (_stays, kept) = hang_up();
        let aborted = kept.telling(aborted.told());
        match begin(hands, order, aborted).await {
            Ok(text) => return Ok(Answered { text, replayed: false }),
            Err(fault) if fault.code == Code::IdempotencyInProgress => {}
            Err(fault) => return Err(fault),
        }
        if let Some(text) = await_answer(hands, place).boxed_local().await? {
            return Ok(Answered { text, replayed: true });
        }
    }
    Err(in_progress(&claim.key))
}

/// Runs an order; where its package has moved on since it was remembered, as the package is now.
async fn begin(hands: &Hands, order: &Order, aborted: Aborted) -> Result<String, Fault> {
    let Hands { ctx, db, desk, config, .. } = hands;
    match runs::start(ctx, db, desk, order, aborted.clone()).await {
        Err(fault) if packages::known::has_moved(&fault) => {
            async {
                let order = packages::order_again(db, config, order).await?;
                runs::start(ctx, db, desk, &order, aborted).await
            }
            .boxed_local()
            .await
        }
        answered => answered,
    }
}

/// The run that answers a claim, if there is one.
///
/// # Errors
///
/// The database.
pub async fn run_of(
    db: &Db,
    principal: &str,
    surface: Surface,
    claim: &Claim,
) -> Result<Option<String>, Fault> {
    let row = table::find(db, Place { principal, surface, claim }).await?;
    Ok(row.and_then(|row| row.run_id))
}

/// The fault of a key whose first request is at work.
#[must_use]
pub fn in_progress(key: &str) -> Fault {
    let message =
        format!("The request under the idempotency key {} is still at work.", key::shown(key));
    Fault::new(Code::IdempotencyInProgress, message)
}

/// Waits a second for the owner of a key; `None` when the claim has come free.
async fn await_answer(hands: &Hands, place: Place<'_>) -> Result<Option<String>, Fault> {
    let Hands { db, desk, .. } = hands;
    let key = &place.claim.key;
    for look in 0..LOOKS {
        if look > 0 {
            sleep_ms(LOOK_MS).await;
        }
        let Some(row) = table::find(db, place).await? else { return Ok(None) };
        if row.request_hash != place.claim.request_hash {
            let message = format!(
                "The idempotency key {} was first sent with another payload.",
                key::shown(key)
            );
            return Err(Fault::new(Code::IdempotencyMismatch, message));
        }
        let Some(run_id) = &row.run_id else { return Ok(None) };
        match standing(&row, now_ms()) {
            Standing::Ended => {
                let stored = runs::stored(db, run_id).await?;
                return stored.map(Some).ok_or_else(|| answer_lost(key, run_id));
            }
            Standing::Lost if row.answer_lost != 0 => return Err(answer_lost(key, run_id)),
            // It goes on from its record, here: who asks again for an answer waits for it.
            Standing::Lost if journal::survives(db, run_id).await? => hands.take_up(run_id).await,
            // Ends it in its place. That either is the answer, or gives the claim back.
            Standing::Lost | Standing::Waits => {
                let text = runs::get(db, desk, place.principal, run_id).await?;
                if standing(&row, now_ms()) == Standing::Waits {
                    return Ok(Some(text));
                }
            }
            Standing::AtWork => {}
        }
    }
    Err(in_progress(key))
}

/// How the owner of a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    AtWork,
    Ended,
    /// It gave no sign of life for a lease.
    Lost,
    /// For a person, or for its time: it is told as it stands.
    Waits,
}

fn standing(row: &Row, now: u64) -> Standing {
    match row.status.as_deref().and_then(Status::parse) {
        Some(status) if status.is_final() => Standing::Ended,
        Some(Status::Running) if row.lease_until.is_some_and(|until| until < now) => Standing::Lost,
        Some(Status::Parked | Status::WaitingApproval) => Standing::Waits,
        Some(_) => Standing::AtWork,
        // Its run is not there any more, and so is its answer.
        None => Standing::Ended,
    }
}

fn answer_lost(key: &str, run_id: &str) -> Fault {
    let message = format!(
        "The request under the idempotency key {} was done, but its answer could not be kept.",
        key::shown(key)
    );
    Fault::new(Code::IdempotencyAnswerLost, message).with("runId", run_id)
}

/// Removes keys that are older than the retention time. How many there were.
///
/// # Errors
///
/// The database.
pub async fn prune(db: &Db, retention_ms: u64) -> Result<u64, Fault> {
    let now = now_ms();
    let before = now.saturating_sub(retention_ms);
    // A run is not undone twice as long as it can be undone.
    let longer = before.min(now.saturating_sub(rollback::KEPT_MS));
    Ok(db.run(&table::prune(before, rollback::TARGET, longer)).await?)
}
