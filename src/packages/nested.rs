//! `packages.invoke` of a program: a run that a run starts.
//!
//! Four at once and eight in line for each parent, kept in the parent's own request: nobody waits
//! for a promise of another. Deeper than four levels, and beyond a full line, is refused at once, so
//! that waiting always ends: whoever waits, waits for runs that are at work below the same parent.

use super::{Invocation, Target};
use crate::approvals::Hands;
use crate::attempt::{Order, Parent};
use crate::error::{Code, Fault};
use crate::ledger;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::{HangUp, Told, hang_up};
use crate::run::outcome::{Question, Status};
use crate::run::surface::Surface;
use crate::run::value;
use crate::runs::{self, present};
use crate::store::{followed, runs as runs_table};
use crate::tools::{Came, Waiting, failed, unfit};
use futures_channel::oneshot;
use futures_util::future::FutureExt as _;
use futures_util::{pin_mut, select_biased};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// The dispatch.
pub const PATH: &str = "packages.invoke";

/// Nested attempts of one parent at once.
const AT_ONCE: usize = 4;

/// Places in a parent's line.
const LINE: usize = 8;

/// How often a run that is at work is looked at, when the call that began it is made again.
const LOOK_MS: u64 = 300;

/// Looks from one to the next at which it is taken up, should its attempt be lost.
const TAKE_UP_LOOKS: u32 = 10;

/// Levels below the top.
const MAX_DEPTH: u32 = 4;

/// What one attempt needs to start others.
pub struct Nested {
    hands: Hands,
    principal: String,
    parent: Parent,
    origin: String,
    /// The parent goes on from its record: what a call of it invoked may be there.
    resumes: bool,
    /// Calls that were made by this attempt.
    made: RefCell<BTreeSet<u32>>,
    places: Places,
}

impl std::fmt::Debug for Nested {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nested").field("parent", &self.parent).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default, deserialize_with = "present")]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    options: Options,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Options {
    idempotency_key: Option<String>,
    version: Option<u64>,
    budget_ms: Option<Value>,
    label: Option<String>,
}

/// What is read of a nested run's response.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    id: String,
    status: String,
    result: Option<Box<RawValue>>,
    error: Option<String>,
    error_details: Option<Value>,
    #[serde(default)]
    approvals: Vec<Question>,
}

fn read(arguments: &str) -> Result<Call, Fault> {
    serde_json::from_str(arguments).map_err(|_| {
        unfit(PATH, "wants (name, params, {idempotencyKey, version, budgetMs, label})")
    })
}

impl Nested {
    /// For the attempt of `order`.
    #[must_use]
    pub fn new(hands: Hands, order: &Order) -> Self {
        let above = order.parent.as_ref().map_or(0, |parent| parent.depth);
        let parent = Parent { run_id: order.run_id.clone(), depth: above.saturating_add(1) };
        Self {
            hands,
            principal: order.principal.clone(),
            parent,
            origin: order.origin.clone(),
            resumes: order.resumes,
            made: RefCell::default(),
            places: Places::default(),
        }
    }

    /// Refuses arguments that name no export.
    ///
    /// # Errors
    ///
    /// That.
    pub fn check(arguments: &str) -> Result<(), Fault> {
        Target::read(&read(arguments)?.name).map(|_| ())
    }

    /// Invokes an export as call `n`; its result, tagged. Parameters and result cross as plain JSON,
    /// as they do over HTTP. When the future is dropped the nested run is cancelled, unless it has a
    /// key. How far its own calls are is put into `told`.
    ///
    /// A call has one run ever: made again, after its run waited for people or one of both was lost
    /// with an isolate, it finds that run, which goes on from its own record.
    ///
    /// # Errors
    ///
    /// Why it was not run; what it failed with.
    pub async fn invoke(&self, n: u32, arguments: &str, told: Option<Told>) -> Result<Came, Fault> {
        let arrived_at = now_ms();
        let call = read(arguments)?;
        let target = Target::read(&call.name)?;
        let keyed = call.options.idempotency_key.is_some();
        if let Some(child) = self.run_of(n).await? {
            return result_of(&target, &self.followed(&child, keyed).await?);
        }
        if self.parent.depth > MAX_DEPTH {
            let message =
                format!("{target} would be {MAX_DEPTH} levels deep already; nothing was run.");
            let fault = Fault::new(Code::CapacityExceeded, message).with("depth", MAX_DEPTH);
            return Err(fault.with_next_step("Invoke fewer packages from within each other."));
        }
        let params = match call.params {
            None => None,
            Some(params) => {
                let (plain, _) = value::plain(params.get()).map_err(|error| unfit(PATH, error))?;
                Some(RawValue::from_string(plain).map_err(|error| unfit(PATH, error))?)
            }
        };
        let Options { idempotency_key, version, budget_ms, label } = call.options;
        let invocation = Invocation { params, version, budget_ms, label, limits: None };
        let claim = match idempotency_key {
            None => None,
            Some(key) => Some(invocation.claim(&target, "idempotencyKey", key)?),
        };
        let (db, config) = (&self.hands.db, &self.hands.config);
        let mut order = super::order_by_memory(
            db,
            config,
            &self.principal,
            &target,
            (Surface::Invocation, invocation),
            arrived_at,
        )
        .await?;
        let known = claim.clone().filter(|_| self.resumes);
        order.claim = claim;
        if order.claim.is_none() {
            order.run_id = self.child_id(n);
        }
        order.parent = Some(self.parent.clone());
        order.origin.clone_from(&self.origin);
        let place = self.places.take(self.hands.config.permit_wait_ms).await?;
        let (hang_up, aborted) = hang_up();
        let aborted = aborted.telling(told);
        let (sender, receiver) = oneshot::channel();
        let hands = self.hands.clone();
        // In `waitUntil`, so that it outlives a parent that ends for as long as it needs to be stored
        // as cancelled.
        self.hands.ctx.wait_until(async move {
            let answer = ledger::start(&hands, &order, aborted).await;
            drop(place);
            // The parent may have ended.
            let _ = sender.send(answer);
        });
        let parent_left = HangsUp(Some(hang_up));
        let answered = receiver
            .await
            .map_err(|_| Fault::new(Code::SandboxGone, "The nested run was lost."))?;
        parent_left.disarm();
        let text = match (answered, known) {
            (Ok(answered), _) => answered.text,
            // What the call began before is still at work.
            (Err(fault), Some(claim)) if fault.code == Code::IdempotencyInProgress => {
                let (db, of) = (&self.hands.db, Surface::Invocation);
                let child = ledger::run_of(db, &self.principal, of, &claim).await?.ok_or(fault)?;
                self.followed(&child, keyed).await?
            }
            (Err(fault), _) => return Err(fault),
        };
        result_of(&target, &text)
    }

    /// The run of call `n`, if it was made before.
    async fn run_of(&self, n: u32) -> Result<Option<String>, Fault> {
        let again = !self.made.borrow_mut().insert(n);
        if !again && !self.resumes {
            return Ok(None);
        }
        if let Some(child) = followed::find(&self.hands.db, &self.parent.run_id, n).await? {
            return Ok(Some(child));
        }
        let id = self.child_id(n);
        let known = runs_table::find(&self.hands.db, &self.principal, &id).await?;
        Ok(known.map(|row| row.id))
    }

    /// The id of the run of call `n`, where no key says which it is: as hard to guess as its parent's.
    fn child_id(&self, n: u32) -> String {
        let hash = Sha256::digest(format!("{}/{n}", self.parent.run_id).as_bytes());
        let (half, _) = hash.split_at(hash.len().div_euclid(2));
        format!("run_{}", crate::hex::encode(half))
    }

    /// The response of a run that was made before: its outcome, or what it waits for. Where its
    /// attempt is lost, it is taken up. When the future is dropped it is cancelled, unless it has a
    /// key.
    async fn followed(&self, child: &str, keyed: bool) -> Result<String, Fault> {
        let mut leaves = Leaves(if keyed { None } else { Some((self, child)) });
        let mut looks = 0_u32;
        loop {
            let text = runs::get(&self.hands.db, &self.hands.desk, &self.principal, child).await?;
            let status = serde_json::from_str::<Ended>(&text).map(|ended| ended.status);
            if !status.is_ok_and(|status| status == Status::Running.as_str()) {
                leaves.0 = None;
                return Ok(text);
            }
            if looks.is_multiple_of(TAKE_UP_LOOKS) {
                self.hands.take_up_later(child);
            }
            looks = looks.wrapping_add(1);
            sleep_ms(LOOK_MS).await;
        }
    }
}

/// The result of a run that was invoked, tagged, or what it waits for; its failure as a program sees a
/// tool's.
fn result_of(target: &Target, response: &str) -> Result<Came, Fault> {
    let unreadable = |error: String| {
        Fault::new(Code::ToolFailed, format!("{target}: its answer cannot be read."))
            .caused_by(error)
    };
    let ended: Ended =
        serde_json::from_str(response).map_err(|error| unreadable(error.to_string()))?;
    if ended.status == "completed" {
        let result = ended.result.as_deref().map_or("null", RawValue::get);
        let tagged = value::tagged(result).map_err(|error| unreadable(error.to_string()))?;
        return Ok(Came::Back(tagged));
    }
    if ended.status == Status::WaitingApproval.as_str() {
        return Ok(Came::Waits(Waiting { run_id: ended.id, questions: ended.approvals }));
    }
    let detail = |name: &str| ended.error_details.as_ref()?.get(name)?.as_str();
    let message = ended.error.as_deref().unwrap_or("it did not complete");
    let fault = failed(&target.to_string(), Some("PackageError"), message, detail("code"));
    let fault = match place_of(target, ended.error_details.as_ref()) {
        Some(place) => fault.with("thrownAt", place),
        None => fault,
    };
    Err(fault.with("runId", ended.id))
}

/// Where in its package a nested run failed.
fn place_of(target: &Target, details: Option<&Value>) -> Option<Value> {
    let part = |name: &str| details?.get(name).cloned();
    let (file, line, column) = (part("file")?, part("line")?, part("column")?);
    let package = &target.name;
    Some(json!({ "package": package, "file": file, "line": line, "column": column }))
}

/// Cancels the nested run when the dispatch is dropped before its answer.
struct HangsUp(Option<HangUp>);

impl HangsUp {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for HangsUp {
    fn drop(&mut self) {
        if let Some(hang_up) = self.0.take() {
            hang_up.now("the run that invoked it has ended");
        }
    }
}

/// Asks for the end of a nested run that was made before, when nobody follows it any more.
struct Leaves<'a>(Option<(&'a Nested, &'a str)>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let Some((nested, child)) = self.0.take() else { return };
        let (db, principal) = (Rc::clone(&nested.hands.db), nested.principal.clone());
        let child = child.to_owned();
        nested.hands.ctx.wait_until(async move {
            if let Err(error) = runs_table::ask_cancel(&db, &principal, &child).await {
                worker::console_error!("run {child}: it was left and goes on: {error}");
            }
        });
    }
}

/// The places of one parent. Clones share them.
#[derive(Debug, Clone, Default)]
struct Places(Rc<RefCell<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    line: VecDeque<oneshot::Sender<Place>>,
}

/// A place at work, given on to the first in line when it is dropped.
#[derive(Debug)]
struct Place(Places);

impl Places {
    async fn take(&self, wait_ms: u64) -> Result<Place, Fault> {
        let waiting = {
            let mut taken = self.0.borrow_mut();
            if taken.count < AT_ONCE {
                taken.count = taken.count.saturating_add(1);
                None
            } else {
                taken.line.retain(|waiter| !waiter.is_canceled());
                if taken.line.len() >= LINE {
                    let message = format!(
                        "{AT_ONCE} runs are at work and the line of {LINE} is full; nothing ran, it \
                         is safe to retry."
                    );
                    let fault = Fault::new(Code::CapacityExceeded, message);
                    return Err(fault.with("atWork", AT_ONCE).with("line", LINE));
                }
                let (sender, receiver) = oneshot::channel();
                taken.line.push_back(sender);
                Some(receiver)
            }
        };
        let Some(waiting) = waiting else { return Ok(Place(self.clone())) };
        let late = sleep_ms(wait_ms).fuse();
        let waiting = waiting.fuse();
        pin_mut!(late, waiting);
        select_biased! {
            place = waiting => place.map_err(|_| Fault::permit_wait_spent(wait_ms)),
            () = late => Err(Fault::permit_wait_spent(wait_ms)),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        loop {
            let next = self.0.0.borrow_mut().line.pop_front();
            let Some(next) = next else { break };
            if !next.is_canceled() {
                // Should the waiter leave in this moment, its place is dropped and given on again.
                let _ = next.send(Self(self.0.clone()));
                return;
            }
        }
        let mut taken = self.0.0.borrow_mut();
        taken.count = taken.count.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    //! Four at once, eight in line, and a place is never lost.

    use super::*;
    use futures_util::task::noop_waker;
    use std::task::{Context, Poll};

    #[test]
    fn a_place_that_is_left_goes_to_the_first_in_line() {
        let places = Places::default();
        let mut held: Vec<Place> = Vec::new();
        for _ in 0..AT_ONCE {
            places.0.borrow_mut().count += 1;
            held.push(Place(places.clone()));
        }
        let (gone, left) = oneshot::channel();
        let (sender, mut first) = oneshot::channel();
        drop(left);
        places.0.borrow_mut().line.extend([gone, sender]);
        held.pop();
        let waker = noop_waker();
        let Poll::Ready(Ok(place)) = first.poll_unpin(&mut Context::from_waker(&waker)) else {
            panic!("the first that still waits has it");
        };
        assert_eq!(places.0.borrow().count, AT_ONCE);
        drop((place, held));
        assert_eq!(places.0.borrow().count, 0);
    }

    #[test]
    fn a_failure_is_told_as_the_package_told_it() {
        let target = Target::read("a/b").unwrap();
        let response = r#"{"id":"run_1","status":"failed","error":"boom",
                           "errorDetails":{"code":"HF_E1301"}}"#;
        let fault = result_of(&target, response).unwrap_err();
        assert_eq!(fault.code, Code::ToolFailed);
        assert_eq!(fault.message, "a/b: boom [HF_E1301]");
        assert_eq!(fault.details["runId"], "run_1");
        let done = r#"{"id":"run_1","status":"completed","result":{"$":1}}"#;
        assert!(matches!(result_of(&target, done), Ok(Came::Back(text)) if text.contains('$')));
        let waits = r#"{"id":"run_1","status":"waiting_approval","outcome":null,"approvals":[
            {"id":"apr_1","tool":"storage.set","approveUrl":"u","expiresAt":5}]}"#;
        let Ok(Came::Waits(waiting)) = result_of(&target, waits) else { panic!("it waits") };
        assert_eq!((waiting.run_id.as_str(), waiting.questions.len()), ("run_1", 1));
    }
}
