//! Schedules: runs that begin at their times, each time once.
//!
//! | File | Lives there |
//! |---|---|
//! | [`calendar`] | pure: dates and times of day |
//! | [`zone`] | pure: what a zone does to local times |
//! | [`cron`] | pure: cron expressions |
//! | [`rule`] | pure: when a schedule fires, and what was missed |
//! | [`when`] | the rule as it is put and kept |
//! | [`round`] | once a minute: what is due begins |
//!
//! Here they are put, looked at, paused, run now and deleted.
//!
//! The Worker's own schedule comes once a minute ([`round::sweep`]). A time that is due is put down first, in the
//! transaction that moves the schedule on; then its run begins, under a key of the ledger that is the
//! schedule and the time. So whatever dies in between, a time has one run, or none and the next round
//! begins it.

pub mod calendar;
pub mod cron;
pub mod round;
pub mod rule;
mod when;
pub mod zone;

use crate::approvals::Hands;
use crate::attempt::Order;
use crate::attempt::driver::AMBIENT;
use crate::attempt::program::refused;
use crate::code;
use crate::error::{Code, Fault};
use crate::packages::{self, Invocation, Target, is_name};
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest};
use crate::store::schedules::{self as table, Past, Putting, Row};
use crate::workflows::{self, WorkflowRequest};
use rule::Missed;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use when::{Kept, first, kept, whole};

/// Schedules of one principal.
const MOST: u64 = 100;

/// The most schedules, or times, of one page.
const MAX_PAGE: u64 = 100;

/// A schedule to put.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Put {
    /// A cron expression.
    pub cron: Option<String>,
    /// The zone of a cron expression, or of a local time; UTC without.
    pub zone: Option<String>,
    /// An interval: milliseconds, or a text such as `15m` or `1h 30m`.
    pub every: Option<Value>,
    /// A moment: Unix milliseconds, or a text such as `2026-12-01T09:00`.
    pub once: Option<Value>,
    /// What runs.
    pub run: Work,
    /// What becomes of times that were missed.
    #[serde(default)]
    pub missed: Missed,
    /// It does not fire until it is resumed.
    #[serde(default)]
    pub paused: bool,
}

/// What a schedule runs: a program, or an export of a package.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Work {
    /// A program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// An export, `name/export`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// A durable run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Value>,
    /// Parameters; `{}` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// A version in place of the package's current one at the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// A budget below the surface's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<Value>,
    /// A name for its runs; the schedule's without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Limits below the surface's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Value>,
}

impl Work {
    /// The export that is meant; `None` for a program or a workflow.
    ///
    /// # Errors
    ///
    /// `invalid_request` when it is not one thing; what no package can be called.
    pub fn target(&self) -> Result<Option<Target>, Fault> {
        if self.workflow.is_some() {
            let alone = Self { workflow: self.workflow.clone(), ..Self::default() };
            if json!(alone) != json!(self) {
                let what = "holds all there is of it: code or package, params, label, …";
                return Err(Fault::invalid("run.workflow", what));
            }
            return Ok(None);
        }
        match (&self.code, &self.package) {
            (Some(_), None) if self.version.is_some() => {
                Err(Fault::invalid("run.version", "is of a package; a program has none"))
            }
            (Some(_), None) => Ok(None),
            (None, Some(package)) => Target::read(package).map(Some),
            _ => Err(Fault::invalid("run", "must have one of code, package and workflow")),
        }
    }

    /// The scope that a token needs to have it run.
    ///
    /// # Errors
    ///
    /// As [`Work::target`].
    pub fn scope(&self) -> Result<String, Fault> {
        Ok(self.target()?.map_or_else(|| "execute".to_owned(), |target| target.scope()))
    }
}

/// The durable run that is meant, under a key; `None` where a run is.
fn workflow(work: &Work, key: Option<String>) -> Result<Option<WorkflowRequest>, Fault> {
    let Some(workflow) = &work.workflow else { return Ok(None) };
    let mut request: WorkflowRequest = serde_json::from_value(workflow.clone())
        .map_err(|error| Fault::invalid("run.workflow", error))?;
    if request.run_at.is_some() || request.idempotency_key.is_some() {
        let what = "has no runAt and no idempotencyKey: its times and keys are the schedule's";
        return Err(Fault::invalid("run.workflow", what));
    }
    request.idempotency_key = key;
    Ok(Some(request))
}

/// Puts a schedule in place of the one that has its name, and tells it. What cannot run, or never
/// fires, is refused before anything is stored.
///
/// # Errors
///
/// Bad input, naming the field; the database.
pub async fn put(
    hands: &Hands,
    principal: &str,
    name: &str,
    wanted: Put,
    origin: &str,
) -> Result<String, Fault> {
    if !is_name(name) {
        let what = "must have 1 to 64 letters, digits, dashes or underscores";
        return Err(Fault::invalid("name", what));
    }
    let now = now_ms();
    let kept = kept(&wanted, whole(now))?;
    let next_at = first(&kept, whole(now))?;
    wanted.run.target()?;
    match workflow(&wanted.run, None)? {
        Some(request) => {
            let checked = workflows::check(hands, principal, origin, request).await;
            checked.map_err(|fault| within("run.workflow", fault))?;
        }
        None => {
            order(hands, principal, name, wanted.run.clone()).await?;
        }
    }
    if let Some(program) = &wanted.run.code {
        let options = code::Options { guard: hands.config.guard, ambient: AMBIENT };
        code::prepare(program, &options).map_err(|refusal| {
            let fault = Fault::invalid("run.code", &refusal.message);
            Fault { details: refused(&refusal).details, ..fault }.with("field", "run.code")
        })?;
    }
    let text = |value: Result<String, serde_json::Error>| {
        value.map_err(|error| Fault::internal("none", error.to_string()))
    };
    let id = random::id("sch").map_err(|error| Fault::internal("none", error.to_string()))?;
    let putting = Putting {
        principal,
        name,
        id: &id,
        rule: &text(serde_json::to_string(&kept))?,
        work: &text(serde_json::to_string(&wanted.run))?,
        missed: wanted.missed.as_str(),
        paused: wanted.paused,
        next_at,
        origin,
        most: MOST,
        now,
    };
    if !table::put(&hands.db, &putting).await? {
        let message =
            format!("There are {MOST} schedules, which is the limit; {name} was not put.");
        let fault = Fault::new(Code::LimitExceeded, message);
        return Err(fault
            .with("limitName", "schedules")
            .with("limit", MOST)
            .with_next_step("Delete a schedule that is not needed any more."));
    }
    get(hands, principal, name).await
}

/// What one of its runs is told to do.
async fn order(hands: &Hands, principal: &str, name: &str, work: Work) -> Result<Order, Fault> {
    let target = work.target()?;
    let label = work.label.or_else(|| Some(format!("schedule {name}")));
    let (db, config) = (&hands.db, &hands.config);
    let ordered = match target {
        None => {
            let request = RunRequest {
                code: work.code.unwrap_or_default(),
                params: work.params,
                budget_ms: work.budget_ms,
                label,
                limits: work.limits,
            };
            runs::order(config, principal, Surface::Execute, request, now_ms())
        }
        Some(target) => {
            let invocation = Invocation {
                params: work.params,
                version: work.version,
                budget_ms: work.budget_ms,
                label,
                limits: work.limits,
            };
            let of = (Surface::Invocation, invocation);
            packages::order(db, config, principal, &target, of, now_ms()).await
        }
    };
    ordered.map_err(|fault| within("run", fault))
}

/// The fault of a part, with its place in the schedule.
fn within(part: &str, fault: Fault) -> Fault {
    match fault.details.get("field").and_then(Value::as_str) {
        Some(field) if !field.starts_with("run.") => {
            let field = format!("{part}.{field}");
            let message = format!("{part}.{}", fault.message);
            Fault { message, ..fault }.with("field", field)
        }
        _ => fault,
    }
}

/// A schedule as it stands.
///
/// # Errors
///
/// `schedule_not_found`, also for somebody else's; the database.
pub async fn get(hands: &Hands, principal: &str, name: &str) -> Result<String, Fault> {
    Ok(Value::Object(view(&find(hands, principal, name).await?)).to_string())
}

/// A principal's schedules by name: `{schedules: [...], nextCursor?}`.
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
    let limit = page(limit)?;
    if cursor.is_some_and(|cursor| !is_name(cursor)) {
        return Err(bad_cursor());
    }
    let after = cursor.unwrap_or_default();
    let mut rows = table::list(&hands.db, principal, after, limit.saturating_add(1)).await?;
    let more = cut(&mut rows, limit);
    let shown: Vec<Value> = rows.iter().map(|row| Value::Object(view(row))).collect();
    let next = rows.last().filter(|_| more).map(|row| row.name.clone());
    Ok(paged("schedules", &shown, next))
}

/// The times of a schedule, newest first: `{firings: [...], nextCursor?}`.
///
/// # Errors
///
/// `schedule_not_found`; a bad page; the database.
pub async fn history(
    hands: &Hands,
    principal: &str,
    name: &str,
    limit: Option<&str>,
    cursor: Option<&str>,
) -> Result<String, Fault> {
    let limit = page(limit)?;
    let before = match cursor {
        None => (u64::MAX >> 11, 1),
        Some(cursor) => cursor
            .split_once('-')
            .and_then(|(at, manual)| Some((at.parse().ok()?, manual.parse().ok()?)))
            .ok_or_else(bad_cursor)?,
    };
    find(hands, principal, name).await?;
    let more = limit.saturating_add(1);
    let mut rows = table::history(&hands.db, (principal, name), before, more).await?;
    let more = cut(&mut rows, limit);
    let shown: Vec<Value> = rows.iter().map(past).collect();
    let next = rows.last().filter(|_| more).map(|row| format!("{}-{}", row.at, row.manual));
    Ok(paged("firings", &shown, next))
}

/// Has a schedule not fire, or fire again. Times that pass while it is paused are left out.
///
/// # Errors
///
/// `schedule_not_found`; one whose time has passed cannot go on; the database.
pub async fn pause(
    hands: &Hands,
    principal: &str,
    name: &str,
    paused: bool,
) -> Result<String, Fault> {
    let row = find(hands, principal, name).await?;
    let now = now_ms();
    let next_at = if paused { None } else { Some(first(&rule_of(&row)?, whole(now))?) };
    table::pause(&hands.db, (principal, name), next_at, now).await?;
    get(hands, principal, name).await
}

/// Deletes a schedule and its history. Runs that it began go on.
///
/// # Errors
///
/// `schedule_not_found`; the database.
pub async fn delete(hands: &Hands, principal: &str, name: &str) -> Result<String, Fault> {
    if table::delete(&hands.db, principal, name).await? {
        return Ok(json!({ "name": name, "deleted": true }).to_string());
    }
    Err(not_found(name))
}

/// What a schedule runs, for whoever asks whether a token may.
///
/// # Errors
///
/// `schedule_not_found`; the database.
pub async fn work(hands: &Hands, principal: &str, name: &str) -> Result<Work, Fault> {
    let row = find(hands, principal, name).await?;
    serde_json::from_str(&row.work).map_err(|error| Fault::internal("none", error.to_string()))
}

/// What somebody asked for now.
#[derive(Debug)]
pub enum Begun {
    /// A run, which begins with its answer.
    Run(Box<Order>),
    /// A durable run, as it is told.
    Workflow(String),
}

/// A run that somebody asks for now, put down in the history. Its schedule goes on as before.
///
/// # Errors
///
/// `schedule_not_found`; whatever refuses the run; the database.
pub async fn run_now(
    hands: &Hands,
    principal: &str,
    name: &str,
    origin: &str,
) -> Result<Begun, Fault> {
    let row = find(hands, principal, name).await?;
    let work = work(hands, principal, name).await?;
    if let Some(request) = workflow(&work, None)? {
        let created = workflows::create(hands, principal, origin, request).await?;
        hands.db.run(&table::asked(&row, &created.id, now_ms())).await?;
        return Ok(Begun::Workflow(created.text));
    }
    let order = order(hands, principal, name, work).await?;
    hands.db.run(&table::asked(&row, &order.run_id, now_ms())).await?;
    Ok(Begun::Run(Box::new(Order { origin: origin.to_owned(), ..order })))
}

fn rule_of(row: &Row) -> Result<Kept, Fault> {
    serde_json::from_str(&row.rule)
        .map_err(|error| Fault::internal("none", format!("schedule {}: {error}", row.id)))
}

async fn find(hands: &Hands, principal: &str, name: &str) -> Result<Row, Fault> {
    table::find(&hands.db, principal, name).await?.ok_or_else(|| not_found(name))
}

fn not_found(name: &str) -> Fault {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    Fault::new(Code::ScheduleNotFound, format!("There is no schedule {shown}."))
}

fn view(row: &Row) -> Map<String, Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let rule = read(&row.rule);
    let part = |name: &str| rule.get(name).cloned().unwrap_or_default();
    let state = match (row.next_at, row.paused) {
        (None, _) => "done",
        (Some(_), 0) => "active",
        (Some(_), _) => "paused",
    };
    let next_at = row.next_at.filter(|_| state == "active");
    let mut shown = Map::new();
    for (name, value) in [
        ("name", json!(row.name)),
        ("state", json!(state)),
        ("cron", part("cron")),
        ("zone", part("zone")),
        ("everyMs", part("everyMs")),
        ("once", part("at")),
        ("run", read(&row.work)),
        ("missed", json!(row.missed)),
        ("nextAt", json!(next_at)),
        ("createdAt", json!(row.created_at)),
        ("updatedAt", json!(row.updated_at)),
    ] {
        shown.insert(name.to_owned(), value);
    }
    shown
}

fn past(row: &Past) -> Value {
    let error = row.error.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "at": row.at,
        "manual": row.manual > 0,
        "state": row.state,
        "missed": if row.state == "skipped" { json!(row.missed) } else { Value::Null },
        "runId": row.run_id.as_ref().filter(|_| row.status.is_some()),
        "status": row.status,
        "begunAt": row.begun_at,
        "endedAt": row.ended_at,
        "error": error,
    })
}

fn page(limit: Option<&str>) -> Result<u64, Fault> {
    match limit.map(str::parse::<u64>) {
        None => Ok(20),
        Some(Ok(limit)) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(_) => Err(Fault::invalid("limit", format!("must be from 1 to {MAX_PAGE}"))),
    }
}

fn cut<T>(rows: &mut Vec<T>, limit: u64) -> bool {
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    more
}

fn paged(word: &str, shown: &[Value], next: Option<String>) -> String {
    match next {
        Some(cursor) => json!({ word: shown, "nextCursor": cursor }),
        None => json!({ word: shown }),
    }
    .to_string()
}

fn bad_cursor() -> Fault {
    Fault::invalid("cursor", "must be the nextCursor of the page before, unchanged")
}
