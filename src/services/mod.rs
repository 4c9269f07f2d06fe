//! Services: exports of packages that are kept at work, one stretch after the other.
//!
//! A stretch is a run of the surface `service`, with a budget, a lease and an outcome like any other. What
//! a service is doing is told by that run, so a `running` of an isolate that died is told as what it is.
//! The schedule settles what stretches came to, and begins those that are due; a start begins the first
//! one at once. Whether and when there is a next one is [`rule`]'s.
//!
//! A stretch ends in good order before the platform would end the request that it lives in: the program
//! hears by `run.signal` that it is over, as it hears that it was asked to stop, and has its grace.

pub mod rule;

use crate::approvals::Hands;
use crate::attempt::{Order, ServiceOrder};
use crate::error::{Code, Fault};
use crate::packages::{self, Declared, Invocation, Target};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::hang_up;
use crate::report::desk::Circumstances;
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::runs;
use crate::store::runs as runs_table;
use crate::store::services::{self as table, Key, Row, Settling, Starting};
use rule::State;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Services of one principal that may be at work: half of its permits are left for other runs.
const MOST_AT_WORK: u64 = 16;

/// How long a stretch of the schedule lasts: the platform gives its request 15 minutes, and a stretch
/// has a ceiling of ten.
const SCHEDULED_MS: u64 = 540_000;

/// How long a stretch lasts that a request began: the platform gives it 30 s after its answer.
const REQUESTED_MS: u64 = 20_000;

/// What a stretch may take to begin, beside its wait for a permit.
const BEGIN_MS: u64 = 30_000;

/// Services that one round of the schedule settles or begins.
const AT_ONCE: u64 = 50;

/// The most services of one page.
const MAX_PAGE: u64 = 100;

/// How often whoever waits for the end of a service looks.
const LOOK_MS: u64 = 200;

/// How long a service may be asked to be waited for.
pub const MAX_WAIT_MS: u64 = 45_000;

/// A service to start.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Start {
    /// Its parameters; `{}` without.
    pub params: Option<Box<RawValue>>,
    /// A version in place of the one that the package's name points at.
    pub version: Option<u64>,
}

/// Wants a service to be at work, and begins its first stretch. One that is at work already is told as
/// it is.
///
/// # Errors
///
/// No such package, version or service; parameters that do not fit; `service_stands` where it is at work
/// with others; `limit_exceeded`; the database.
pub async fn start(
    hands: &Hands,
    principal: &str,
    target: &Target,
    start: Start,
    origin: &str,
) -> Result<String, Fault> {
    let key = key_of(principal, target);
    let declared = packages::service(&hands.db, principal, target, start.version).await?;
    let params = start.params.as_deref().map_or("{}", RawValue::get).to_owned();
    // Whatever would refuse its first stretch refuses the start.
    order_of(hands, key, &declared, start.version, &params).await?;
    let starting = Starting {
        key,
        version: start.version,
        params: &params,
        origin,
        most: MOST_AT_WORK,
        now: now_ms(),
    };
    if !table::start(&hands.db, &starting).await? {
        let Some(row) = table::find(&hands.db, key).await?.filter(|row| row.service().wanted)
        else {
            let message = format!(
                "{MOST_AT_WORK} services are at work, which is the limit; {target} was not started."
            );
            let fault = Fault::new(Code::LimitExceeded, message);
            return Err(fault
                .with("limitName", "services")
                .with("limit", MOST_AT_WORK)
                .with_next_step(
                    "Stop a service that is not needed any more, then start this one.",
                ));
        };
        if row.version != start.version || !same(&row.params, &params) {
            let message =
                format!("{target} is started already, with other parameters or another version.");
            return Err(
                Fault::new(Code::ServiceStands, message).with("service", target.to_string())
            );
        }
    }
    begin(hands, key, REQUESTED_MS).await?;
    status(hands, principal, target).await
}

fn same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    read(one) == read(other)
}

/// Asks a service to stop, and waits for it up to `wait_ms`. It has its grace to end by itself.
///
/// # Errors
///
/// `service_not_found` when it was never started; the database.
pub async fn stop(
    hands: &Hands,
    principal: &str,
    target: &Target,
    wait_ms: u64,
) -> Result<String, Fault> {
    let began_at = now_ms();
    let row = find(hands, principal, target).await?;
    let of = (principal, target.name.as_str(), Some(target.export.as_str()));
    table::stop(&hands.db, of, None, began_at).await?;
    if let (Some(run), Some(Status::WaitingApproval | Status::Parked)) =
        (&row.run_id, row.stretch().map(|stretch| stretch.status))
    {
        // It holds nothing that could end in good order.
        runs::cancel(&hands.db, &hands.desk, principal, run).await?;
    }
    loop {
        let row = find(hands, principal, target).await?;
        let stopped = state_of(hands, &row) == State::Stopped;
        if stopped || now_ms().saturating_sub(began_at) >= wait_ms {
            return status(hands, principal, target).await;
        }
        sleep_ms(LOOK_MS).await;
    }
}

/// A service as it stands, with the log of its last stretch. A stretch whose isolate died is ended here.
///
/// # Errors
///
/// `service_not_found`; the database.
pub async fn status(hands: &Hands, principal: &str, target: &Target) -> Result<String, Fault> {
    let row = find(hands, principal, target).await?;
    let run = match &row.run_id {
        Some(run) if row.stretch().is_some() => {
            Some(runs::get(&hands.db, &hands.desk, principal, run).await?)
        }
        _ => None,
    };
    let row = find(hands, principal, target).await?;
    settle(hands, &row).await?;
    let row = find(hands, principal, target).await?;
    let mut shown = view(hands, &row);
    if let Some(run) = run.and_then(|run| serde_json::from_str::<Value>(&run).ok()) {
        for field in ["logs", "approvals"] {
            let value = run.get(field).cloned().unwrap_or_else(|| json!([]));
            shown.insert(field.to_owned(), value);
        }
    }
    Ok(Value::Object(shown).to_string())
}

/// A principal's services that were ever started: `{services: [...], nextCursor?}`.
///
/// # Errors
///
/// A bad page; the database.
pub async fn list(
    hands: &Hands,
    principal: &str,
    limit: Option<&str>,
    cursor: Option<&str>,
) -> Result<String, Fault> {
    let limit = match limit.map(str::parse::<u64>) {
        None => 20,
        Some(Ok(limit)) if (1..=MAX_PAGE).contains(&limit) => limit,
        Some(_) => return Err(Fault::invalid("limit", format!("must be from 1 to {MAX_PAGE}"))),
    };
    let after = match cursor {
        None => ("", ""),
        Some(cursor) => cursor.split_once('/').ok_or_else(|| {
            Fault::invalid("cursor", "must be the nextCursor of the page before, unchanged")
        })?,
    };
    let mut rows = table::list(&hands.db, principal, after, limit.saturating_add(1)).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let shown: Vec<Value> = rows.iter().map(|row| Value::Object(view(hands, row))).collect();
    let next = rows.last().filter(|_| more).map(|row| format!("{}/{}", row.package, row.name));
    Ok(match next {
        Some(cursor) => json!({ "services": shown, "nextCursor": cursor }),
        None => json!({ "services": shown }),
    }
    .to_string())
}

/// Stops the services of a package that is deleted: there is no next stretch of it.
///
/// # Errors
///
/// The database.
pub async fn package_deleted(
    db: &crate::store::db::Db,
    principal: &str,
    package: &str,
) -> Result<(), Fault> {
    let why = Fault::new(Code::PackageNotFound, format!("The package {package} was deleted."));
    let why = why.to_json().to_string();
    Ok(table::stop(db, (principal, package, None), Some(&why), now_ms()).await?)
}

/// Once a minute: settles what stretches came to, and begins those that are due.
///
/// # Errors
///
/// The database.
pub async fn sweep(hands: &Hands) -> Result<(), Fault> {
    let before = now_ms().saturating_sub(begin_ms(hands));
    for row in table::to_settle(&hands.db, before, AT_ONCE).await? {
        settle(hands, &row).await?;
    }
    for row in table::due(&hands.db, now_ms(), AT_ONCE).await? {
        begin(hands, row.key(), SCHEDULED_MS).await?;
    }
    Ok(())
}

fn key_of<'a>(principal: &'a str, target: &'a Target) -> Key<'a> {
    Key { principal, package: &target.name, name: &target.export }
}

async fn find(hands: &Hands, principal: &str, target: &Target) -> Result<Row, Fault> {
    if let Some(row) = table::find(&hands.db, key_of(principal, target)).await? {
        return Ok(row);
    }
    // What is declared and was never started is told apart from what is not there.
    packages::service(&hands.db, principal, target, None).await?;
    let message = format!("The service {target} was never started.");
    Err(Fault::new(Code::ServiceNotFound, message).with("service", target.to_string()))
}

/// How long a stretch may take until its run has a row.
fn begin_ms(hands: &Hands) -> u64 {
    hands.config.permit_wait_ms.saturating_add(BEGIN_MS)
}

fn state_of(hands: &Hands, row: &Row) -> State {
    rule::state(&row.service(), row.stretch().as_ref(), now_ms(), begin_ms(hands))
}

async fn order_of(
    hands: &Hands,
    key: Key<'_>,
    declared: &Declared,
    version: Option<u64>,
    params: &str,
) -> Result<Order, Fault> {
    let params = RawValue::from_string(params.to_owned())
        .map_err(|error| Fault::invalid("params", format!("cannot be read ({error})")))?;
    let target = Target::of(key.package, &declared.export)?;
    let invocation = Invocation { params: Some(params), version, ..Invocation::default() };
    let (db, config) = (&hands.db, &hands.config);
    let surface = Surface::Service;
    packages::order(db, config, key.principal, &target, (surface, invocation), now_ms()).await
}

/// Begins a stretch, if one is due, that lasts `shift_ms` at most.
async fn begin(hands: &Hands, key: Key<'_>, shift_ms: u64) -> Result<(), Fault> {
    let Some(row) = table::find(&hands.db, key).await? else { return Ok(()) };
    let run = crate::platform::random::id("run")
        .map_err(|error| Fault::internal("none", error.to_string()))?;
    if !table::claim(&hands.db, key, &run, now_ms()).await? {
        return Ok(());
    }
    let target = Target { name: key.package.to_owned(), export: key.name.to_owned() };
    let ordered = async {
        let declared = packages::service(&hands.db, key.principal, &target, row.version).await?;
        let order = order_of(hands, key, &declared, row.version, &row.params).await?;
        Ok::<_, Fault>((declared, order))
    }
    .await;
    let (declared, order) = match ordered {
        Ok(ordered) => ordered,
        Err(fault) => return unbegun(hands, &row, &run, &fault).await,
    };
    let woken = match row.stretches {
        0 => "start",
        _ if row.alarm_at.is_some_and(|at| at <= now_ms()) => "alarm",
        _ => "restart",
    };
    // A ceiling comes without a word; the stretch is over before.
    let shift_ms = shift_ms.min(order.limits.ceiling_ms.saturating_mul(9).div_euclid(10));
    let order = Order {
        run_id: run,
        label: Some(target.to_string()),
        origin: row.origin.clone(),
        service: Some(ServiceOrder {
            name: target.to_string(),
            stretch: row.stretches.saturating_add(1),
            woken: woken.to_owned(),
            grace_ms: declared.grace_ms,
            shift_ms,
        }),
        ..order
    };
    let hands = hands.clone();
    let ctx = std::rc::Rc::clone(&hands.ctx);
    ctx.wait_until(async move { keep(&hands, &row, &order).await });
    Ok(())
}

/// Runs a stretch to its end, and puts down what it came to.
async fn keep(hands: &Hands, row: &Row, order: &Order) {
    // Nobody can hang up on it: it is asked to end by its row.
    let (_stays, aborted) = hang_up();
    let answer = runs::start(&hands.ctx, &hands.db, &hands.desk, order, aborted).await;
    let settled = async {
        if let Err(fault) = answer {
            return unbegun(hands, row, &order.run_id, &fault).await;
        }
        match table::find(&hands.db, row.key()).await? {
            Some(row) => settle(hands, &row).await,
            None => Ok(()),
        }
    }
    .await;
    if let Err(fault) = settled {
        // The schedule comes to it again.
        let of = Circumstances { surface: Some("service"), run: Some(&order.run_id) };
        hands.desk.take(&fault, &of);
    }
}

/// A stretch could not begin: it counts as one that failed soon, unless what it ran is gone for good.
async fn unbegun(hands: &Hands, row: &Row, run: &str, fault: &Fault) -> Result<(), Fault> {
    let gone = matches!(
        fault.code,
        Code::PackageNotFound | Code::ExportNotFound | Code::ServiceNotFound | Code::InvalidRequest
    );
    let now = now_ms();
    let next = rule::after(&row.service(), Status::Failed, 0, now);
    let error = fault.to_json().to_string();
    let settling =
        Settling { run, next_at: next.at, failures: next.failures, error: Some(&error), gone, now };
    hands.db.run(&table::settle(&settling)).await?;
    Ok(())
}

/// Puts down what the last stretch came to, once it has ended or can be given up.
async fn settle(hands: &Hands, row: &Row) -> Result<(), Fault> {
    let service = row.service();
    let Some(run) = row.run_id.as_deref().filter(|_| !service.settled) else { return Ok(()) };
    let now = now_ms();
    let Some(stretch) = row.stretch() else {
        if now < service.given_up_at(begin_ms(hands)) {
            return Ok(());
        }
        let fault = Fault::new(Code::SandboxGone, "The stretch was lost before it began.");
        return unbegun(hands, row, run, &fault).await;
    };
    let Some(ended_at) = stretch.ended_at.filter(|_| stretch.status.is_final()) else {
        return Ok(());
    };
    let lived_ms = ended_at.saturating_sub(stretch.created_at);
    let next = rule::after(&service, stretch.status, lived_ms, ended_at);
    let error = if stretch.status == Status::Failed { error_of(hands, run).await? } else { None };
    let settling = Settling {
        run,
        next_at: next.at,
        failures: next.failures,
        error: error.as_deref(),
        gone: false,
        now,
    };
    hands.db.run(&table::settle(&settling)).await?;
    Ok(())
}

/// Why a run failed, JSON.
async fn error_of(hands: &Hands, run: &str) -> Result<Option<String>, Fault> {
    let response = runs_table::response(&hands.db, run).await?;
    let details = response.and_then(|text| {
        let run: Value = serde_json::from_str(&text).ok()?;
        run.get("errorDetails").map(Value::to_string)
    });
    Ok(details)
}

fn view(hands: &Hands, row: &Row) -> Map<String, Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let state = state_of(hands, row);
    let next = matches!(state, State::Sleeping | State::BackingOff | State::Restarting);
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    put("service", json!(format!("{}/{}", row.package, row.name)));
    put("state", json!(state.as_str()));
    put("wanted", json!(if row.service().wanted { "running" } else { "stopped" }));
    put("version", json!(row.version));
    put("params", read(&row.params));
    put("runId", json!(row.run_id.as_ref().filter(|_| row.stretch().is_some())));
    put("stretch", json!(row.stretches));
    put("failures", json!(row.failures));
    put("lastError", row.error.as_deref().map(read).unwrap_or_default());
    put("startedAt", json!(row.started_at));
    put("stoppedAt", json!(row.stopped_at));
    put("nextAt", json!(next.then_some(row.next_at)));
    put("alarmAt", json!(row.alarm_at));
    shown
}
