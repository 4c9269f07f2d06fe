//! The loop of an attempt: waits for what happens, tells the run, carries out what it commands.

use super::memory::{Memory, recorded};
use super::message::{Kind, Message};
use super::order::Order;
use super::people::People;
use super::permit;
use super::program::{Program, refused};
use super::recorder::Recorder;
use crate::code;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::exports::caller_left;
use crate::platform::random;
use crate::report::desk::{Circumstances, Desk};
use crate::run::end::{End, EndKind, MAX_END_OVERHEAD_BYTES};
use crate::run::journal::{
    self, Call, Entry, Issued, Nature, Next, Put, Record, Reply, Ruling, Unfit,
};
use crate::run::log::Log;
use crate::run::machine::{Command, Event, POLL_MS, Run};
use crate::run::outcome::{Outcome, Question, RunView};
use crate::run::value;
use crate::sandbox::{Host, Lost, NUMBERING, Sandbox};
use crate::store::db::{Db, StoreError};
use crate::store::journal::{self as store, Recording};
use crate::store::{approvals, dispatches, ledger, policies, runs};
use crate::tools::policy::{self, Action, Policy};
use crate::tools::schema;
use crate::tools::{Tools, reply_of};
use futures_channel::{mpsc, oneshot};
use futures_util::future::{AbortHandle, Fuse, FutureExt as _, LocalBoxFuture, abortable, join};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use futures_util::{pin_mut, select_biased};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// How often an attempt looks whether somebody decided, while people are asked.
const ASK_MS: u64 = 500;

/// The most of an argument that a person is shown, in bytes.
const MAX_SHOWN_BYTES: usize = 65_536;

/// How often an attempt gives a sign of life, and looks whether somebody asked for its end.
const RENEW_MS: u64 = 2_000;

/// The names that a program has without an import.
pub const AMBIENT: &[&str] =
    &["tools", "params", "sleep", "step", "emit", "storage", "packages", "workflows", "run"];

/// A tool call that came back: its number and what it came to; `None` when it was stopped.
type Returned = Option<(u32, Result<String, Fault>)>;

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
    let begun = async {
        if order.resumes {
            return Ok(permit::Waited::Begun { at: now_ms(), left });
        }
        permit::wait(&db, &order, config, left).await
    };
    let (begun, policy) = join(begun, policies::of(&db, &order.principal)).await;
    let (begun_at, left) = match begun? {
        permit::Waited::Begun { at, left } => (at, left),
        permit::Waited::Left(why) => {
            return Err(Fault::new(Code::Cancelled, format!("The run was cancelled: {why}.")));
        }
    };
    let memory =
        if order.resumes { Memory::recall(&db, &order).await? } else { Memory::fresh(&order)? };
    let recorder = Recorder::new(Rc::clone(&db), &order.run_id, order.fence);
    let mut attempt = Attempt::new(order, db, tools, recorder, memory, begun_at);
    match policy {
        Ok(policy) => attempt.policy = policy,
        Err(error) => return attempt.end(desk, Outcome::Failed(error.into()), None).await,
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
        "export": order.package.as_ref().map(|package| &package.export),
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
    record: Record,
    seed: String,
    policy: Policy,
    people: People,
    /// Settlements that a replay may still report as progress.
    replayable: usize,
    log: Log,
    logged: usize,
    warnings: Vec<String>,
    arguments: BTreeMap<u32, (String, String)>,
    replies: BTreeMap<u32, oneshot::Sender<String>>,
    stops: BTreeMap<u32, AbortHandle>,
    calls: FuturesUnordered<LocalBoxFuture<'static, Returned>>,
}

impl Attempt {
    fn new(
        order: Order,
        db: Rc<Db>,
        tools: Tools,
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
        if !order.resumes {
            let request = order.kept().unwrap_or_default();
            recorder.push([store::begin(&Recording {
                run: &order.run_id,
                fence: order.fence,
                seed: &seed,
                harness: NUMBERING,
                request: &request,
            })]);
        }
        let mut people = People::default();
        people.hear(&approvals, &order.origin);
        Self {
            order,
            db,
            tools: Rc::new(tools),
            recorder,
            run,
            seed,
            policy: Policy::default(),
            people,
            replayable: journal.settlements(),
            record: Record::resumed(journal),
            logged: lines.len(),
            log: Log::resumed(lines),
            warnings: Vec::new(),
            arguments: BTreeMap::new(),
            replies: BTreeMap::new(),
            stops: BTreeMap::new(),
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
        let evaluated = sandbox.evaluate(program.module(), invocation, &limits, host).fuse();
        pin_mut!(evaluated, left);
        let recorder = self.recorder.clone();
        let db = Rc::clone(&self.db);
        let mut writing: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        let mut renewing: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        let mut polling: Fuse<LocalBoxFuture<'_, _>> = Fuse::terminated();
        let mut renewed_at = now_ms();
        let mut polled_at = 0_u64;
        loop {
            if writing.is_terminated_and(!recorder.is_idle()) {
                writing = recorder.write().boxed_local().fuse();
            }
            let now = now_ms();
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
                let db = &db;
                polling =
                    async move { approvals::of_run(db, &run, now).await }.boxed_local().fuse();
            }
            if writing.is_terminated_and(recorder.is_idle()) && self.people.park(now) {
                self.run.on(now, Event::ParkTold);
            }
            let longest = if asks { ASK_MS } else { POLL_MS };
            let pause = sleep_ms(self.run.sleep_ms(now).min(longest)).fuse();
            pin_mut!(pause);
            let event = select_biased! {
                arrival = arrivals.next() => match arrival {
                    Some(arrival) => self.arrived(arrival),
                    None => Some(Event::Tick),
                },
                ended = evaluated => Some(self.evaluated(ended, program)),
                returned = self.calls.select_next_some() => self.returned(returned),
                written = writing => written.err().map(|error| Event::RecordLost(error.0)),
                why = left => Some(Event::Aborted(why)),
                lease = renewing => match lease {
                    Ok(runs::Lease::CancelAsked) => {
                        Some(Event::Aborted("it was asked to end".to_owned()))
                    }
                    Ok(runs::Lease::Lost) if recorder.is_idle() => {
                        Some(Event::RecordLost("the lease is lost".to_owned()))
                    }
                    // A renewal that failed is no reason yet: the next one tells.
                    Ok(_) | Err(_) => None,
                },
                rows = polling => {
                    // A look that failed is no decision: the next one tells.
                    if let Ok(rows) = rows {
                        self.people.hear(&rows, &self.order.origin);
                    }
                    None
                }
                () = pause => Some(Event::Tick),
            };
            let mut next = VecDeque::from_iter(event);
            while let Some(event) = next.pop_front() {
                let commands = self.run.on(now_ms(), event);
                if let Some(outcome) = self.obey(commands, &mut next) {
                    return (outcome, arrivals);
                }
            }
        }
    }

    /// Reads a message; what the run is to be told of it.
    fn arrived(&mut self, (text, reply): Arrival) -> Option<Event> {
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
                    return Some(Event::Replayed);
                }
                Some(Event::Loaded)
            }
            Kind::Done => self.step_done(message.n, message.reply.as_deref(), reply),
            Kind::Decided => {
                self.people.await_decision(message.n, reply);
                None
            }
            Kind::Quiet => {
                self.people.quiet(now_ms().saturating_add(self.order.hold_ms), reply);
                Some(Event::Quiet)
            }
        }
    }

    /// A recorded call is asked for: its recorded answer, or it goes its way as the record says.
    fn again(&mut self, n: u32, reply: oneshot::Sender<String>) -> Option<Event> {
        let calls = self.record.journal().calls();
        let known = usize::try_from(n).ok().and_then(|place| calls.get(place));
        let Some(known) = known.filter(|call| call.reply.is_some() || !call.is_step()) else {
            let unfit = Unfit(format!("call {n} again"));
            return Some(Event::SandboxFailed(journal::tampered(&unfit)));
        };
        if let Some(recorded) = &known.reply {
            answer(reply, recorded.text.clone());
            return None;
        }
        // The newest one asking for a number gets its answer; an older one is let go.
        self.replies.insert(n, reply);
        self.arguments.insert(n, (known.path.clone(), known.args.clone()));
        Some(Event::DispatchAgain { n })
    }

    /// What a step's function gave is recorded, unless something is: that stands.
    fn step_done(
        &mut self,
        n: u32,
        gave: Option<&RawValue>,
        reply: oneshot::Sender<String>,
    ) -> Option<Event> {
        let calls = self.record.journal().calls();
        let step = usize::try_from(n).ok().and_then(|n| calls.get(n)).is_some_and(Call::is_step);
        let (true, Some(gave)) = (step, gave) else {
            let unfit = Unfit(format!("step {n} is done"));
            return Some(Event::SandboxFailed(journal::tampered(&unfit)));
        };
        let given = Reply { text: gave.get().to_owned(), fault: None };
        let recorded = self.record.replied(n, given);
        self.flush();
        answer(reply, recorded.map_or_else(|_| over(), |recorded| recorded.text));
        None
    }

    /// Hands the recorder what the record has to store.
    fn flush(&mut self) {
        let entries = self.record.take();
        self.recorder.append(entries.iter().map(Entry::write));
    }

    /// Records an answer and gives the one that stands.
    fn record_reply(&mut self, n: u32, text: String, fault: Option<Fault>) -> String {
        let recorded = self.record.replied(n, Reply { text: text.clone(), fault });
        self.flush();
        recorded.map_or(text, |recorded| recorded.text)
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

    fn evaluated(&mut self, ended: Result<String, Lost>, program: &Program) -> Event {
        let most = usize::try_from(self.order.limits.result_bytes)
            .unwrap_or(usize::MAX)
            .saturating_add(MAX_END_OVERHEAD_BYTES);
        match ended {
            Ok(text) if text.len() > most => {
                let fault = Fault::limit(
                    "resultBytes",
                    "The result",
                    None,
                    self.order.limits.result_bytes,
                    "bytes",
                );
                Event::SandboxFailed(fault)
            }
            Ok(text) => {
                let mut end = End::read(&text);
                let lines = std::mem::take(&mut end.logs);
                match end.kind {
                    // Another attempt goes on from what is stored.
                    EndKind::Parked => self.take_logs(&lines),
                    _ => self.take_end_logs(&lines),
                }
                end.place(|line, column| program.position(line, column));
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

    fn returned(&mut self, returned: Returned) -> Option<Event> {
        // `None`: the call was stopped, and the run knows.
        let (n, answered) = returned?;
        self.stops.remove(&n);
        let path = self.path_of(n);
        let reply = reply_of(&path, &answered);
        let ending = match &answered {
            Ok(_) => dispatches::Ending::Returned,
            Err(_) => dispatches::Ending::Failed,
        };
        self.record_end(n, ending, &reply);
        let reply = self.record_reply(n, reply, answered.as_ref().err().cloned());
        if let Some(to) = self.replies.remove(&n) {
            answer(to, reply);
        }
        self.arguments.remove(&n);
        Some(Event::DispatchReturned { n, fault: answered.err() })
    }

    fn path_of(&self, n: u32) -> String {
        self.arguments.get(&n).map(|(path, _)| path.clone()).unwrap_or_default()
    }

    fn record_end(&self, n: u32, ending: dispatches::Ending, reply: &str) {
        let (run, fence) = (&self.order.run_id, self.order.fence);
        self.recorder.push([dispatches::ended(run, fence, n, ending, reply, now_ms())]);
    }

    /// Carries out commands; the outcome when it stands. What follows at once goes to `next`.
    fn obey(&mut self, commands: Vec<Command>, next: &mut VecDeque<Event>) -> Option<Outcome> {
        let mut outcome = None;
        for command in commands {
            match command {
                Command::Call { n } => next.extend(self.dispatch(n)),
                Command::Refuse { n, fault } => {
                    let path = self.path_of(n);
                    let mut text = reply_of(&path, &Err(fault.clone()));
                    // Once the outcome is decided nothing that the program hears matters.
                    if !self.run.is_decided() {
                        text = self.record_reply(n, text, Some(fault));
                    }
                    if let Some(to) = self.replies.remove(&n) {
                        answer(to, text);
                    }
                    if !self.stops.contains_key(&n) {
                        self.arguments.remove(&n);
                    }
                }
                Command::Stop { n } => {
                    if let Some(stop) = self.stops.remove(&n) {
                        stop.abort();
                        self.record_end(n, dispatches::Ending::Stopped, "null");
                    }
                }
                Command::Finish(ended) => outcome = Some(*ended),
            }
        }
        outcome
    }

    /// A call has its place in flight: it is made, asked about, or answered.
    fn dispatch(&mut self, n: u32) -> Option<Event> {
        let (path, arguments) = self.arguments.get(&n).cloned()?;
        let reads = self.tools.only_reads(&path);
        let nature = Nature { reads, repeatable: reads };
        let put = self.people.put(n);
        let decided = matches!(put, Put::Decided(_));
        let plain = || {
            let plain = value::plain(&arguments).ok();
            plain
                .and_then(|(text, _)| serde_json::from_str::<Value>(&text).ok())
                .unwrap_or_default()
        };
        let mut ruled = None;
        let next = self.record.next(n, nature, put, || {
            let ruling = self.policy.decide(&path, &plain(), self.tools.declares(&path));
            let answer = match ruling.action {
                Action::Ask if !self.people.granted(&path) => Ruling::Ask,
                Action::Allow | Action::Ask => Ruling::Allow,
                Action::Block => Ruling::Block(ruling.blocked(&path)),
            };
            ruled = Some(ruling);
            answer
        });
        // The question first: were the entry stored alone, nobody would ever be asked.
        if next == Ok(Next::Ask)
            && let Some(ruled) = &ruled
            && let Err(fault) = self.ask(n, &path, &plain(), ruled)
        {
            return Some(Event::SandboxFailed(fault));
        }
        self.flush();
        if decided {
            self.recorder.push([approvals::used(&self.order.run_id, self.order.fence, n)]);
        }
        match next {
            Err(unfit) => Some(Event::SandboxFailed(journal::tampered(&unfit))),
            Ok(Next::Call) => {
                self.call(n, &path, &arguments);
                None
            }
            Ok(Next::Ask | Next::Wait) => {
                self.reply(n, r#"{"waiting":true}"#.to_owned());
                Some(Event::DispatchWaits { n })
            }
            Ok(Next::Answer(recorded)) => {
                self.reply(n, recorded.text);
                self.arguments.remove(&n);
                Some(Event::DispatchReturned { n, fault: recorded.fault })
            }
            Ok(Next::Refuse(fault)) => {
                let text = reply_of(&path, &Err(fault.clone()));
                let text = self.record_reply(n, text, Some(fault.clone()));
                self.reply(n, text);
                self.arguments.remove(&n);
                Some(Event::DispatchReturned { n, fault: Some(fault) })
            }
        }
    }

    fn reply(&mut self, n: u32, text: String) {
        if let Some(to) = self.replies.remove(&n) {
            answer(to, text);
        }
    }

    /// Puts a question to people: its row stands behind the call's own entry.
    fn ask(
        &mut self,
        n: u32,
        path: &str,
        arguments: &Value,
        ruled: &policy::Decision,
    ) -> Result<(), Fault> {
        let run = &self.order.run_id;
        let id = random::id("apr").map_err(|error| Fault::internal(run, error.to_string()))?;
        let mut shown = policy::redacted(arguments).to_string();
        if shown.len() > MAX_SHOWN_BYTES {
            let mut end = MAX_SHOWN_BYTES;
            while !shown.is_char_boundary(end) {
                end = end.saturating_sub(1);
            }
            shown.truncate(end);
        }
        let rule = serde_json::to_string(&ruled.rule).unwrap_or_default();
        let now = now_ms();
        let expires_at = now.saturating_add(ruled.window_ms);
        self.recorder.push([approvals::ask(&approvals::Asking {
            id: &id,
            principal: &self.order.principal,
            run,
            fence: self.order.fence,
            n,
            path,
            arguments: &shown,
            rule: &rule,
            now,
            expires_at,
        })]);
        let approve_url = format!("{}/approvals/{id}", self.order.origin);
        self.people.asked(n, Question { id, tool: path.to_owned(), approve_url, expires_at });
        Ok(())
    }

    fn call(&mut self, n: u32, path: &str, arguments: &str) {
        let (path, arguments) = (path.to_owned(), arguments.to_owned());
        let (run, fence) = (&self.order.run_id, self.order.fence);
        self.recorder.push([dispatches::called(run, fence, n, &path, &arguments, now_ms())]);
        let recorder = self.recorder.clone();
        let tools = Rc::clone(&self.tools);
        let called = async move {
            if !tools.only_reads(&path) {
                // Written down before it is called: if the isolate dies in between, whoever looks
                // must find that the call may have had its effect.
                recorder.stored().await;
            }
            tools.call(&path, &arguments).await
        };
        let (called, stop) = abortable(called);
        self.stops.insert(n, stop);
        self.calls.push(async move { called.await.ok().map(|answer| (n, answer)) }.boxed_local());
    }

    /// Stores the outcome and gives the response, byte for byte as it is stored.
    async fn end(
        mut self,
        desk: &Desk,
        outcome: Outcome,
        arrivals: Option<mpsc::UnboundedReceiver<Arrival>>,
    ) -> Result<String, Fault> {
        // What was in flight is stopped; dropping the futures lets their connections go.
        self.calls = FuturesUnordered::new();
        let now = now_ms();
        let outcome = self.with_plain_result(outcome);
        if let Some(fault) = outcome.fault() {
            let surface = Some(self.order.surface.as_str());
            desk.take(fault, &Circumstances { surface, run: Some(&self.order.run_id) });
        }
        let response = self.response(&outcome, now);
        let error = outcome.fault().map(|fault| (fault.code.entry().code, fault.kind().word()));
        let (run, fence) = (&self.order.run_id, self.order.fence);
        if outcome == Outcome::Parked {
            self.recorder.push([store::park(run, fence)]);
        } else {
            self.recorder.push([approvals::drop_open(run, fence, now)]);
            self.recorder.push(store::forget(run, fence));
            self.recorder.push(runs::end(&runs::Ending {
                id: run,
                fence,
                status: outcome.status(),
                error: error.as_ref().map(|(code, kind)| (*code, kind.as_str())),
                ended_at: now,
                response: &response,
            }));
        }
        let recorder = self.recorder.clone();
        let written = async move {
            while !recorder.is_idle() {
                recorder.write().await?;
            }
            Ok::<(), StoreError>(())
        }
        .fuse();
        pin_mut!(written);
        let written = match arrivals {
            None => written.await,
            Some(mut arrivals) => loop {
                select_biased! {
                    written = written => break written,
                    arrival = arrivals.next() => {
                        // A late call: the program is told that its run has ended.
                        if let Some((_, reply)) = arrival {
                            answer(reply, over());
                        }
                    },
                }
            },
        };
        if let Err(error) = written {
            return Ok(self.unstored(desk, &outcome, now, error).await);
        }
        if self.recorder.changed() == 0 {
            // Whoever took the run over, or the first of two writes, has the word.
            return Ok(runs::response(&self.db, &self.order.run_id).await?.unwrap_or(response));
        }
        Ok(response)
    }

    /// The outcome could not be stored: it is still answered, and says so.
    async fn unstored(
        &mut self,
        desk: &Desk,
        outcome: &Outcome,
        now: u64,
        error: StoreError,
    ) -> String {
        if let Ok(Some(stored)) = runs::response(&self.db, &self.order.run_id).await {
            return stored;
        }
        let message = "The outcome of a run could not be stored.";
        let fault = Fault::new(Code::RecordLost, message).caused_by(error.0);
        let surface = Some(self.order.surface.as_str());
        desk.take(&fault, &Circumstances { surface, run: Some(&self.order.run_id) });
        // Under a key it is not run again: it was done, and is being answered.
        if self.order.claim.is_some()
            && let Err(error) = self.db.run(&ledger::lose_answer(&self.order.run_id)).await
        {
            worker::console_error!("run {}: its key: {error}", self.order.run_id);
        }
        self.warnings.push(
            "This outcome could not be stored: looking the run up will not show it.".to_owned(),
        );
        self.response(outcome, now)
    }

    /// Turns the program's tagged value into its plain form, once; what was lost is a warning.
    fn with_plain_result(&mut self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Completed(tagged) => match value::plain(&tagged) {
                Ok((plain, lost)) => {
                    self.warnings.extend(lost);
                    self.unfit(&plain).map_or(Outcome::Completed(plain), Outcome::Failed)
                }
                Err(error) => Outcome::Failed(
                    Fault::new(Code::SandboxGone, "The sandbox answered what cannot be read.")
                        .caused_by(error.to_string()),
                ),
            },
            other => other,
        }
    }

    /// The fault of a result that does not fit what its export promises.
    fn unfit(&self, plain: &str) -> Option<Fault> {
        let package = self.order.package.as_ref()?;
        let schema = package.result.as_ref()?;
        let result = serde_json::from_str(plain).ok()?;
        let problem = schema::validate(schema, &result, "result").into_iter().next()?;
        let message = format!("The result does not fit its schema: {problem}.");
        Some(Fault::new(Code::RuntimeError, message).with("path", problem.path))
    }

    fn response(&self, outcome: &Outcome, now: u64) -> String {
        let result = match outcome {
            Outcome::Completed(plain) => RawValue::from_string(plain.clone()).ok(),
            _ => None,
        };
        let mut warnings = self.warnings.clone();
        warnings.extend(self.run.warnings().iter().cloned());
        let fault = outcome.fault();
        let status = outcome.status();
        let questions = match outcome {
            Outcome::Parked => self.people.questions(),
            _ => Vec::new(),
        };
        let view = RunView {
            id: &self.order.run_id,
            status,
            outcome: status.is_final().then_some(status),
            approvals: &questions,
            result: result.as_deref(),
            error: fault.map(|fault| fault.message.as_str()),
            error_details: fault.map(Fault::to_json),
            emitted: &self.tools.emitted(),
            logs: self.log.lines(),
            warnings: &warnings,
            timing: self.run.timing(self.order.arrived_at, now),
            surface: self.order.surface,
            label: self.order.label.as_deref(),
            created_at: self.order.arrived_at,
            ended_at: status.is_final().then_some(now),
        };
        serde_json::to_string(&view).unwrap_or_else(|_| "{}".to_owned())
    }
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
