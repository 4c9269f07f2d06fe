//! The loop of an attempt: waits for what happens, tells the run, carries out what it commands.

mod calls;
mod ending;

use super::memory::{Memory, recorded};
use super::message::{Kind, Message};
use super::order::Order;
use super::people::People;
use super::permit;
use super::program::{Program, refused};
use super::recorder::Recorder;
use super::shift::{Shift, Why};
use crate::code;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::caller_left;
use crate::report::desk::Desk;
use crate::run::end::{End, EndKind, MAX_END_OVERHEAD_BYTES, PROGRAM};
use crate::run::journal::{self, Entry, Issued, Record};
use crate::run::limits::Limits;
use crate::run::log::Log;
use crate::run::machine::{Event, POLL_MS, Run};
use crate::run::outcome::Outcome;
use crate::run::value;
use crate::sandbox::{Host, Lost, Sandbox};
use crate::store::db::{Db, StoreError};
use crate::store::{approvals, attempts, followed, runs};
use crate::tools::policy::Policy;
use crate::tools::{Came, Tools, reply_of};
use futures_channel::{mpsc, oneshot};
use futures_util::future::{AbortHandle, Fuse, FutureExt as _, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use futures_util::{pin_mut, select_biased};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// How often an attempt looks whether somebody decided, while people are asked.
const ASK_MS: u64 = 500;

/// How often an attempt gives a sign of life, and looks whether somebody asked for its end.
const RENEW_MS: u64 = 2_000;

/// The names that a program has without an import.
pub const AMBIENT: &[&str] =
    &["tools", "params", "sleep", "step", "emit", "storage", "packages", "workflows", "run"];

/// A tool call that came back: its number and what it came to; `None` when it was stopped.
type Returned = Option<(u32, Result<Came, Fault>)>;

/// A tool that was looked up for a call: its number, and why it is not called; `None` when it was
/// stopped.
type Prepared = Option<(u32, Option<Fault>)>;

/// A message of the harness and the way back.
type Arrival = (String, oneshot::Sender<String>);

/// Makes an attempt and gives the response: as it is stored, or, where the run parked, as it waits.
///
/// # Errors
///
/// `storage_unavailable` when the run's row could not be written: then there is no run. Where it
/// goes on from its record, the run stays as it is and another attempt is made later.
pub async fn run<S: Sandbox>(
    order: Order,
    db: Rc<Db>,
    tools: Tools,
    config: &Config,
    desk: &Desk,
    sandbox: &S,
    aborted: js_sys::Function,
) -> Result<String, Fault> {
    let options = code::Options { guard: config.guard, ambient: AMBIENT };
    let program = Program::of(&order, &options);
    let left = caller_left(aborted).boxed_local().fuse();
    let fresh = if order.resumes { None } else { Some(Memory::fresh(&order)?) };
    let begun = match &fresh {
        None => {
            let found = permit::Found::read(&db, &order.principal).boxed_local().await;
            permit::Waited::Begun { at: now_ms(), found, record: None, left }
        }
        Some(memory) => permit::wait(&db, &order, &memory.seed, config, left).await?,
    };
    let (begun_at, found, record, left) = match begun {
        permit::Waited::Begun { at, found, record, left } => (at, found, record, left),
        permit::Waited::Left(why) => {
            return Err(Fault::new(Code::Cancelled, format!("The run was cancelled: {why}.")));
        }
    };
    let memory = match fresh {
        Some(memory) => memory,
        None => Memory::recall(&db, &order).boxed_local().await?,
    };
    let recorder = Recorder::new(Rc::clone(&db), &order.run_id, order.fence, record);
    let (policy, unread) = match found.policy {
        Ok(policy) => (Rc::new(policy), None),
        Err(error) => (Rc::default(), Some(error)),
    };
    let tools = tools.under(Rc::clone(&policy));
    if let Some(names) = found.sources {
        tools.know_sources(names);
    }
    let mut attempt = Attempt::new(order, db, tools, policy, recorder, memory, begun_at);
    if let Some(error) = unread {
        return attempt.end(desk, Outcome::Failed(error.into()), None).await;
    }
    let program = match program {
        Ok(program) => program,
        Err(refusal) => return attempt.end(desk, Outcome::Failed(refused(&refusal)), None).await,
    };
    attempt.warnings.extend(program.warnings().iter().cloned());
    let invocation = match invocation_of(&attempt) {
        Ok(invocation) => invocation,
        Err(fault) => return attempt.end(desk, Outcome::Failed(fault), None).await,
    };
    let (outcome, arrivals) = attempt.watch(sandbox, &program, &invocation, left).await;
    attempt.end(desk, outcome, Some(arrivals)).await
}

/// What the harness is told. Values go as text: the order of an object's keys is the program's to see.
fn invocation_of(attempt: &Attempt) -> Result<String, Fault> {
    let order = &attempt.order;
    let limits = &order.limits;
    let params = value::tagged(order.params.get())
        .map_err(|error| Fault::invalid("params", format!("cannot be read ({error})")))?;
    let journal = attempt.record.journal().invocation(attempt.log.lines().len());
    let head = json!({
        "runId": order.run_id,
        "surface": order.surface,
        "budgetMs": limits.budget_ms,
        "seed": attempt.seed,
        "limits": {
            "argumentBytes": limits.argument_bytes,
            "resultBytes": limits.result_bytes,
            "logBytes": limits.log_bytes,
            "logLines": limits.log_lines,
            "logLineBytes": limits.log_line_bytes,
        },
        "service": order.service.as_ref().map(|service| json!({
            "service": service.name, "stretch": service.stretch, "woken": service.woken,
        })),
        "export": order.package.as_ref().map(|package| &package.export),
        "parkMs": order.segment.as_ref().map(|segment| segment.park_ms),
    })
    .to_string();
    let head = head.strip_suffix('}').unwrap_or_default();
    Ok(format!("{head},\"params\":{params},\"journal\":{journal}}}"))
}

struct Attempt {
    order: Order,
    db: Rc<Db>,
    tools: Rc<Tools>,
    recorder: Recorder,
    run: Run,
    began_at: u64,
    record: Record,
    seed: String,
    policy: Rc<Policy>,
    people: People,
    /// Of a service.
    shift: Option<Shift>,
    /// Settlements that a replay may still report as progress.
    replayable: usize,
    /// When it last did.
    replayed_at: Option<u64>,
    log: Log,
    logged: usize,
    warnings: Vec<String>,
    arguments: BTreeMap<u32, (String, String)>,
    replies: BTreeMap<u32, oneshot::Sender<String>>,
    stops: BTreeMap<u32, AbortHandle>,
    preparing: FuturesUnordered<LocalBoxFuture<'static, Prepared>>,
    calls: FuturesUnordered<LocalBoxFuture<'static, Returned>>,
}

impl Attempt {
    fn new(
        order: Order,
        db: Rc<Db>,
        tools: Tools,
        policy: Rc<Policy>,
        recorder: Recorder,
        memory: Memory,
        now: u64,
    ) -> Self {
        let Memory { seed, journal, lines, approvals, seq } = memory;
        let run = if order.resumes {
            Run::resumed(order.limits.clone(), now, recorded(&journal))
        } else {
            Run::new(order.limits.clone(), now)
        };
        recorder.resume_at(seq);
        tools.recall(&journal);
        let ceiling_ms = order.limits.ceiling_ms;
        recorder.begin(attempts::began(&order.run_id, order.fence, now, ceiling_ms));
        let mut people = People::default();
        people.hear(&approvals, &order.origin);
        Self {
            shift: order.service.as_ref().map(|service| Shift::new(service, now)),
            order,
            db,
            tools: Rc::new(tools),
            recorder,
            run,
            began_at: now,
            seed,
            policy,
            people,
            replayable: journal.settlements(),
            replayed_at: None,
            record: Record::resumed(journal),
            logged: lines.len(),
            log: Log::resumed(lines),
            warnings: Vec::new(),
            arguments: BTreeMap::new(),
            replies: BTreeMap::new(),
            stops: BTreeMap::new(),
            preparing: FuturesUnordered::new(),
            calls: FuturesUnordered::new(),
        }
    }

    /// Watches the program until its outcome stands. Every exit of the loop leaves nothing in
    /// flight: the run has stopped it.
    async fn watch<S: Sandbox>(
        &mut self,
        sandbox: &S,
        program: &Program,
        invocation: &str,
        left: permit::Left,
    ) -> (Outcome, mpsc::UnboundedReceiver<Arrival>) {
        let (sender, mut arrivals) = mpsc::unbounded::<Arrival>();
        let host: Host = Rc::new(move |text| {
            let (reply, answer) = oneshot::channel();
            // Nobody receives any more once the attempt is over; then the answer is dropped too.
            let _ = sender.unbounded_send((text, reply));
            async move { answer.await.unwrap_or_else(|_| over()) }.boxed_local()
        });
        let limits = self.order.limits.clone();
        let evaluated = evaluate(sandbox, program, invocation, &limits, host).fuse();
        pin_mut!(evaluated, left);
        let recorder = self.recorder.clone();
        let db = Rc::clone(&self.db);
        let mut writing: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        let mut renewing: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        let mut polling: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        // A service may have been asked to stop before its run had a row.
        let mut renewed_at = if self.shift.is_some() { 0 } else { now_ms() };
        let mut polled_at = 0_u64;
        let mut pause: Fuse<LocalBoxFuture<'_, ()>> = Fuse::terminated();
        let mut pauses_until = 0_u64;
        loop {
            let now = now_ms();
            let due = recorder.due_in_ms(now);
            if writing.is_terminated_and(due == Some(0)) {
                writing = recorder.write().boxed_local().fuse();
            }
            if now.saturating_sub(renewed_at) >= RENEW_MS && renewing.is_terminated_and(true) {
                renewed_at = now;
                let (run, fence) = (self.order.run_id.clone(), self.order.fence);
                let db = &db;
                renewing =
                    async move { runs::renew(db, &run, fence, now).await }.boxed_local().fuse();
            }
            let asks = self.people.are_asked();
            if asks && now.saturating_sub(polled_at) >= ASK_MS && polling.is_terminated_and(true) {
                polled_at = now;
                let run = self.order.run_id.clone();
                let follows = self.people.follow_others();
                let db = &db;
                polling = async move {
                    let ended =
                        if follows { followed::of_run(db, &run).await? } else { Vec::new() };
                    Ok::<_, StoreError>((approvals::of_run(db, &run, now).await?, ended))
                }
                .boxed_local()
                .fuse();
            }
            if writing.is_terminated_and(recorder.is_idle()) && self.people.park(now) {
                self.run.on(now, Event::ParkTold);
            }
            let longest = if asks { ASK_MS } else { POLL_MS };
            let longest = due.filter(|ms| *ms > 0).unwrap_or(longest).min(longest);
            let look_at = now.saturating_add(self.run.sleep_ms(now).min(longest));
            // One that wakes sooner does no harm, and making one for each message is not for nothing.
            if pause.is_terminated_and(true) || look_at < pauses_until {
                pauses_until = look_at;
                pause = sleep_ms(look_at.saturating_sub(now)).boxed_local().fuse();
            }
            let event = select_biased! {
                arrival = arrivals.next() => match arrival {
                    Some(arrival) => self.arrived(arrival, program),
                    None => Some(Event::Tick),
                },
                ended = evaluated => Some(self.evaluated(ended, program)),
                returned = self.calls.select_next_some() => self.returned(returned),
                prepared = self.preparing.select_next_some() => self.prepared(prepared),
                written = writing => written.err().map(|error| Event::RecordLost(error.0)),
                why = left => Some(Event::Aborted(why)),
                lease = renewing => match lease {
                    Ok(runs::Lease::CancelAsked) => match &mut self.shift {
                        Some(shift) => {
                            shift.end(Why::Asked, now_ms());
                            None
                        }
                        None => Some(Event::Aborted("it was asked to end".to_owned())),
                    }
                    Ok(runs::Lease::Lost) if recorder.is_idle() => {
                        Some(Event::RecordLost("the lease is lost".to_owned()))
                    }
                    // A renewal that failed is no reason yet: the next one tells.
                    Ok(_) | Err(_) => None,
                },
                looked = polling => {
                    // A look that failed is no decision: the next one tells.
                    if let Ok((rows, runs)) = looked {
                        self.people.hear(&rows, &self.order.origin);
                        self.people.hear_of_runs(&runs);
                    }
                    None
                }
                () = pause => Some(Event::Tick),
            };
            let over = self.shift.as_mut().and_then(|shift| shift.look(now_ms()));
            let mut next = VecDeque::from_iter(event);
            next.extend(over.map(Event::Aborted));
            while let Some(event) = next.pop_front() {
                let commands = self.run.on(now_ms(), event);
                if let Some(outcome) = self.obey(commands, &mut next) {
                    return (outcome, arrivals);
                }
            }
        }
    }

    /// Reads a message; what the run is to be told of it.
    fn arrived(&mut self, (text, reply): Arrival, program: &Program) -> Option<Event> {
        let message = match Message::read(&text) {
            Ok(message) => message,
            Err(error) => {
                return Some(Event::SandboxFailed(
                    Fault::new(Code::SandboxGone, "The sandbox said what cannot be read.")
                        .caused_by(error),
                ));
            }
        };
        // Events first: a stored line has its whole past in the record.
        if let Err(unfit) = self.record.heard(message.base, message.events.clone()) {
            return Some(Event::SandboxFailed(journal::tampered(&unfit)));
        }
        self.flush();
        self.take_logs(&message.logs);
        match message.kind {
            Kind::Call | Kind::Step => {
                let arguments = message.arguments().to_owned();
                let step = message.kind == Kind::Step;
                let call = (message.path.as_str(), arguments.as_str());
                let issued = self.record.issue(message.n, call, &message.hash, message.at, step);
                self.flush();
                match issued {
                    Err(fault) => return Some(Event::SandboxFailed(fault)),
                    Ok(_) if step => {
                        answer(reply, "{}".to_owned());
                        return None;
                    }
                    Ok(Issued::Known) => return self.again(message.n, reply),
                    Ok(Issued::New) => {}
                }
                let argument_bytes = u64::try_from(arguments.len()).unwrap_or(u64::MAX);
                self.replies.insert(message.n, reply);
                self.arguments.insert(message.n, (message.path.clone(), arguments));
                Some(Event::DispatchArrived { n: message.n, path: message.path, argument_bytes })
            }
            Kind::Again => self.again(message.n, reply),
            Kind::Note => {
                answer(reply, "{}".to_owned());
                if message.delivered.is_some() && self.replayable > 0 {
                    self.replayable = self.replayable.saturating_sub(1);
                    self.replayed_at = Some(now_ms());
                    return Some(Event::Replayed);
                }
                Some(Event::Loaded)
            }
            Kind::Done => self.step_done(message.n, message.reply.as_deref(), reply),
            Kind::Decided => {
                if let (Some(line), Some(column)) = (message.line, message.column)
                    && let Some(place) = program.position(line, column)
                {
                    let (run, fence) = (&self.order.run_id, self.order.fence);
                    self.recorder.push([approvals::placed(run, fence, message.n, place.line)]);
                }
                self.people.await_decision(message.n, reply);
                None
            }
            Kind::Stop => {
                match &mut self.shift {
                    Some(shift) => shift.listens(reply),
                    None => answer(reply, "{}".to_owned()),
                }
                Some(Event::Loaded)
            }
            Kind::Quiet => {
                let segment = self.order.segment.as_ref();
                // On any other surface no sleep parks, whatever a harness says.
                let wake_at = segment.zip(message.until).map(|(of, until)| of.wake_at(until));
                let until = now_ms().saturating_add(self.order.hold_ms);
                self.people.quiet(until, wake_at, reply);
                Some(Event::Quiet)
            }
        }
    }

    /// Hands the recorder what the record has to store.
    fn flush(&mut self) {
        let entries = self.record.take();
        self.recorder.append(entries.iter().map(Entry::write));
    }

    fn take_logs(&mut self, lines: &[serde_json::Value]) {
        if lines.is_empty() {
            return;
        }
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = &self.order.limits;
        self.log.take(lines, size(limits.log_lines), size(limits.log_bytes));
        if self.log.lines().len() > self.logged {
            self.logged = self.log.lines().len();
            let lines = serde_json::to_string(self.log.lines()).unwrap_or_default();
            self.recorder.push([runs::log(&self.order.run_id, self.order.fence, &lines)]);
        }
    }

    fn evaluated(&mut self, ended: Result<End, Lost>, program: &Program) -> Event {
        match ended {
            Ok(mut end) => {
                let lines = std::mem::take(&mut end.logs);
                match end.kind {
                    // Another attempt goes on from what is stored.
                    EndKind::Parked => self.take_logs(&lines),
                    _ => self.take_end_logs(&lines),
                }
                Event::Evaluated(end)
            }
            Err(Lost::Refused(text)) => Event::SandboxFailed(program.refused(text)),
            Err(Lost::Fault(fault)) => Event::SandboxFailed(fault),
        }
    }

    /// The last lines need no row of their own: the response that is about to be stored has them.
    fn take_end_logs(&mut self, lines: &[serde_json::Value]) {
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = &self.order.limits;
        self.log.take(lines, size(limits.log_lines), size(limits.log_bytes));
    }
}

/// Runs the program to its end, told at the author's own place.
async fn evaluate<S: Sandbox>(
    sandbox: &S,
    program: &Program,
    invocation: &str,
    limits: &Limits,
    host: Host,
) -> Result<End, Lost> {
    let text = sandbox.evaluate(program.module(), invocation, limits, host).await?;
    let most = usize::try_from(limits.result_bytes)
        .unwrap_or(usize::MAX)
        .saturating_add(MAX_END_OVERHEAD_BYTES);
    if text.len() > most {
        let limit = limits.result_bytes;
        return Err(Lost::Fault(Fault::limit("resultBytes", "The result", None, limit, "bytes")));
    }
    let mut end = End::read(&text);
    if let Some((module, line, column)) = end.thrown_at() {
        let place = match module {
            PROGRAM => program.position(line, column),
            _ => sandbox.place(module, line, column).await,
        };
        end.place(place);
    }
    Ok(end)
}

/// What a call is told that comes when its run has ended.
fn over() -> String {
    let fault = Fault::new(Code::Cancelled, "The run has ended; nothing was called.");
    reply_of("", &Err(fault))
}

fn answer(to: oneshot::Sender<String>, text: String) {
    // The sandbox may be gone; then nobody wants to know.
    let _ = to.send(text);
}

/// Whether a slot of the loop is free, and something wants it.
trait Slot {
    fn is_terminated_and(&self, wanted: bool) -> bool;
}

impl<F: std::future::Future> Slot for Fuse<F> {
    fn is_terminated_and(&self, wanted: bool) -> bool {
        use futures_util::future::FusedFuture as _;
        wanted && self.is_terminated()
    }
}
