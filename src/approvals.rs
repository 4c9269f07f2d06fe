//! Approvals, as every surface uses them: list, look up, decide; and taking up the runs that waited
//! for them.
//!
//! A decision is a row, and the run hears of it in one of three ways: its live attempt looks twice a
//! second; the request that decided takes a parked run up; the schedule takes up what was left
//! behind. All of them claim the run first, so one attempt is made.

use crate::attempt::Order;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::ledger::Answered;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::{hang_up, start_attempt};
use crate::platform::workflows::Workflows;
use crate::report::desk::{Circumstances, Desk};
use crate::rollback;
use crate::run::outcome::Status;
use crate::runs;
use crate::store::approvals::{self as table, Deciding, Row};
use crate::store::db::Db;
use crate::store::{dispatches, followed, journal, states};
use crate::workflows;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use std::rc::Rc;

/// Questions of one list at most.
const MAX_LIST: u64 = 200;

/// The longest reason, in bytes.
const MAX_REASON_BYTES: usize = 1_000;

/// How long whoever asks for a run's next word waits at most.
pub const RESUME_WAIT_MS: u64 = 45_000;

/// How long a run that is at work is followed at most: longer than any attempt may take.
const FOLLOW_MS: u64 = 900_000;

/// How often it looks.
const LOOK_MS: u64 = 300;

/// Attempts of one run in a row that one request starts: people may decide while it parks.
const MAX_ATTEMPTS: u32 = 20;

/// Runs that one round of the schedule takes up.
const AT_ONCE: u64 = 20;

/// A decision, as a front end sends it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decide {
    /// What is decided.
    pub decision: Choice,
    /// Why; the program is told when it is declined.
    pub reason: Option<String>,
}

/// What a person may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The call is made.
    Allow,
    /// So is every later call of the tool in this run.
    AllowRun,
    /// The call is not made.
    Decline,
    /// The run is cancelled.
    Cancel,
}

/// A principal's questions of a state, newest first.
///
/// # Errors
///
/// An unknown state; the database.
pub async fn list(db: &Db, principal: &str, state: Option<&str>) -> Result<String, Fault> {
    let state = state.unwrap_or("open");
    if !["open", "allowed", "declined", "expired", "dropped"].contains(&state) {
        let what = "must be open, allowed, declined, expired or dropped";
        return Err(Fault::invalid("state", what));
    }
    db.run(&table::expire(now_ms())).await?;
    let rows = table::list(db, principal, state, MAX_LIST).await?;
    let shown: Vec<Value> = rows.iter().map(view).collect();
    Ok(json!({ "approvals": shown }).to_string())
}

/// A question with what a person has to see: the whole program, what the run did so far, what else
/// waits.
///
/// # Errors
///
/// `approval_not_found`, also for somebody else's; the database.
pub async fn get(db: &Db, principal: &str, id: &str) -> Result<String, Fault> {
    let row = find(db, principal, id).await?;
    let others = table::of_run(db, &row.run_id, now_ms()).await?;
    let input = journal::input(db, &row.run_id).await?;
    let done = dispatches::of_run(db, &row.run_id).await?;
    let row = others.iter().find(|other| other.id == row.id).unwrap_or(&row);
    let mut shown = view(row);
    if let Some(fields) = shown.as_object_mut() {
        if let Some((source, params)) = input {
            let params = serde_json::from_str::<Value>(&params).unwrap_or_default();
            fields.insert("code".to_owned(), json!(source));
            fields.insert("params".to_owned(), crate::tools::policy::redacted(&params));
        }
        let done: Vec<Value> = done
            .iter()
            .map(|call| json!({ "n": call.n, "tool": call.path, "state": call.state }))
            .collect();
        let waiting: Vec<Value> = others
            .iter()
            .filter(|other| other.state == "open" && other.id != row.id)
            .map(view)
            .collect();
        fields.insert("done".to_owned(), json!(done));
        fields.insert("alsoWaiting".to_owned(), json!(waiting));
    }
    Ok(shown.to_string())
}

async fn find(db: &Db, principal: &str, id: &str) -> Result<Row, Fault> {
    table::find(db, principal, id).await?.ok_or_else(|| {
        // The id is the caller's own text: shown back cut, never more.
        let shown: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
        Fault::new(Code::ApprovalNotFound, format!("There is no approval {shown}."))
    })
}

/// Decides. The first decision stands: the same one again is answered alike, another is told what
/// stands, and when the run ended meanwhile, how.
///
/// # Errors
///
/// `approval_not_found`, `approval_stands`, bad input, the database.
pub async fn decide(
    db: &Db,
    desk: &Desk,
    (principal, by): (&str, &str),
    id: &str,
    wanted: &Decide,
) -> Result<Row, Fault> {
    let reason = wanted.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        return Err(Fault::invalid("reason", format!("may have {MAX_REASON_BYTES} bytes at most")));
    }
    let known = find(db, principal, id).await?;
    if wanted.decision == Choice::Cancel {
        runs::cancel(db, desk, principal, &known.run_id).await?;
        return find(db, principal, id).await;
    }
    let now = now_ms();
    let deciding = Deciding {
        allow: wanted.decision != Choice::Decline,
        for_run: wanted.decision == Choice::AllowRun,
        reason,
        by,
        now,
    };
    let won = table::decide(db, principal, id, &deciding).await?;
    db.run(&table::expire(now)).await?;
    let row = find(db, principal, id).await?;
    let same = match wanted.decision {
        Choice::Allow => row.state == "allowed" && row.for_run == 0,
        Choice::AllowRun => row.state == "allowed" && row.for_run > 0,
        Choice::Decline => row.state == "declined",
        Choice::Cancel => false,
    };
    if won || same {
        return Ok(row);
    }
    let mut fault = Fault::new(
        Code::ApprovalStands,
        format!("The call of {} is {} already; that stands.", row.path, row.state),
    )
    .with("approval", view(&row));
    if row.state == "dropped" {
        let run = runs::get(db, desk, principal, &row.run_id).await?;
        fault.message = format!("The run ended without the call of {}.", row.path);
        fault = fault.with("run", serde_json::from_str::<Value>(&run).unwrap_or_default());
    }
    Err(fault)
}

/// A question as it is shown.
#[must_use]
pub fn view(row: &Row) -> Value {
    let raw = |text: &str| {
        serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    json!({
        "id": row.id,
        "runId": row.run_id,
        "call": row.n,
        "tool": row.path,
        "arguments": raw(&row.arguments),
        "rule": raw(&row.rule),
        "state": row.state,
        "forRun": row.for_run > 0,
        "reason": row.reason,
        "decidedBy": row.decided_by,
        "createdAt": row.created_at,
        "expiresAt": row.expires_at,
        "decidedAt": row.decided_at,
    })
}

/// What taking runs up needs of a request or of the schedule.
#[derive(Debug, Clone)]
pub struct Hands {
    /// Its context: attempts are requests of their own.
    pub ctx: Rc<worker::Context>,
    /// The database.
    pub db: Rc<Db>,
    /// The configuration.
    pub config: Rc<Config>,
    /// Where faults of ours go.
    pub desk: Rc<Desk>,
    /// The engine of durable runs, where this deployment has one.
    pub engine: Option<Workflows>,
}

impl Hands {
    /// Takes a run up as long as there is something to take it up for: it waits and somebody
    /// decided, or its attempt was lost. Whoever claims the run first makes the attempt; nothing
    /// else happens. What goes wrong is told to the desk: the schedule comes to it again.
    ///
    /// So are the runs that it waits for, and when it has ended those that waited for it. A workflow
    /// is taken up by the engine, which is woken.
    pub async fn take_up(&self, run: &str) {
        let taken = async {
            // What it waits for may be lost, and then nothing else moves it on but the schedule.
            for row in followed::of_run(&self.db, run).await? {
                if row.status.as_deref() == Some(Status::Running.as_str()) {
                    self.take_up_later(&row.child_id);
                }
            }
            let woken = workflows::wake(self, run).await?;
            for _ in 0..MAX_ATTEMPTS {
                if woken || !self.attempt(run).await? {
                    break;
                }
            }
            Ok::<_, Fault>(followed::parents_of(&self.db, run, AT_ONCE).await?)
        }
        .await;
        match taken {
            Ok(parents) => {
                for parent in parents {
                    Box::pin(self.take_up(&parent)).await;
                }
            }
            Err(fault) => {
                let of = Circumstances { surface: None, run: Some(run) };
                self.desk.take(&fault, &of);
            }
        }
    }

    /// Makes an attempt of a run that wants one; whether it did.
    async fn attempt(&self, run: &str) -> Result<bool, Fault> {
        let permits = &self.config.permits;
        let Some(fence) = journal::claim(&self.db, run, permits, now_ms()).await? else {
            return Ok(false);
        };
        let order = order_of(&self.db, run, fence).await?;
        let text = serde_json::to_string(&order)
            .map_err(|error| Fault::internal(run, error.to_string()))?;
        // Nobody can hang up on it: whoever decided is not its caller.
        let (_stays, aborted) = hang_up();
        let answer = start_attempt(&self.ctx, &text, aborted).await.map_err(|thrown| {
            Fault::new(Code::SandboxGone, "The request of an attempt was lost.")
                .caused_by(thrown.to_string())
        })?;
        runs::unpacked(answer).map(|_| true)
    }

    /// The same, after the answer to the request has left.
    pub fn take_up_later(&self, run: &str) {
        let (hands, run) = (self.clone(), run.to_owned());
        self.ctx.wait_until(async move { hands.take_up(&run).await });
    }
}

pub(crate) async fn order_of(db: &Db, run: &str, fence: u64) -> Result<Order, Fault> {
    let lost = || Fault::new(Code::RecordLost, "The record of the run is not there.");
    let recording = journal::recording(db, run).await?.ok_or_else(lost)?;
    let (source, params) = journal::input(db, run).await?.ok_or_else(lost)?;
    Order::recalled(&recording.request, source, params, fence)
        .map_err(|error| lost().caused_by(error.to_string()))
}

/// Once a minute: expires questions, takes up what was left behind.
///
/// # Errors
///
/// The database.
pub async fn sweep(hands: &Hands) -> Result<(), Fault> {
    let now = now_ms();
    hands.db.batch(&[table::expire(now), states::prune(now)]).await?;
    rollback::prune(&hands.db).await?;
    // Side by side: one that computes for minutes holds up no other.
    let left = journal::left_behind(&hands.db, now, AT_ONCE).await?;
    join_all(left.iter().map(|run| hands.take_up(run))).await;
    Ok(())
}

/// How long a run's next word is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// In all.
    pub total_ms: u64,
    /// While only people are waited for.
    pub people_ms: u64,
}

impl Wait {
    /// So long whatever the run does.
    #[must_use]
    pub const fn at_most(ms: u64) -> Self {
        Self { total_ms: ms, people_ms: ms }
    }

    /// So long for people; a run that is at work is followed to its end.
    #[must_use]
    pub const fn for_people(ms: u64) -> Self {
        Self { total_ms: FOLLOW_MS, people_ms: ms }
    }
}

/// Waits for a run's next word: its outcome, a question beside those in `known`, or `wait` without
/// either. Without `known` it is what the run waits for when it is looked at first. Takes the run up
/// where that is due; never decides.
///
/// # Errors
///
/// `run_not_found`, also for somebody else's run; the database.
pub async fn resume(
    hands: Hands,
    principal: String,
    run: String,
    known: Option<Vec<String>>,
    wait: Wait,
) -> Result<Answered, Fault> {
    #[derive(Deserialize)]
    struct Head {
        status: String,
        #[serde(default)]
        approvals: Vec<Open>,
    }
    #[derive(Deserialize)]
    struct Open {
        id: String,
    }
    let mut known = known;
    let mut looked_at = now_ms();
    let (mut total_ms, mut people_ms) = (0_u64, 0_u64);
    let mut looks = 0_u32;
    loop {
        let text = runs::get(&hands.db, &hands.desk, &principal, &run).await?;
        let head: Head = serde_json::from_str(&text)
            .map_err(|error| Fault::internal(&run, format!("its answer: {error}")))?;
        let status = Status::parse(&head.status);
        let open: Vec<String> = head.approvals.into_iter().map(|open| open.id).collect();
        let known = known.get_or_insert_with(|| open.clone());
        let asks = open.iter().any(|id| !known.contains(id));
        let now = now_ms();
        let passed_ms = now.saturating_sub(looked_at);
        looked_at = now;
        total_ms = total_ms.saturating_add(passed_ms);
        if status != Some(Status::Running) {
            people_ms = people_ms.saturating_add(passed_ms);
        }
        let enough = total_ms >= wait.total_ms || people_ms >= wait.people_ms;
        if status.is_some_and(Status::is_final) || asks || enough {
            return Ok(Answered { text, replayed: false });
        }
        if looks.is_multiple_of(10) {
            hands.take_up_later(&run);
        }
        looks = looks.saturating_add(1);
        sleep_ms(LOOK_MS.min(wait.total_ms)).await;
    }
}
