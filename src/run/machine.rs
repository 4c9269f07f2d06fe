//! The run itself: events in, commands out.
//!
//! One [`Run`] lives as long as one attempt. Its caller tells it what happened and when
//! ([`Event`]), carries out what it answers ([`Command`]), and comes back at the latest after
//! [`Run::sleep_ms`]. What it guarantees, whatever order events come in:
//!
//! - exactly one [`Command::Finish`], and nothing after it;
//! - every dispatch that arrived is answered exactly once: with the tool's reply, a refusal, or
//!   because the run has ended;
//! - no tool is called after the outcome is decided, and what is in flight then is stopped;
//! - whatever hangs, ends: creation, the budget, a dispatch, the attempt each have their limit.

use super::end::{End, EndKind, Threw};
use super::limits::Limits;
use super::outcome::{Outcome, Timing};
use super::watchdog::Watch;
use crate::error::{Code, Fault};
use std::collections::{BTreeMap, VecDeque};

/// How long after the budget the host waits for the harness's own, politer end.
pub const GRACE_MS: u64 = 200;

/// How long after a decided end the host waits for the sandbox's last log lines.
pub const DRAIN_MS: u64 = 100;

/// The longest sleep between two looks at the clocks.
pub const POLL_MS: u64 = 1_000;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The sandbox exists and its program is being started.
    Loaded,
    /// The program made a call.
    DispatchArrived {
        /// Its number, from 0, in the order of issue.
        n: u32,
        /// The tool.
        path: String,
        /// Size of its argument as tagged JSON.
        argument_bytes: u64,
    },
    /// A tool call that was commanded came back.
    DispatchReturned {
        /// Its number.
        n: u32,
        /// What it failed with, if it did.
        fault: Option<Fault>,
    },
    /// A person has to decide about a call that was commanded: nothing was called.
    DispatchWaits {
        /// Its number.
        n: u32,
    },
    /// The program asks again for a call that waits for a person, or that is recorded without an
    /// answer.
    DispatchAgain {
        /// Its number.
        n: u32,
    },
    /// The program waits for people only; its time stands still.
    Quiet,
    /// The program was told to park.
    ParkTold,
    /// A replay came further by a recorded settlement: compute that was granted before is granted
    /// again.
    Replayed,
    /// The sandbox answered.
    Evaluated(End),
    /// The sandbox could not be made, or was lost; told by whoever recognised the platform's words.
    SandboxFailed(Fault),
    /// The caller left or asked for the end; why, for the message.
    Aborted(String),
    /// The record cannot be written any more.
    RecordLost(String),
    /// Nothing, but time has passed.
    Tick,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Call the tool of dispatch `n`.
    Call {
        /// Its number.
        n: u32,
    },
    /// Answer dispatch `n` with an error, without (or in spite of) a call.
    Refuse {
        /// Its number.
        n: u32,
        /// What it is told.
        fault: Fault,
    },
    /// Stop the tool call of dispatch `n`; nobody waits for it any more.
    Stop {
        /// Its number.
        n: u32,
    },
    /// The outcome stands. Withdraw the host function, store, answer.
    Finish(Box<Outcome>),
}

#[derive(Debug)]
enum State {
    /// The sandbox is being made.
    Creating,
    /// The program runs.
    Watching,
    /// The outcome is decided; the last log lines may still come.
    Draining { until: u64, outcome: Box<Outcome> },
    /// Over.
    Ended,
}

#[derive(Debug)]
struct Call {
    path: String,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    /// Recorded by an earlier attempt, without an answer.
    Recorded,
    /// Waits for a person.
    Waiting,
    /// Waits for a place in flight.
    InLine,
    /// Called at this time.
    Called(u64),
    /// Answered; with what fault, if it failed.
    Answered(Option<Box<Fault>>),
}

/// One attempt of a run.
#[derive(Debug)]
pub struct Run {
    limits: Limits,
    state: State,
    created_at: u64,
    /// It goes on from its record.
    resumed: bool,
    watch: Watch,
    calls: BTreeMap<u32, Call>,
    line: VecDeque<u32>,
    called: u64,
    warnings: Vec<String>,
    clock: Clock,
    /// Since when only people are waited for, and how long that took before.
    quiet_since: Option<u64>,
    people_ms: u64,
    park_told: bool,
}

/// A call of an earlier attempt: the tool, and once it has answered what it failed with, if it did.
pub type Recorded = (String, Option<Option<Fault>>);

/// Sums up where the time went.
#[derive(Debug)]
struct Clock {
    loaded_ms: u64,
    tools_ms: u64,
    loaded_at: Option<u64>,
    tools_since: Option<u64>,
    ended_at: Option<u64>,
}

impl Run {
    /// A run whose sandbox is being made from `now` on.
    #[must_use]
    pub fn new(limits: Limits, now: u64) -> Self {
        Self {
            limits,
            state: State::Creating,
            created_at: now,
            resumed: false,
            watch: Watch::new(now),
            calls: BTreeMap::new(),
            line: VecDeque::new(),
            called: 0,
            warnings: Vec::new(),
            quiet_since: None,
            people_ms: 0,
            park_told: false,
            clock: Clock {
                loaded_ms: 0,
                tools_ms: 0,
                loaded_at: None,
                tools_since: None,
                ended_at: None,
            },
        }
    }

    /// A run that goes on from its record. What was called counts towards its limits.
    #[must_use]
    pub fn resumed(limits: Limits, now: u64, recorded: Vec<(u32, Recorded)>) -> Self {
        let mut run = Self { resumed: true, ..Self::new(limits, now) };
        for (n, (path, answer)) in recorded {
            run.called = run.called.saturating_add(1);
            let state = match answer {
                Some(fault) => CallState::Answered(fault.map(Box::new)),
                None => CallState::Recorded,
            };
            run.calls.insert(n, Call { path, state });
        }
        run
    }

    /// Takes an event and says what to do. `now` is Unix ms.
    pub fn on(&mut self, now: u64, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Loaded => self.loaded(now),
            Event::DispatchArrived { n, path, argument_bytes } => {
                self.arrived(now, n, path, argument_bytes, &mut commands);
            }
            Event::DispatchReturned { n, fault } => self.returned(now, n, fault, &mut commands),
            Event::DispatchWaits { n } => self.waits(now, n, &mut commands),
            Event::DispatchAgain { n } => self.again(now, n, &mut commands),
            Event::Quiet => {
                self.quiet_since.get_or_insert(now);
            }
            Event::ParkTold => self.park_told = true,
            Event::Replayed => {
                self.loaded(now);
                self.watch.last_returned_at = Some(now);
            }
            Event::Evaluated(end) => self.evaluated(now, end, &mut commands),
            Event::SandboxFailed(fault) => {
                let fault = self.begun(fault);
                self.decide(now, Outcome::Failed(fault), false, &mut commands);
            }
            Event::Aborted(why) => {
                let fault = Fault::new(Code::Cancelled, format!("The run was cancelled: {why}."));
                self.decide(now, Outcome::Cancelled(fault), true, &mut commands);
            }
            Event::RecordLost(cause) => {
                let message =
                    "The record of the run could not be written; nothing further was run.";
                let fault = Fault::new(Code::RecordLost, message).caused_by(cause);
                self.decide(now, Outcome::Failed(fault), true, &mut commands);
            }
            Event::Tick => {}
        }
        self.look_at_clocks(now, &mut commands);
        commands
    }

    /// How long the caller may sleep before the next [`Event::Tick`], in milliseconds: at most
    /// [`POLL_MS`], less when less is left, so that a budget of 40 ms is kept as exactly as one of
    /// 90 s.
    #[must_use]
    pub fn sleep_ms(&self, now: u64) -> u64 {
        let left = match &self.state {
            State::Ended => return POLL_MS,
            State::Creating => self.create_left(now),
            State::Draining { until, .. } => until.saturating_sub(now),
            State::Watching => {
                let budget = self.limits.budget_ms.saturating_add(GRACE_MS);
                let own = if self.watch.in_flight > 0 {
                    POLL_MS
                } else {
                    self.watch.left_ms(budget, now).unwrap_or(0)
                };
                let calls = self.calls.values().filter_map(|call| match call.state {
                    CallState::Called(at) if has_limit(&call.path) => {
                        Some(at.saturating_add(self.limits.dispatch_ms).saturating_sub(now))
                    }
                    _ => None,
                });
                calls.fold(own.min(self.ceiling_left(now)), u64::min)
            }
        };
        left.clamp(1, POLL_MS)
    }

    /// Whether the run knows the call, answered or not.
    #[must_use]
    pub fn is_answered(&self, n: u32) -> bool {
        self.calls.get(&n).is_some_and(|call| matches!(call.state, CallState::Answered(_)))
    }

    /// Whether the outcome is decided: from then on no effect may begin.
    #[must_use]
    pub const fn is_decided(&self) -> bool {
        matches!(self.state, State::Draining { .. } | State::Ended)
    }

    /// What was lost or should be known.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// When the program could start; `None` before.
    #[must_use]
    pub const fn loaded_at(&self) -> Option<u64> {
        self.clock.loaded_at
    }

    /// Where the time went, for a request that arrived at `arrived_at`.
    #[must_use]
    pub fn timing(&self, arrived_at: u64, now: u64) -> Timing {
        let end = self.clock.ended_at.unwrap_or(now);
        let tools_ms = self
            .clock
            .tools_ms
            .saturating_add(self.clock.tools_since.map_or(0, |since| end.saturating_sub(since)));
        let since_loaded = self.clock.loaded_at.map_or(0, |at| end.saturating_sub(at));
        let before = self.created_at.saturating_sub(arrived_at);
        let (earlier_ms, queued_ms) = if self.resumed { (Some(before), 0) } else { (None, before) };
        Timing {
            queued_ms,
            earlier_ms,
            loaded_ms: self.clock.loaded_ms,
            compute_ms: since_loaded.saturating_sub(tools_ms),
            tools_ms,
            total_ms: end.saturating_sub(arrived_at),
        }
    }

    fn loaded(&mut self, now: u64) {
        if matches!(self.state, State::Creating) {
            self.state = State::Watching;
            self.watch = Watch::new(now);
            self.clock.loaded_at = Some(now);
            self.clock.loaded_ms = now.saturating_sub(self.created_at);
        }
    }

    fn arrived(
        &mut self,
        now: u64,
        n: u32,
        path: String,
        argument_bytes: u64,
        commands: &mut Vec<Command>,
    ) {
        // A call is proof that the program runs, whatever order the events came in.
        self.loaded(now);
        self.people_decided(now);
        if !matches!(self.state, State::Watching) {
            commands.push(Command::Refuse { n, fault: ended_already(&path) });
            return;
        }
        if self.calls.contains_key(&n) {
            let fault = Fault::new(Code::ToolFailed, format!("{path}: call {n} was made before."));
            commands.push(Command::Refuse { n, fault });
            return;
        }
        if let Some(fault) = self.refusal(&path, argument_bytes) {
            let answered = CallState::Answered(Some(Box::new(fault.clone())));
            self.calls.insert(n, Call { path, state: answered });
            commands.push(Command::Refuse { n, fault });
            // Asking and being refused is no rest for the watchdog, and no way round it either.
            return;
        }
        self.called = self.called.saturating_add(1);
        self.watch.arrived();
        self.clock.tools_since.get_or_insert(now);
        self.calls.insert(n, Call { path, state: CallState::InLine });
        self.line.push_back(n);
        self.advance_line(now, commands);
    }

    fn refusal(&self, path: &str, argument_bytes: u64) -> Option<Fault> {
        if argument_bytes > self.limits.argument_bytes {
            let what = format!("{path}: the argument");
            let limit = self.limits.argument_bytes;
            let fault = Fault::limit("argumentBytes", &what, Some(argument_bytes), limit, "bytes");
            return Some(fault.with("tool", path));
        }
        if self.called >= self.limits.dispatches {
            let limit = self.limits.dispatches;
            let message = format!(
                "All {limit} dispatches of this run are used; {path} was not called. 0 are left."
            );
            let fault = Fault::new(Code::LimitExceeded, message)
                .with("limitName", "dispatches")
                .with("limit", limit)
                .with("left", 0)
                .with("tool", path)
                .with_next_step(
                    "Answer from what you have, or ask for more with one call: many tools take \
                     a list. Split the work into several runs if it needs more calls.",
                );
            return Some(fault);
        }
        None
    }

    fn advance_line(&mut self, now: u64, commands: &mut Vec<Command>) {
        let mut free = self.limits.in_flight.saturating_sub(self.called_now());
        while free > 0
            && let Some(n) = self.line.pop_front()
        {
            if let Some(call) = self.calls.get_mut(&n) {
                call.state = CallState::Called(now);
                commands.push(Command::Call { n });
                free = free.saturating_sub(1);
            }
        }
    }

    fn called_now(&self) -> u64 {
        let called = |call: &&Call| matches!(call.state, CallState::Called(_));
        u64::try_from(self.calls.values().filter(called).count()).unwrap_or(u64::MAX)
    }

    /// A call waits for a person: it holds no place in flight, and the budget stands.
    fn waits(&mut self, now: u64, n: u32, commands: &mut Vec<Command>) {
        if let Some(call) = self.calls.get_mut(&n)
            && matches!(call.state, CallState::Called(_))
        {
            call.state = CallState::Waiting;
            self.advance_line(now, commands);
        }
    }

    fn again(&mut self, now: u64, n: u32, commands: &mut Vec<Command>) {
        self.loaded(now);
        self.people_decided(now);
        let Some(call) = self.calls.get_mut(&n) else { return };
        if !matches!(self.state, State::Watching) {
            commands.push(Command::Refuse { n, fault: ended_already(&call.path) });
            return;
        }
        match call.state {
            CallState::Recorded => {
                self.watch.arrived();
                self.clock.tools_since.get_or_insert(now);
            }
            CallState::Waiting => {}
            CallState::InLine | CallState::Called(_) | CallState::Answered(_) => return,
        }
        call.state = CallState::InLine;
        self.line.push_back(n);
        self.advance_line(now, commands);
    }

    /// The program's time goes on.
    fn people_decided(&mut self, now: u64) {
        self.park_told = false;
        if let Some(since) = self.quiet_since.take() {
            self.people_ms = self.people_ms.saturating_add(now.saturating_sub(since));
        }
    }

    fn returned(&mut self, now: u64, n: u32, fault: Option<Fault>, commands: &mut Vec<Command>) {
        let Some(call) = self.calls.get_mut(&n) else { return };
        if !matches!(call.state, CallState::Called(_)) {
            return;
        }
        call.state = CallState::Answered(fault.map(Box::new));
        self.rest(now);
        if matches!(self.state, State::Watching) {
            self.advance_line(now, commands);
        }
    }

    /// A dispatch is no longer in flight: a fresh budget begins when it was the last.
    fn rest(&mut self, now: u64) {
        self.watch.returned(now);
        if self.watch.in_flight == 0
            && let Some(since) = self.clock.tools_since.take()
        {
            self.clock.tools_ms = self.clock.tools_ms.saturating_add(now.saturating_sub(since));
        }
    }

    fn evaluated(&mut self, now: u64, end: End, commands: &mut Vec<Command>) {
        self.loaded(now);
        for warning in end.warnings {
            // Bounded: a tampered harness could send a million.
            if self.warnings.len() < 32 {
                self.warnings.push(cut(warning, 1_024));
            }
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Draining { outcome, .. } => {
                self.state = State::Ended;
                // On a busy machine the harness comes late to say why the budget was spent.
                let hopeless = matches!(end.kind, EndKind::Deadlocked)
                    && outcome.fault().is_some_and(|fault| fault.code == Code::BudgetSpent);
                let outcome =
                    if hopeless { Box::new(Outcome::Failed(deadlocked())) } else { outcome };
                commands.push(Command::Finish(outcome));
            }
            State::Ended => {}
            State::Creating | State::Watching => {
                self.state = State::Watching;
                for n in &end.open {
                    if let Some(call) = self.calls.get(n)
                        && matches!(call.state, CallState::Called(_) | CallState::InLine)
                        && self.warnings.len() < 32
                    {
                        self.warnings.push(format!(
                            "{} (call {n}) was still open when the program ended and was stopped.",
                            call.path
                        ));
                    }
                }
                let outcome = match end.kind {
                    EndKind::Parked if self.park_told => Outcome::Parked,
                    kind => self.outcome_of(kind),
                };
                self.decide(now, outcome, false, commands);
            }
        }
    }

    fn outcome_of(&self, end: EndKind) -> Outcome {
        let limits = &self.limits;
        let fault = match end {
            EndKind::Finished(value) => {
                let bytes = u64::try_from(value.len()).unwrap_or(u64::MAX);
                if bytes <= limits.result_bytes {
                    return Outcome::Completed(value);
                }
                result_too_large(Some(bytes), limits.result_bytes)
            }
            EndKind::Threw(threw) => self.fault_of(threw),
            EndKind::Unserialisable { path, kind, text } => not_data(&path, &kind, &text),
            EndKind::TooLarge { bytes } => result_too_large(bytes, limits.result_bytes),
            EndKind::Unlooked { call, path, text, fault } => {
                self.unlooked(call, &path, text, fault)
            }
            EndKind::TimedOut => Fault::budget_spent(limits.budget_ms),
            EndKind::Deadlocked => deadlocked(),
            EndKind::Diverged { why, n, issued, event } => {
                self.diverged(&why, n, issued.as_deref(), event.as_deref())
            }
            EndKind::Parked => Fault::new(Code::SandboxGone, "The sandbox parked unasked."),
            EndKind::Broken(text) => Fault::new(
                Code::SandboxGone,
                "The sandbox of this run is gone: its connection to the host broke.",
            )
            .caused_by(text),
        };
        Outcome::Failed(fault)
    }

    /// A fault of making the sandbox says that nothing ran and that it is safe to send it again. Of a
    /// run that was to go on that is not true.
    fn begun(&self, fault: Fault) -> Fault {
        if !self.resumed || !fault.code.is_creation() {
            return fault;
        }
        let message = "The sandbox in which the run was to go on could not be created.";
        Fault::new(Code::SandboxGone, message).caused_by(fault.message)
    }

    /// Both calls are named: the one of the record and the program's.
    fn diverged(&self, why: &str, n: u32, issued: Option<&str>, event: Option<&str>) -> Fault {
        let (place, recorded) = match event {
            Some(event) => (
                "event",
                match event {
                    "s" => "the answer to a call",
                    "t" => "a timer that fires",
                    _ => "an operation of the platform that settles",
                },
            ),
            // A step is none of the run's calls.
            None if why == "extra" => ("call", "none"),
            None => ("call", self.calls.get(&n).map_or("step", |call| call.path.as_str())),
        };
        let made = match (why, issued) {
            ("ended early", _) => "its end".to_owned(),
            ("moved", Some(issued)) => format!("{issued} at another point"),
            (_, Some(issued)) if issued == recorded => format!("{issued} with another argument"),
            (_, Some(issued)) => issued.to_owned(),
            (_, None) => "none".to_owned(),
        };
        let message = format!(
            "Replay diverged at {place} {n}: the record has {recorded}, the program made {made}."
        );
        Fault::new(Code::ReplayDiverged, message)
            .with(place, n)
            .with("recorded", recorded)
            .with("made", made)
    }

    /// The kind follows from where the error arose, never from its text.
    fn fault_of(&self, threw: Threw) -> Fault {
        let text = if threw.text.is_empty() { "The program threw.".to_owned() } else { threw.text };
        let text = cut(text, 8_192);
        let of_call =
            threw.call.and_then(|n| self.calls.get(&n)).and_then(|call| match &call.state {
                CallState::Answered(Some(fault)) => Some((call.path.as_str(), fault.as_ref())),
                _ => None,
            });
        let mut fault = match (of_call, threw.fault.as_deref()) {
            (Some((path, fault)), _) => {
                let message = if text.contains(path) { text } else { format!("{path}: {text}") };
                let mut told = fault.clone();
                told.message = cut(message, 8_192);
                told
            }
            (None, Some("timed_out")) => Fault::budget_spent(self.limits.budget_ms),
            (None, Some("serialization_error")) => Fault::new(Code::NotData, text),
            (None, Some("limit_exceeded")) => Fault::new(Code::LimitExceeded, text),
            (None, Some("tool_error")) => Fault::new(Code::ArgumentsInvalid, text),
            (None, _) => Fault::new(Code::RuntimeError, text),
        };
        if let (Some(line), Some(column)) = (threw.line, threw.column) {
            if let Some(file) = threw.file {
                fault = fault.with("file", file);
            }
            fault = fault.with("line", line).with("column", column);
        }
        if fault.code == Code::RuntimeError && threw.error.is_object() {
            fault = fault.with("thrown", threw.error);
        }
        fault
    }

    fn unlooked(
        &self,
        call: Option<u32>,
        path: &str,
        text: Option<String>,
        fault: Option<String>,
    ) -> Fault {
        let known = call.and_then(|n| self.calls.get(&n));
        let path = cut(known.map_or(path, |call| call.path.as_str()).to_owned(), 256);
        match text {
            Some(text) => {
                let error = serde_json::Value::Null;
                self.fault_of(Threw {
                    text,
                    error,
                    module: None,
                    file: None,
                    line: None,
                    column: None,
                    call,
                    fault,
                })
            }
            None => Fault::new(
                Code::CallNotAwaited,
                format!(
                    "The program ended while its call of {path} was open and nobody looked at \
                     it: await it."
                ),
            )
            .with("tool", path),
        }
    }

    /// Decides the outcome: stops what is in flight, then waits for the last lines or finishes.
    fn decide(&mut self, now: u64, outcome: Outcome, drain: bool, commands: &mut Vec<Command>) {
        if self.is_decided() {
            return;
        }
        self.clock.ended_at = Some(now);
        if let Some(since) = self.clock.tools_since.take() {
            self.clock.tools_ms = self.clock.tools_ms.saturating_add(now.saturating_sub(since));
        }
        let was_watching = matches!(self.state, State::Watching);
        self.line.clear();
        let open: Vec<u32> = self
            .calls
            .iter()
            .filter(|(_, call)| !matches!(call.state, CallState::Answered(_)))
            .map(|(n, _)| *n)
            .collect();
        for n in open {
            let Some(call) = self.calls.get_mut(&n) else { continue };
            let was_called = matches!(call.state, CallState::Called(_));
            let fault = ended_already(&call.path);
            call.state = CallState::Answered(Some(Box::new(fault.clone())));
            if was_called {
                commands.push(Command::Stop { n });
            }
            commands.push(Command::Refuse { n, fault });
        }
        if drain && was_watching {
            let until = now.saturating_add(DRAIN_MS);
            self.state = State::Draining { until, outcome: Box::new(outcome) };
        } else {
            self.state = State::Ended;
            commands.push(Command::Finish(Box::new(outcome)));
        }
    }

    fn look_at_clocks(&mut self, now: u64, commands: &mut Vec<Command>) {
        match &self.state {
            State::Ended => return,
            State::Draining { until, .. } => {
                if now >= *until
                    && let State::Draining { outcome, .. } =
                        std::mem::replace(&mut self.state, State::Ended)
                {
                    commands.push(Command::Finish(outcome));
                }
                return;
            }
            State::Creating => {
                if self.create_left(now) == 0 {
                    let fault = self.begun(Fault::create_timed_out(self.limits.create_ms));
                    self.decide(now, Outcome::Failed(fault), false, commands);
                }
                return;
            }
            State::Watching => {}
        }
        self.end_slow_calls(now, commands);
        let budget = self.limits.budget_ms.saturating_add(GRACE_MS);
        if self.ceiling_left(now) == 0 {
            let fault = Fault::ceiling_reached(self.limits.ceiling_ms);
            self.decide(now, Outcome::Failed(fault), true, commands);
        } else if self.watch.left_ms(budget, now).is_none() {
            let fault = Fault::budget_spent(self.limits.budget_ms);
            self.decide(now, Outcome::Failed(fault), true, commands);
        }
    }

    fn end_slow_calls(&mut self, now: u64, commands: &mut Vec<Command>) {
        let limit_ms = self.limits.dispatch_ms;
        let slow: Vec<u32> = self
            .calls
            .iter()
            .filter(|(_, call)| match call.state {
                CallState::Called(at) => {
                    has_limit(&call.path) && now.saturating_sub(at) >= limit_ms
                }
                _ => false,
            })
            .map(|(n, _)| *n)
            .collect();
        for n in slow {
            let Some(call) = self.calls.get_mut(&n) else { continue };
            let fault = Fault::dispatch_timed_out(&call.path, limit_ms);
            call.state = CallState::Answered(Some(Box::new(fault.clone())));
            commands.push(Command::Stop { n });
            commands.push(Command::Refuse { n, fault });
            self.rest(now);
        }
        self.advance_line(now, commands);
    }

    fn ceiling_left(&self, now: u64) -> u64 {
        let quiet_ms = self.quiet_since.map_or(0, |since| now.saturating_sub(since));
        let since = now
            .saturating_sub(self.watch.started_at)
            .saturating_sub(self.people_ms)
            .saturating_sub(quiet_ms);
        self.limits.ceiling_ms.saturating_sub(since)
    }

    fn create_left(&self, now: u64) -> u64 {
        self.limits.create_ms.saturating_sub(now.saturating_sub(self.created_at))
    }
}

/// Whether a call has the limit of a dispatch. A nested run has its own budget and ceiling, which
/// are longer; the ceiling of this one bounds it too.
fn has_limit(path: &str) -> bool {
    path != "packages.invoke"
}

/// What a call is told that comes, or is still open, when the outcome stands.
fn ended_already(path: &str) -> Fault {
    Fault::new(Code::Cancelled, format!("{path} was not called: the run has ended."))
        .with("tool", path)
}

/// Nothing is left that could settle the program.
#[must_use]
pub fn deadlocked() -> Fault {
    Fault::new(
        Code::Deadlocked,
        "Execution deadlocked: the program awaits something that nothing will ever settle.",
    )
}

/// A result that is not data, named by its path.
fn not_data(path: &str, kind: &str, text: &str) -> Fault {
    let text = if text.is_empty() { format!("{path} is {kind}") } else { text.to_owned() };
    Fault::new(Code::NotData, format!("The result cannot be sent: {}.", cut(text, 1_024)))
        .with("path", cut(path.to_owned(), 1_024))
        .with("type", cut(kind.to_owned(), 64))
}

fn result_too_large(bytes: Option<u64>, limit: u64) -> Fault {
    Fault::limit("resultBytes", "The result", bytes, limit, "bytes").with_next_step(
        "Return less: pick the fields you need, count or summarise in the program, or keep the \
         data with tools.storage.set and return its key.",
    )
}

/// Cuts a text to at most `max` bytes, on a character, and says so.
fn cut(mut text: String, max: usize) -> String {
    const MARK: &str = "… [cut]";
    if text.len() > max {
        let mut end = max.saturating_sub(MARK.len());
        while !text.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}
