//! Runs, as every surface uses them: start, find, list, cancel, and ending the lost ones.
//!
//! Surfaces (HTTP, MCP) bring a principal and a validated request; what they get back is JSON text
//! that is answered as it is, or a [`Fault`].

use crate::attempt::Order;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::ledger;
use crate::platform::clock::now_ms;
use crate::platform::exports::{Aborted, start_attempt};
use crate::platform::random;
use crate::report::desk::{Circumstances, Desk};
use crate::rollback;
use crate::run::limits::Limits;
use crate::run::log::Line;
use crate::run::outcome::{Question, RunView, Status, Timing};
use crate::run::surface::Surface;
use crate::store::db::Db;
use crate::store::ledger as ledger_table;
use crate::store::permits;
use crate::store::runs::{self as table, Cursor, Row};
use crate::store::{approvals, dispatches, followed, journal};
use crate::tools;
use futures_util::FutureExt as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The longest label, in bytes: a name for a list.
const MAX_LABEL_BYTES: usize = 200;

/// The most runs of one page.
const MAX_PAGE: u64 = 100;

/// Lost runs that one sweep ends. The schedule comes again in a minute.
const SWEEP_AT_ONCE: u64 = 50;

/// A request to run a program, not yet validated.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRequest {
    /// The program.
    pub code: String,
    /// Its parameters; `{}` without. `null` is a value.
    #[serde(default, deserialize_with = "present")]
    pub params: Option<Box<RawValue>>,
    /// A budget below the surface's own.
    pub budget_ms: Option<Value>,
    /// The caller's own name for the run.
    pub label: Option<String>,
    /// Limits below the surface's own.
    pub limits: Option<Value>,
}

/// A field that is there, `null` included: `Option` alone takes `null` for absent.
///
/// # Errors
///
/// When the value is of another form.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Validates a request into an order.
///
/// # Errors
///
/// `invalid_request`, naming the field; `limit_exceeded` with 413 for a source that is too large.
pub fn order(
    config: &Config,
    principal: &str,
    surface: Surface,
    request: RunRequest,
    arrived_at: u64,
) -> Result<Order, Fault> {
    let most = config.budget_ms(surface);
    let mut limits = Limits::of(surface).with_budget(most);
    if let Some(budget) = request.budget_ms {
        match budget.as_u64() {
            Some(ms) if (1..=most).contains(&ms) => limits = limits.with_budget(ms),
            Some(ms) if ms > most => {
                let what = format!("is {ms}; the budget of this surface is at most {most} ms");
                return Err(Fault::invalid("budgetMs", what).with("limit", most));
            }
            _ => {
                let what = format!("must be a whole number of milliseconds from 1 to {most}");
                return Err(Fault::invalid("budgetMs", what).with("limit", most));
            }
        }
    }
    if let Some(wanted) = &request.limits {
        limits.lower(wanted)?;
    }
    let too_large = |field: &str, bytes: usize, limit: u64| {
        let message = format!("{field} is {bytes} bytes, over the limit of {limit}.");
        Fault::new(Code::BodyTooLarge, message).with("field", field).with("limit", limit)
    };
    let size = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    if size(&request.code) > limits.source_bytes {
        return Err(too_large("code", request.code.len(), limits.source_bytes));
    }
    let params = match request.params {
        Some(params) => params,
        None => RawValue::from_string("{}".to_owned())
            .map_err(|error| Fault::invalid("params", error))?,
    };
    if size(params.get()) > limits.params_bytes {
        return Err(too_large("params", params.get().len(), limits.params_bytes));
    }
    if let Some(label) = &request.label
        && (label.is_empty()
            || label.len() > MAX_LABEL_BYTES
            || label.chars().any(char::is_control))
    {
        let what = format!("must have 1 to {MAX_LABEL_BYTES} bytes and no control characters");
        return Err(Fault::invalid("label", what));
    }
    let run_id = random::id("run").map_err(|error| Fault::internal("none", error.to_string()))?;
    Ok(Order {
        run_id,
        principal: principal.to_owned(),
        surface,
        label: request.label,
        source: request.code,
        params,
        limits,
        arrived_at,
        fence: 1,
        hold_ms: 0,
        origin: String::new(),
        resumes: false,
        claim: None,
        parent: None,
        package: None,
        service: None,
        segment: None,
    })
}

/// Runs an order in a request of its own and gives the response as it is stored.
///
/// # Errors
///
/// `storage_unavailable` when there is no run; `sandbox_gone` when the attempt's request was lost.
pub async fn start(
    ctx: &worker::Context,
    db: &Db,
    desk: &Desk,
    order: &Order,
    aborted: Aborted,
) -> Result<String, Fault> {
    let text = serde_json::to_string(order)
        .map_err(|error| Fault::internal(&order.run_id, error.to_string()))?;
    let answer = match start_attempt(ctx, &text, aborted).await {
        Ok(answer) => answer,
        Err(thrown) => {
            let fault = Fault::new(
                Code::SandboxGone,
                "The sandbox of this run is gone: its request was lost.",
            )
            .caused_by(thrown.to_string());
            return end_lost(db, desk, &order.run_id, order.fence, fault, None).boxed_local().await;
        }
    };
    unpacked(answer)
}

/// Whether an answer is that of a run that waits for people.
#[must_use]
pub fn waits(answer: &str) -> bool {
    // The beginning tells: what follows the status may be megabytes.
    let head = answer.split_once(",\"outcome\":").map(|(head, _)| head);
    let status = head.and_then(|head| head.rsplit_once(",\"status\":")).map(|(_, status)| status);
    status.is_some_and(|status| status.trim_matches('"') == Status::WaitingApproval.as_str())
}

/// What an attempt answered: a response, or why there is none.
///
/// # Errors
///
/// That.
pub fn unpacked(answer: String) -> Result<String, Fault> {
    match answer.strip_prefix(REFUSED) {
        Some(fault) => Err(unpack(fault)),
        None => Ok(answer),
    }
}

/// Marks an answer of an attempt that is a refusal, not a response: no JSON begins so.
const REFUSED: &str = "!";

/// Packs what an attempt ended with into the text that its request answers.
#[must_use]
pub fn pack(answer: Result<String, Fault>) -> String {
    match answer {
        Ok(response) => response,
        Err(fault) => {
            format!("{REFUSED}{}", json!([fault.code.entry().code, fault.message, fault.details]))
        }
    }
}

fn unpack(text: &str) -> Fault {
    let packed: Option<(String, String, serde_json::Map<String, Value>)> =
        serde_json::from_str(text).ok();
    let known = packed.and_then(|(code, message, details)| {
        let code = Code::ALL.iter().copied().find(|known| known.entry().code == code)?;
        let mut fault = Fault::new(code, message);
        fault.details = details;
        Some(fault)
    });
    known.unwrap_or_else(|| Fault::new(Code::SandboxGone, "The attempt was refused."))
}

/// A principal's run: the stored response once it ended, its state so far until then. A run whose
/// attempt is dead is ended here.
///
/// # Errors
///
/// `run_not_found`, also for somebody else's run; the database.
pub async fn get(db: &Db, desk: &Desk, principal: &str, id: &str) -> Result<String, Fault> {
    let Some(row) = table::find(db, principal, id).await? else { return Err(not_found(id)) };
    if let Some(response) = stored(db, id).await? {
        return Ok(response);
    }
    let now = now_ms();
    if row.status == Status::Running.as_str()
        && row.lease_until < now
        && !journal::survives(db, id).await?
    {
        return sweep_one(db, desk, &row, now).await;
    }
    let lines = table::logged(db, id).await?;
    let questions = if row.status == Status::Running.as_str() {
        // It may wait with its sandbox held.
        Vec::new()
    } else {
        questions_of(db, id, now).await?
    };
    Ok(view_of(&row, lines.as_deref(), None, None, &questions, now))
}

/// What people have to answer for a run that waits for them.
async fn questions_of(db: &Db, id: &str, now: u64) -> Result<Vec<Question>, Fault> {
    let kept = journal::recording(db, id).await?.map(|stored| stored.request);
    let order = kept.and_then(|kept| serde_json::from_str::<Order>(&kept).ok());
    let origin = order.map(|order| order.origin).unwrap_or_default();
    let rows = approvals::of_run(db, id, now).await?;
    let open = rows.iter().filter(|row| row.state == "open");
    let mut questions: Vec<Question> = open.map(|row| row.question(&origin)).collect();
    for row in followed::of_run(db, id).await? {
        questions.extend(Box::pin(questions_of(db, &row.child_id, now)).await?);
    }
    Ok(questions)
}

/// Ends the runs that wait for people and that only `run` waited for, which has ended.
///
/// # Errors
///
/// The database.
pub async fn end_left_alone(db: &Db, desk: &Desk, run: &str) -> Result<(), Fault> {
    for child in followed::left_alone(db, run).await? {
        if let Some(fence) = journal::claim_to_end(db, &child, now_ms()).await? {
            let message = "The run was cancelled: the run that invoked it has ended.";
            let fault = Fault::new(Code::Cancelled, message);
            Box::pin(end_lost(db, desk, &child, fence, fault, None)).await?;
        }
    }
    Ok(())
}

/// The response of a run that ended; one of an older form in the form of today.
///
/// # Errors
///
/// The database.
pub async fn stored(db: &Db, id: &str) -> Result<Option<String>, Fault> {
    let response = table::response(db, id).await?;
    Ok(response.map(|response| ledger::answer::current(&response).into_owned()))
}

/// One page of a principal's runs, newest first.
#[derive(Debug, Default)]
pub struct Page<'a> {
    /// At most so many; 20 without.
    pub limit: Option<&'a str>,
    /// The `nextCursor` of the page before.
    pub cursor: Option<&'a str>,
    /// Only runs that stand so.
    pub status: Option<&'a str>,
}

/// What a page asks for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) limit: u64,
    pub(crate) status: Option<Status>,
    pub(crate) cursor: Option<Cursor>,
}

impl<'a> Page<'a> {
    /// The page that parameters of a query ask for.
    ///
    /// # Errors
    ///
    /// `invalid_request` for one that a list does not have.
    pub fn of(pairs: &'a [(String, String)]) -> Result<Self, Fault> {
        let mut page = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "limit" => page.limit = Some(value),
                "cursor" => page.cursor = Some(value),
                "status" => page.status = Some(value),
                _ => {
                    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                    let what = "is not a parameter of this list; limit, cursor and status are";
                    return Err(Fault::invalid(&shown, what));
                }
            }
        }
        Ok(page)
    }

    /// Reads it.
    pub(crate) fn read(&self) -> Result<Wanted, Fault> {
        let limit = match self.limit.map(str::parse::<u64>) {
            None => 20,
            Some(Ok(limit)) if (1..=MAX_PAGE).contains(&limit) => limit,
            Some(_) => {
                return Err(Fault::invalid("limit", format!("must be from 1 to {MAX_PAGE}")));
            }
        };
        let status = match self.status {
            None => None,
            Some(word) => Some(Status::parse(word).ok_or_else(|| {
                let words: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
                Fault::invalid("status", format!("must be one of {}", words.join(", ")))
            })?),
        };
        let cursor = match self.cursor {
            None => None,
            Some(text) => Some(read_cursor(text).ok_or_else(|| {
                Fault::invalid("cursor", "must be the nextCursor of the page before, unchanged")
            })?),
        };
        Ok(Wanted { limit, status, cursor })
    }
}

/// Lists a principal's runs: `{runs: [...], nextCursor?}`.
///
/// # Errors
///
/// `invalid_request` for a bad page; the database.
pub async fn list(db: &Db, principal: &str, page: &Page<'_>) -> Result<String, Fault> {
    let Wanted { limit, status, cursor } = page.read()?;
    let mut rows =
        table::list(db, principal, status, cursor.as_ref(), limit.saturating_add(1)).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|row| cursor_text(&Cursor { created_at: row.created_at, id: row.id.clone() }));
    let runs: Vec<Value> = rows.iter().map(summary).collect();
    Ok(match next {
        Some(cursor) => json!({ "runs": runs, "nextCursor": cursor }),
        None => json!({ "runs": runs }),
    }
    .to_string())
}

/// A place in a list, as a client gives it back.
#[must_use]
pub fn cursor_text(cursor: &Cursor) -> String {
    format!("{}-{}", cursor.created_at, cursor.id)
}

/// Reads it.
#[must_use]
pub fn read_cursor(text: &str) -> Option<Cursor> {
    let (at, id) = text.split_once('-')?;
    let created_at = at.parse().ok()?;
    let known =
        id.starts_with("run_") && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    known.then(|| Cursor { created_at, id: id.to_owned() })
}

fn summary(row: &Row) -> Value {
    json!({
        "id": row.id,
        "status": row.status,
        "surface": row.surface,
        "label": row.label,
        "budgetMs": row.budget_ms,
        "createdAt": row.created_at,
        "endedAt": row.ended_at,
        "errorCode": row.error_code,
        "errorKind": row.error_kind,
        "wakeAt": row.wake_at.filter(|_| row.ended_at.is_none()),
    })
}

/// Asks for the end of a principal's run and gives it as it stands then. A run that has ended
/// keeps its outcome.
///
/// # Errors
///
/// As [`get`].
pub async fn cancel(db: &Db, desk: &Desk, principal: &str, id: &str) -> Result<String, Fault> {
    let Some(row) = table::find(db, principal, id).await? else { return Err(not_found(id)) };
    if let Some(fence) = journal::claim_to_end(db, &row.id, now_ms()).await? {
        let fault = Fault::new(Code::Cancelled, "The run was cancelled: it was asked to end.");
        let fault = with_unknown(db, id, fault).await?;
        return end_lost(db, desk, id, fence, fault, None).await;
    }
    if table::ask_cancel(db, principal, id).await? {
        // The attempt looks every two seconds.
        for _ in 0..40 {
            crate::platform::clock::sleep_ms(100).await;
            if let Some(response) = table::response(db, id).await? {
                return Ok(response);
            }
        }
    }
    get(db, desk, principal, id).await
}

/// Ends runs whose attempt gave no sign of life for a lease, and clears places that nobody keeps. How many were found.
///
/// # Errors
///
/// The database.
pub async fn sweep(db: &Db, desk: &Desk) -> Result<usize, Fault> {
    let now = now_ms();
    let mut rows = table::lost(db, now, SWEEP_AT_ONCE).await?;
    // Whoever invoked another comes first: the other ends with it.
    rows.sort_by_key(|row| row.created_at);
    for row in &rows {
        if !journal::survives(db, &row.id).await? {
            sweep_one(db, desk, row, now).await?;
        }
    }
    db.run(&permits::prune(now)).await?;
    Ok(rows.len())
}

async fn sweep_one(db: &Db, desk: &Desk, row: &Row, now: u64) -> Result<String, Fault> {
    let fault = Fault::new(
        Code::SandboxGone,
        "The sandbox of this run is gone: it gave no sign of life for 30s.",
    );
    let fault = with_unknown(db, &row.id, fault).await?;
    end_lost(db, desk, &row.id, row.fence, fault, Some(now)).await
}

/// Nobody knows what became of what was called and did not return; whoever asks is told so.
async fn with_unknown(db: &Db, id: &str, fault: Fault) -> Result<Fault, Fault> {
    let reads = tools::reads();
    let calls = dispatches::of_run(db, id).await?;
    let open = calls.iter().filter(|call| call.state == "called");
    let unknown: Vec<Value> = open
        .filter(|call| !reads.contains(&call.path.as_str()))
        .map(|call| json!({ "n": call.n, "tool": call.path }))
        .collect();
    Ok(if unknown.is_empty() { fault } else { fault.with("effectUnknown", unknown) })
}

/// Ends a run in place of an attempt that cannot any more. `taken_at`: the attempt may live, so it
/// is ended only if its lease ran out before that time.
pub(crate) async fn end_lost(
    db: &Db,
    desk: &Desk,
    id: &str,
    fence: u64,
    fault: Fault,
    taken_at: Option<u64>,
) -> Result<String, Fault> {
    let now = now_ms();
    let Some(row) = table::any(db, id).await? else {
        // Its first row was never written: nothing of it ran with an effect.
        return Err(fault);
    };
    let lines = table::logged(db, id).await?;
    // A record that cannot be read offers nothing; the run ends all the same.
    let plan = rollback::plan_of(db, &row.principal, id).await.unwrap_or_default();
    let undoable = rollback::count(&plan);
    let response = view_of(&row, lines.as_deref(), Some(&fault), undoable, &[], now);
    let kind = fault.kind().word();
    let mut statements = Vec::new();
    let mut writes_as = fence;
    if let Some(taken_at) = taken_at {
        statements.push(table::take_over(id, fence, taken_at));
        writes_as = fence.saturating_add(1);
    }
    statements.push(approvals::drop_open(id, writes_as, now));
    if undoable.is_some() {
        let until = now.saturating_add(rollback::KEPT_MS);
        statements.push(journal::keep(id, writes_as, until));
    } else {
        statements.push(journal::forget_entries(id, writes_as));
        statements.push(journal::forget_recording(id, writes_as));
    }
    statements.extend(table::end(&table::Ending {
        id,
        fence: writes_as,
        status: ended_as(&fault),
        error: Some((fault.code.entry().code, &kind)),
        ended_at: now,
        response: &response,
        logged: true,
    }));
    let ended = statements.len().saturating_sub(1);
    if taken_at.is_some() {
        // Nobody was answered. If nothing had an effect either, the key's next caller runs it.
        let reads = serde_json::to_string(&tools::reads()).unwrap_or_else(|_| "[]".to_owned());
        statements.push(ledger_table::give_back(id, writes_as, &reads));
    }
    let changes = db.batch(&statements).await?;
    if changes.get(ended).is_some_and(|changed| *changed > 0) {
        desk.take(&fault, &Circumstances { surface: Some(&row.surface), run: Some(id) });
        end_left_alone(db, desk, id).await?;
    }
    // Whoever was first has the word.
    Ok(table::response(db, id).await?.unwrap_or(response))
}

/// A run without a stored response: as it stands, or as `fault` ends it.
fn view_of(
    row: &Row,
    lines: Option<&str>,
    fault: Option<&Fault>,
    undoable: Option<u64>,
    questions: &[Question],
    now: u64,
) -> String {
    let lines: Vec<Line> =
        lines.and_then(|lines| serde_json::from_str(lines).ok()).unwrap_or_default();
    let status = match fault {
        Some(fault) => ended_as(fault),
        None => Status::parse(&row.status).unwrap_or(Status::Running),
    };
    let ended_at = fault.map(|_| now).or(row.ended_at);
    let view = RunView {
        id: &row.id,
        status,
        outcome: status.is_final().then_some(status),
        result: None,
        error: fault.map(|fault| fault.message.as_str()),
        error_details: fault.map(Fault::to_json),
        approvals: questions,
        rollback_steps: undoable,
        wake_at: row.wake_at.filter(|_| fault.is_none() && !status.is_final()),
        emitted: &[],
        logs: &lines,
        warnings: &[],
        timing: Timing {
            total_ms: ended_at.unwrap_or(now).saturating_sub(row.created_at),
            ..Timing::default()
        },
        surface: surface_of(&row.surface),
        label: row.label.as_deref(),
        created_at: row.created_at,
        ended_at,
    };
    serde_json::to_string(&view).unwrap_or_else(|_| "{}".to_owned())
}

/// How a run has ended that ends so.
fn ended_as(fault: &Fault) -> Status {
    if fault.code == Code::Cancelled { Status::Cancelled } else { Status::Failed }
}

fn surface_of(word: &str) -> Surface {
    [Surface::Invocation, Surface::Workflow, Surface::Service]
        .into_iter()
        .find(|surface| surface.as_str() == word)
        .unwrap_or(Surface::Execute)
}

pub(crate) fn not_found(id: &str) -> Fault {
    // The id is the caller's own text: shown back cut, never more.
    let shown: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
    Fault::new(Code::RunNotFound, format!("There is no run {shown}."))
}

#[cfg(test)]
mod tests {
    //! Who waits is told by the beginning of an answer.

    use super::*;

    fn answer(status: Status, result: &str) -> String {
        let result: Option<&RawValue> = serde_json::from_str(result).ok();
        let view = RunView {
            id: "run_1",
            status,
            outcome: status.is_final().then_some(status),
            approvals: &[],
            wake_at: None,
            result,
            error: None,
            error_details: None,
            rollback_steps: None,
            emitted: &[],
            logs: &[],
            warnings: &[],
            timing: Timing::default(),
            surface: Surface::Execute,
            label: Some("\"status\":\"waiting_approval\",\"outcome\":"),
            created_at: 1,
            ended_at: None,
        };
        serde_json::to_string(&view).unwrap()
    }

    #[test]
    fn only_a_run_that_waits_for_people_waits() {
        let sly = r#"{"id":"run_2","status":"waiting_approval","outcome":null}"#;
        for status in Status::ALL.iter().copied() {
            for result in ["", "1", sly] {
                let waiting = status == Status::WaitingApproval;
                assert_eq!(waits(&answer(status, result)), waiting, "{status:?} {result}");
            }
        }
        assert!(!waits("{}"));
        assert!(!waits("!{\"code\":\"timed_out\"}"));
    }
}
