//! Random histories of the journal: scripted programs, random orders, crashes, lost leases, people.
//!
//! The program is a chain of hashes: what it does next follows from every event and every answer it
//! ever saw, in order. So an answer that differs, a lost event or another order shows at the next call,
//! or in the outcome. Around it stands a harness as `docs/sandbox.md` describes it, and a host that
//! does what [`Record`] says. What only the JavaScript harness can get wrong is tested with it.
#![allow(dead_code, reason = "each user takes its part")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::match_bool,
    clippy::single_match_else,
    clippy::unused_self,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a model of small numbers: it ends at the first surprise"
)]

use holdfast::error::{Code, Fault};
use holdfast::run::journal::{
    Decision, Entry, Event, Issued, Journal, Moved, Nature, Next, Put, Record, Reply, Ruling,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// A rule of the host that is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// R1: a recorded number is answered from the record.
    Answers,
    /// R2: events before the call that follows them.
    Order,
    /// R3: an effect begins when everything up to its start is stored.
    Stored,
    /// R4: a write needs the fence.
    Fence,
    /// R5: what was started is not called again.
    Started,
    /// R6: what was allowed waits for the program to ask again.
    Again,
    /// R9: the policy is not asked about what was decided.
    Policy,
}

impl Off {
    pub(crate) const ALL: [Self; 7] = [
        Self::Answers,
        Self::Order,
        Self::Stored,
        Self::Fence,
        Self::Started,
        Self::Again,
        Self::Policy,
    ];
}

/// What a history came to, for the totals.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) attempts: u64,
    pub(crate) crashes: u64,
    pub(crate) parks: u64,
    /// Parks with a sleep that goes on by itself.
    pub(crate) sleeps: u64,
    pub(crate) events: u64,
    pub(crate) effects: u64,
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0, 0)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mut x = a ^ b.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(7, |sum, byte| mix(sum, u64::from(byte)))
}

const PATHS: [&str; 7] = ["read", "write", "write", "gated", "gated.read", "bad", "blocked"];

fn nature(path: &str) -> Nature {
    let reads = path.ends_with("read");
    Nature { reads, repeatable: reads }
}

/// What the program does on an event.
enum Do {
    Call(&'static str, String),
    Step,
    Timer,
    /// A sleep that parks.
    Sleep,
}

/// A program: nothing but a state that every event goes into.
struct Program {
    state: u64,
    left: u32,
    open: u32,
    outcome: Option<u64>,
    lines: Vec<u64>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let left = u32::try_from(seed % 9).unwrap() + 1;
        Self { state: mix(seed, 1), left, open: 0, outcome: None, lines: Vec::new() }
    }

    /// Goes on: what it does until it waits again.
    fn go(&mut self) -> Vec<Do> {
        let mut done = Vec::new();
        let mut rng = Rng(self.state);
        if rng.one_in(3) {
            self.lines.push(self.state);
        }
        // One after the other, some at once, or a race that is left behind.
        let at_once = [0, 1, 1, 2, 3][rng.below(5)].max(u32::from(self.open == 0));
        for _ in 0..at_once.min(self.left) {
            self.left -= 1;
            self.open += 1;
            self.state = mix(self.state, 3);
            done.push(match rng.below(10) {
                0 if rng.one_in(2) => Do::Timer,
                0 => Do::Sleep,
                1 => Do::Step,
                _ => Do::Call(
                    PATHS[rng.below(PATHS.len())],
                    format!("{{\"of\":{}}}", self.state % 1_000),
                ),
            });
        }
        if self.left == 0 && (self.open == 0 || rng.one_in(6)) {
            self.outcome = Some(self.state);
        }
        done
    }

    fn moved(&mut self, event: Event, told: &str) -> Vec<Do> {
        self.open -= 1;
        let what = u64::try_from(event.1).unwrap() * 4 + u64::from(event.0 == Moved::Timer);
        self.state = mix(mix(self.state, what), mix(hash(told), u64::try_from(event.2).unwrap()));
        self.go()
    }
}

/// What outlives an attempt.
struct World {
    rng: Rng,
    stored: Vec<String>,
    lines: BTreeMap<usize, u64>,
    fence: u64,
    outcome: Option<u64>,
    asked: BTreeSet<u32>,
    decisions: BTreeMap<u32, Decision>,
    /// How often each call was made, by its number and what it was: of a call that was not stored
    /// nobody knows, and another may take its number.
    made: BTreeMap<(u32, String), u32>,
    answers: u64,
    off: Option<Off>,
    crashes_left: u32,
    /// The policy grew stricter: nothing gated would be asked about any more.
    strict: bool,
    counts: Counts,
}

enum Pending {
    Line(String),
    Ask(u32),
    Log(usize, u64),
}

struct Flight {
    n: u32,
    path: String,
    /// Begins once so much is stored.
    after: u64,
    answer: Option<Reply>,
}

struct Attempt {
    fence: u64,
    record: Record,
    pending: VecDeque<Pending>,
    queued: u64,
    stored: u64,
    flights: Vec<Flight>,
    // The harness.
    program: Program,
    journal: Journal,
    known: serde_json::Value,
    delivered: usize,
    recorded: usize,
    calls: u32,
    timers: Vec<i64>,
    /// Those of them that park.
    sleeps: BTreeSet<i64>,
    timer_ids: i64,
    open: BTreeMap<u32, String>,
    arrivals: VecDeque<(u32, Rc<str>)>,
    waiting: BTreeSet<u32>,
    unsent: Vec<Event>,
    sent: usize,
    lines_sent: usize,
    now: i64,
    live: bool,
}

type Failed<T> = Result<T, String>;

impl World {
    fn attempt(&mut self, seed: u64) -> Failed<Attempt> {
        self.fence += 1;
        self.counts.attempts += 1;
        let text = self.stored.join("\n");
        let journal = Journal::read(&text).map_err(|unfit| format!("the fold: {unfit:?}"))?;
        let known = serde_json::from_str(&journal.invocation(self.lines.len()))
            .map_err(|error| error.to_string())?;
        let mut attempt = Attempt {
            fence: self.fence,
            record: Record::resumed(journal.clone()),
            pending: VecDeque::new(),
            queued: 0,
            stored: 0,
            flights: Vec::new(),
            program: Program::new(seed),
            recorded: journal.events(),
            journal,
            known,
            delivered: 0,
            calls: 0,
            timers: Vec::new(),
            sleeps: BTreeSet::new(),
            timer_ids: 0,
            open: BTreeMap::new(),
            arrivals: VecDeque::new(),
            waiting: BTreeSet::new(),
            unsent: Vec::new(),
            sent: 0,
            lines_sent: self.lines.len(),
            now: 0,
            live: false,
        };
        attempt.sent = attempt.recorded;
        attempt.begin(self)?;
        Ok(attempt)
    }
}

impl Attempt {
    fn recorded_calls(&self) -> u32 {
        u32::try_from(self.journal.calls().len()).unwrap()
    }

    fn begin(&mut self, world: &mut World) -> Failed<()> {
        if world.off == Some(Off::Again) {
            // What was allowed is called at once, before the replay came to it.
            for (n, decision) in world.decisions.clone() {
                let known = self.journal.calls().get(usize::try_from(n).unwrap());
                if let Some(call) = known
                    && decision == Decision::Allowed
                    && call.reply.is_none()
                {
                    *world.made.entry((n, call.path.clone() + &call.args)).or_default() += 1;
                }
            }
        }
        self.live = self.recorded == 0 && self.recorded_calls() == 0;
        let done = self.program.go();
        self.issue(done, world)?;
        while !self.live {
            if self.delivered == self.recorded {
                return self.go_live(world);
            }
            let event: Event =
                serde_json::from_value(self.known["events"][self.delivered].clone()).unwrap();
            self.delivered += 1;
            self.now = event.2;
            let told = match event.0 {
                Moved::Timer => {
                    let Some(place) = self.timers.iter().position(|id| *id == event.1) else {
                        return Err(format!("diverged: no timer {}", event.1));
                    };
                    self.timers.remove(place);
                    self.sleeps.remove(&event.1);
                    String::new()
                }
                _ => {
                    let n = u32::try_from(event.1).unwrap();
                    let reply = &self.known["calls"][usize::try_from(n).unwrap()]["reply"];
                    if self.open.remove(&n).is_none() || reply.is_null() {
                        return Err(format!("diverged: settled {n} is missing"));
                    }
                    reply.to_string()
                }
            };
            let done = self.program.moved(event, &told);
            self.issue(done, world)?;
        }
        Ok(())
    }

    fn go_live(&mut self, world: &mut World) -> Failed<()> {
        if self.calls < self.recorded_calls() {
            return Err(format!("diverged: {} calls of {}", self.calls, self.recorded_calls()));
        }
        self.live = true;
        for n in self.open.keys().copied().collect::<Vec<_>>() {
            if n < self.recorded_calls() && self.open[&n] == "step" {
                self.step_done(n)?;
            } else if n < self.recorded_calls() {
                self.again(n, world)?;
            }
        }
        Ok(())
    }

    /// The program does what it does: calls are compared, or sent.
    fn issue(&mut self, done: Vec<Do>, world: &mut World) -> Failed<()> {
        for one in done {
            let (path, args) = match one {
                Do::Timer | Do::Sleep => {
                    if matches!(one, Do::Sleep) {
                        self.sleeps.insert(self.timer_ids);
                    }
                    self.timers.push(self.timer_ids);
                    self.timer_ids += 1;
                    continue;
                }
                Do::Step => ("step", "{}".to_owned()),
                Do::Call(path, args) => (path, args),
            };
            let n = self.calls;
            self.calls += 1;
            let at = u64::try_from(self.delivered).unwrap();
            let hashed = format!("{:x}", mix(hash(path), hash(&args)));
            self.open.insert(n, path.to_owned());
            if n < self.recorded_calls() {
                let known = &self.known["calls"][usize::try_from(n).unwrap()];
                if known["hash"] != hashed.as_str() || known["at"] != at {
                    return Err(format!("diverged: call {n} {path} differs"));
                }
                continue;
            }
            if self.delivered < self.recorded {
                return Err(format!("diverged: call {n} is extra"));
            }
            if world.off != Some(Off::Order) {
                self.message(world)?;
            }
            let issued = self.record.issue(n, (path, args.as_str()), &hashed, at, path == "step");
            if world.off == Some(Off::Order) {
                self.message(world)?;
            }
            if issued.map_err(|fault| format!("{fault:?}"))? != Issued::New {
                return Err(format!("call {n} was known"));
            }
            self.flush();
            if path == "step" {
                self.step_done(n)?;
            } else {
                self.dispatch(n, world)?;
            }
        }
        Ok(())
    }

    /// Every message carries the events and lines before it.
    fn message(&mut self, world: &World) -> Failed<()> {
        let events = std::mem::take(&mut self.unsent);
        let base = u64::try_from(self.sent).unwrap();
        self.sent += events.len();
        self.record.heard(base, events).map_err(|unfit| format!("a gap: {unfit:?}"))?;
        self.flush();
        let _ = world;
        for number in self.lines_sent..self.program.lines.len() {
            self.push(Pending::Log(number, self.program.lines[number]));
        }
        self.lines_sent = self.lines_sent.max(self.program.lines.len());
        Ok(())
    }

    fn push(&mut self, pending: Pending) {
        self.pending.push_back(pending);
        self.queued += 1;
    }

    fn flush(&mut self) {
        for entry in self.record.take() {
            self.push(Pending::Line(Entry::write(&entry)));
        }
    }

    fn step_done(&mut self, n: u32) -> Failed<()> {
        let gave = Reply {
            text: format!("{{\"value\":{}}}", self.program.state % 97).into(),
            fault: None,
        };
        let recorded = self.record.replied(n, gave).map_err(|unfit| format!("{unfit:?}"))?;
        self.flush();
        self.arrivals.push_back((n, recorded.text));
        Ok(())
    }

    fn again(&mut self, n: u32, world: &mut World) -> Failed<()> {
        self.message(world)?;
        let calls = self.record.journal().calls();
        let known = &calls[usize::try_from(n).unwrap()];
        if let Some(reply) = &known.reply {
            if world.off == Some(Off::Answers) {
                let path = known.path.clone();
                self.flights.push(Flight { n, path, after: 0, answer: None });
                return Ok(());
            }
            let text = reply.text.clone();
            self.arrivals.push_back((n, text));
            return Ok(());
        }
        self.dispatch(n, world)
    }

    fn dispatch(&mut self, n: u32, world: &mut World) -> Failed<()> {
        let path = self.open[&n].clone();
        let mut nature = nature(&path);
        if world.off == Some(Off::Started) {
            nature.repeatable = true;
        }
        let mut decision = world.decisions.get(&n).cloned();
        let strict = world.strict;
        let rule = move |path: &str| match path {
            "blocked" => Ruling::Block(Fault::new(Code::PolicyBlocked, "blocked")),
            _ if path.starts_with("gated") && strict => {
                Ruling::Block(Fault::new(Code::PolicyBlocked, "blocked meanwhile"))
            }
            _ if path.starts_with("gated") => Ruling::Ask,
            _ => Ruling::Allow,
        };
        if world.off == Some(Off::Policy)
            && decision.is_some()
            && let Ruling::Block(fault) = rule(&path)
        {
            decision = Some(Decision::Refused(fault));
        }
        let put = match decision {
            Some(decision) => Put::Decided(decision),
            None if world.asked.contains(&n) => Put::Open,
            None => Put::Never,
        };
        let next = self.record.next(n, nature, put, || rule(&path));
        if next == Ok(Next::Ask) {
            self.push(Pending::Ask(n));
        }
        self.flush();
        match next.map_err(|unfit| format!("{unfit:?}"))? {
            Next::Answer(reply) => self.arrivals.push_back((n, reply.text)),
            Next::Call => {
                let waits = !nature.reads && world.off != Some(Off::Stored);
                let after = if waits { self.queued } else { 0 };
                self.flights.push(Flight { n, path, after, answer: None });
            }
            Next::Ask | Next::Wait => {
                self.waiting.insert(n);
            }
            Next::Refuse(fault) => {
                let text = format!("{{\"error\":{{\"code\":\"{}\"}}}}", fault.code.entry().code);
                let reply = Reply { text: text.into(), fault: Some(fault) };
                let reply = self.record.replied(n, reply).map_err(|unfit| format!("{unfit:?}"))?;
                self.flush();
                self.arrivals.push_back((n, reply.text));
            }
        }
        Ok(())
    }

    /// Stores what waits first; `false` when another has the fence.
    fn store(&mut self, world: &mut World) -> bool {
        if self.fence != world.fence && world.off != Some(Off::Fence) {
            return false;
        }
        if let Some(pending) = self.pending.pop_front() {
            self.stored += 1;
            match pending {
                Pending::Line(line) => world.stored.push(line),
                Pending::Ask(n) => {
                    world.asked.insert(n);
                }
                Pending::Log(number, line) => {
                    world.lines.entry(number).or_insert(line);
                }
            }
        }
        true
    }

    fn deliver(&mut self, event: Event, told: &str, world: &mut World) -> Failed<()> {
        self.unsent.push(event);
        self.delivered += 1;
        world.counts.events += 1;
        let done = self.program.moved(event, told);
        self.issue(done, world)
    }

    /// One step of whatever may happen; `true` when the attempt is over.
    fn step(&mut self, world: &mut World) -> Failed<bool> {
        if let Some(outcome) = self.program.outcome {
            self.message(world)?;
            while !self.pending.is_empty() {
                if world.crashes_left > 0 && world.rng.one_in(12) {
                    return Ok(self.crash(world));
                }
                if !self.store(world) {
                    return Ok(true);
                }
            }
            if self.fence == world.fence {
                world.outcome = Some(outcome);
            }
            return Ok(true);
        }
        if world.crashes_left > 0 && world.rng.one_in(25) {
            return Ok(self.crash(world));
        }
        let deliver = self.arrivals.len() + self.timers.len();
        match world.rng.below(6) {
            0 | 1 if !self.pending.is_empty() => return Ok(!self.store(world)),
            2 | 3 if !self.flights.is_empty() => {
                let place = world.rng.below(self.flights.len());
                let flight = &mut self.flights[place];
                if flight.answer.is_none() {
                    if flight.after > self.stored {
                        return Ok(!self.store(world));
                    }
                    let known = &self.record.journal().calls()[usize::try_from(flight.n).unwrap()];
                    *world.made.entry((flight.n, known.path.clone() + &known.args)).or_default() +=
                        1;
                    world.counts.effects += u64::from(!nature(&flight.path).reads);
                    world.answers += 1;
                    let failed = flight.path == "bad";
                    flight.answer = Some(Reply {
                        text: match failed {
                            true => format!("{{\"error\":{{\"n\":{}}}}}", world.answers).into(),
                            false => format!("{{\"value\":{}}}", world.answers).into(),
                        },
                        fault: failed.then(|| Fault::new(Code::ToolFailed, "bad")),
                    });
                    return Ok(false);
                }
                let flight = self.flights.swap_remove(place);
                let reply = flight.answer.unwrap_or(Reply { text: "".into(), fault: None });
                let recorded = match world.off {
                    Some(Off::Answers) => {
                        self.record.replied(flight.n, reply.clone()).map(|_| reply)
                    }
                    _ => self.record.replied(flight.n, reply),
                };
                let recorded = recorded.map_err(|unfit| format!("{unfit:?}"))?;
                self.flush();
                self.arrivals.push_back((flight.n, recorded.text));
            }
            4 if deliver > 0 => {
                self.now += i64::try_from(world.rng.below(5)).unwrap();
                let place = world.rng.below(deliver);
                if place < self.arrivals.len() {
                    let (n, told) = self.arrivals.remove(place).unwrap();
                    self.open.remove(&n);
                    let event = Event(Moved::Settled, i64::from(n), self.now);
                    self.deliver(event, &told, world)?;
                } else {
                    let id = self.timers.remove(place - self.arrivals.len());
                    self.sleeps.remove(&id);
                    self.deliver(Event(Moved::Timer, id, self.now), "", world)?;
                }
            }
            5 if !self.waiting.is_empty() || !self.sleeps.is_empty() => {
                world.people_decide();
                let decided: Vec<u32> = self
                    .waiting
                    .iter()
                    .copied()
                    .filter(|n| world.decisions.contains_key(n))
                    .collect();
                for n in decided {
                    self.waiting.remove(&n);
                    self.again(n, world)?;
                }
                // People and sleeps are all that is waited for; each may end while it is parked.
                let quiet = self.flights.is_empty()
                    && self.arrivals.is_empty()
                    && self.timers.len() == self.sleeps.len()
                    && !(self.waiting.is_empty() && self.sleeps.is_empty());
                if quiet && self.waiting.len() == self.open.len() && world.rng.one_in(2) {
                    self.message(world)?;
                    while !self.pending.is_empty() {
                        if !self.store(world) {
                            return Ok(true);
                        }
                    }
                    world.counts.parks += 1;
                    world.counts.sleeps += u64::from(!self.sleeps.is_empty());
                    return Ok(true);
                }
            }
            _ => {}
        }
        Ok(false)
    }

    fn crash(&mut self, world: &mut World) -> bool {
        world.crashes_left -= 1;
        world.counts.crashes += 1;
        true
    }
}

impl World {
    fn people_decide(&mut self) {
        let asked: Vec<u32> =
            self.asked.iter().copied().filter(|n| !self.decisions.contains_key(n)).collect();
        for n in asked {
            if self.rng.one_in(2) {
                let decision = match self.rng.below(4) {
                    0 => Decision::Refused(Fault::new(Code::ApprovalDeclined, "no")),
                    1 => Decision::Refused(Fault::new(Code::ApprovalExpired, "late")),
                    _ => Decision::Allowed,
                };
                self.decisions.insert(n, decision);
            }
        }
    }
}

/// Runs one history.
///
/// # Errors
///
/// What did not hold.
pub(crate) fn history(seed: u64, off: Option<Off>) -> Result<Counts, String> {
    let mut rng = Rng(seed);
    let program = rng.next();
    let crashes_left = u32::try_from(rng.below(5)).unwrap();
    let mut world = World {
        rng,
        stored: Vec::new(),
        lines: BTreeMap::new(),
        fence: 0,
        outcome: None,
        asked: BTreeSet::new(),
        decisions: BTreeMap::new(),
        made: BTreeMap::new(),
        answers: 0,
        off,
        crashes_left,
        strict: false,
        counts: Counts::default(),
    };
    let mut lost: Option<Attempt> = None;
    let mut steps = 0;
    while world.outcome.is_none() {
        let mut attempt = world.attempt(program)?;
        loop {
            steps += 1;
            if steps > 200_000 {
                return Err("it does not end".to_owned());
            }
            // One whose lease was lost goes on for a while, and knows nothing of it.
            if let Some(old) = &mut lost
                && world.rng.one_in(3)
                && old.step(&mut world).unwrap_or(true)
            {
                lost = None;
            }
            let crashed = world.counts.crashes;
            if attempt.step(&mut world)? {
                if world.counts.crashes > crashed && world.rng.one_in(3) {
                    lost = Some(attempt);
                }
                break;
            }
        }
        world.people_decide();
        world.strict = world.strict || world.rng.one_in(4);
    }
    check(&world, program)?;
    Ok(world.counts)
}

/// What has to hold at the end of every history.
fn check(world: &World, program: u64) -> Failed<()> {
    let journal =
        Journal::read(&world.stored.join("\n")).map_err(|unfit| format!("the fold: {unfit:?}"))?;
    let known: serde_json::Value = serde_json::from_str(&journal.invocation(0)).unwrap_or_default();
    // The uninterrupted run: the same program, fed the same events and answers at one go.
    let mut reference = Program::new(program);
    reference.go();
    for event in known["events"].as_array().into_iter().flatten() {
        let event: Event = serde_json::from_value(event.clone()).unwrap();
        let told = match event.0 {
            Moved::Timer => String::new(),
            _ => known["calls"][usize::try_from(event.1).unwrap()]["reply"].to_string(),
        };
        reference.moved(event, &told);
    }
    if reference.outcome != world.outcome {
        return Err(format!("the outcome is {:?}, not {:?}", world.outcome, reference.outcome));
    }
    let lines: Vec<u64> = world.lines.values().copied().collect();
    if lines != reference.lines {
        return Err(format!("the lines are {lines:?}, not {:?}", reference.lines));
    }
    for (n, call) in (0_u32..).zip(journal.calls()) {
        if call.is_step() {
            continue;
        }
        let made =
            world.made.get(&(n, call.path.clone() + &call.args)).copied().unwrap_or_default();
        let effect = !nature(&call.path).reads;
        if effect && made > 1 {
            return Err(format!("call {n} of {} was made {made} times", call.path));
        }
        let gated = call.path.starts_with("gated");
        let allowed = world.decisions.get(&n) == Some(&Decision::Allowed);
        if gated && made > 0 && !allowed {
            return Err(format!("call {n} was made and nobody allowed it"));
        }
        let Some(reply) = &call.reply else { continue };
        let code = reply.fault.as_ref().map(|fault| fault.code);
        match code {
            None | Some(Code::ToolFailed) if made == 0 => {
                return Err(format!("call {n} has an answer and was never made"));
            }
            Some(Code::PolicyBlocked | Code::ApprovalDeclined | Code::ApprovalExpired)
                if made > 0 =>
            {
                return Err(format!("call {n} was refused and made"));
            }
            Some(Code::PolicyBlocked) if allowed => {
                return Err(format!("call {n} was allowed and blocked"));
            }
            _ => {}
        }
    }
    Ok(())
}
