//! Waiting for a permit: the run begins when one is free, waits in line, or is refused at once.
//!
//! Waiting uses no budget and has a limit of its own. A waiter whose caller leaves gives up its
//! place.

use super::order::Order;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::packages::known;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::sandbox::NUMBERING;
use crate::store::db::{Db, Statement, StoreError};
use crate::store::journal::{self, Recording};
use crate::store::permits::{self, Asked};
use crate::store::policies;
use crate::store::runs::Beginning;
use crate::store::sources;
use crate::tools::policy::Policy;
use futures_util::future::{Fuse, FutureExt as _, LocalBoxFuture};
use futures_util::{pin_mut, select_biased};

/// How often a waiter asks again, in milliseconds: a short run is over sooner, and eight waiters
/// make 80 statements a second at most.
const POLL_MS: u64 = 100;

/// Settles with the reason when the caller leaves.
pub type Left = Fuse<LocalBoxFuture<'static, String>>;

/// What waiting came to.
pub enum Waited {
    /// The run has begun: its rows are written.
    Begun {
        /// When.
        at: u64,
        /// What was read along with it.
        found: Found,
        /// The row of its record, where that is to be written with the first of the record.
        record: Option<Statement>,
        /// To go on listening to.
        left: Left,
    },
    /// The caller left; nothing ran.
    Left(String),
}

/// What an attempt has to know before it begins.
#[derive(Debug)]
pub struct Found {
    /// The principal's rules, as they were then.
    pub policy: Result<Policy, StoreError>,
    /// The names of the principal's sources, where the program looks as if it called one.
    pub sources: Option<Vec<String>>,
}

impl Found {
    /// Of an attempt that needs no permit.
    pub async fn read(db: &Db, principal: &str) -> Self {
        Self { policy: policies::of(db, principal).await, sources: None }
    }
}

impl std::fmt::Debug for Waited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Begun { .. } => "Begun",
            Self::Left(_) => "Left",
        })
    }
}

/// Begins the run as soon as there is a permit, its record with it: `seed` is the record's.
///
/// # Errors
///
/// `in_progress` when another run has the key; [`known::moved`]; `capacity_exceeded` when the line is full, `timed_out` with the phase `permit` when the wait is
/// over, the database. In each case nothing ran.
pub async fn wait(
    db: &Db,
    order: &Order,
    seed: &str,
    config: &Config,
    left: Left,
) -> Result<Waited, Fault> {
    let asked_at = now_ms();
    let request = order.kept().unwrap_or_default();
    let record = Some(journal::begin(&Recording {
        run: &order.run_id,
        fence: order.fence,
        seed,
        harness: NUMBERING,
        request: &request,
    }));
    // Somebody comes back for a run with a key, or with a run above it, though its attempt is lost before it
    // did anything. For any other only people do, who were asked by what it did.
    let (with_permit, record) = if order.claim.is_some() || order.parent.is_some() {
        (record, None)
    } else {
        (None, record)
    };
    let with_permit = with_permit.as_ref();
    match ask(db, order, with_permit, config, None).await? {
        (Asked::Granted, found) => return Ok(Waited::Begun { at: now_ms(), found, record, left }),
        (Asked::Taken, _) => return Err(taken(order)),
        (Asked::Moved, _) => return Err(moved(order)),
        (Asked::Full, _) => {}
    }
    let waited = wait_in_line(db, order, with_permit, config, left, asked_at).boxed_local().await?;
    Ok(match waited {
        Waited::Begun { at, found, left, .. } => Waited::Begun { at, found, record, left },
        Waited::Left(why) => Waited::Left(why),
    })
}

async fn wait_in_line(
    db: &Db,
    order: &Order,
    record: Option<&Statement>,
    config: &Config,
    mut left: Left,
    asked_at: u64,
) -> Result<Waited, Fault> {
    if !permits::join(db, &order.run_id, &order.principal, &config.permits, asked_at).await? {
        let at_work = permits::at_work(db, &order.principal, asked_at).await?;
        return Err(full(at_work, config.permits.line));
    }
    loop {
        let pause = sleep_ms(POLL_MS).fuse();
        pin_mut!(pause);
        select_biased! {
            why = left => {
                leave(db, order).await;
                return Ok(Waited::Left(why));
            }
            () = pause => {}
        }
        let now = now_ms();
        match ask(db, order, record, config, Some(asked_at)).await? {
            (Asked::Granted, found) => {
                return Ok(Waited::Begun { at: now_ms(), found, record: None, left });
            }
            (Asked::Taken, _) => {
                leave(db, order).await;
                return Err(taken(order));
            }
            (Asked::Moved, _) => {
                leave(db, order).await;
                return Err(moved(order));
            }
            (Asked::Full, _) => {}
        }
        if now.saturating_sub(asked_at) >= config.permit_wait_ms {
            leave(db, order).await;
            return Err(Fault::permit_wait_spent(config.permit_wait_ms));
        }
        db.run(&permits::keep(&order.run_id, now)).await?;
    }
}

async fn ask(
    db: &Db,
    order: &Order,
    record: Option<&Statement>,
    config: &Config,
    joined_at: Option<u64>,
) -> Result<(Asked, Found), Fault> {
    let beginning = Beginning {
        id: &order.run_id,
        principal: &order.principal,
        surface: order.surface,
        label: order.label.as_deref(),
        budget_ms: order.limits.budget_ms,
        created_at: order.arrived_at,
        source: &order.source,
        params: order.params.get(),
        fence: order.fence,
        parent: order.parent.as_ref().map(|parent| parent.run_id.as_str()),
        remembered: order
            .package
            .as_ref()
            .filter(|package| package.remembered.is_some())
            .map(|package| (package.name.as_str(), package.version)),
        now: now_ms(),
    };
    let claim = order.claim.as_ref();
    let mut reads = vec![policies::lists(&order.principal)];
    // A word of a text may mean nothing; then the names were read for nothing, and not by a way of their own.
    if order.package.is_none() && order.source.contains("tools") {
        reads.push(sources::named(&order.principal));
    }
    let asked = permits::ask(db, &beginning, record, claim, &config.permits, joined_at, reads);
    let (asked, rows) = asked.await?;
    let mut rows = rows.iter();
    let policy = match rows.next() {
        Some(rules) => policies::in_rows(rules),
        None => Err(StoreError("a batch without answers".to_owned())),
    };
    let sources = rows.next().map(sources::names_in).transpose()?;
    Ok((asked, Found { policy, sources }))
}

/// Another run answers the key; `crate::ledger` looks which.
fn taken(order: &Order) -> Fault {
    crate::ledger::in_progress(order.claim.as_ref().map_or("", |claim| &claim.key))
}

/// Its package is not what was remembered; `crate::ledger` orders anew.
fn moved(order: &Order) -> Fault {
    known::moved(order.package.as_ref().map_or("", |package| &package.name))
}

async fn leave(db: &Db, order: &Order) {
    if let Err(error) = db.run(&permits::leave(&order.run_id)).await {
        // The place expires by itself in seconds.
        worker::console_error!("run {}: could not leave the line: {error}", order.run_id);
    }
}

fn full(at_work: u64, line: u64) -> Fault {
    let message = format!(
        "{at_work} runs are at work and the line of {line} is full; nothing ran, it is safe to \
         retry."
    );
    Fault::new(Code::CapacityExceeded, message).with("atWork", at_work).with("line", line)
}
