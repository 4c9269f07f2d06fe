//! The journal: what a run's dispatches, timers and clock answered, in the order the program saw it.
//!
//! One list of entries, appended to and never changed; a fold over it is the state. [`Record`] is
//! that list while an attempt lives: it is told what the harness says and answers what the host
//! may do next. How entries are stored is not its matter, but three rules are its caller's: an
//! entry that was [taken](Record::take) is stored before any that follows; an effect begins only
//! when everything up to its `started` is stored; every write is conditional on the fence.

use crate::error::{Code, Fault};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Events of one run at most: a timer of 1 ms for a minute and a half.
pub const MAX_EVENTS: usize = 100_000;

/// Bytes of one journal at most.
pub const MAX_BYTES: usize = 64_000_000;

/// Bytes of what a replay is sent at most. It is one argument of a call between Workers, which
/// may have 32 MiB; the program and its parameters go along.
pub const MAX_REPLAY_BYTES: usize = 28_000_000;

/// Why a dispatch, a timer or an operation of the platform moved the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moved {
    /// A dispatch settled.
    #[serde(rename = "s")]
    Settled,
    /// A timer fired.
    #[serde(rename = "t")]
    Timer,
    /// An operation of the platform settled.
    #[serde(rename = "n")]
    Operation,
    /// The date is from here on program time and this.
    #[serde(rename = "c")]
    Clock,
}

/// An event: what moved the program, which one, and at what program time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event(pub Moved, pub i64, pub i64);

/// One entry of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Events as they were heard.
    Events(Vec<Event>),
    /// A call as it was issued.
    Call {
        /// Its number.
        n: u32,
        /// The tool, or `step`.
        path: String,
        /// The argument, tagged JSON.
        args: Rc<str>,
        /// The harness's hash of both.
        hash: String,
        /// How many events were delivered before it.
        at: u64,
        /// Its answer is what a function of the program's gives.
        step: bool,
    },
    /// People were asked.
    Asked(u32),
    /// A tool that changes something is about to be called.
    Started(u32),
    /// What a call answered.
    Reply(u32, Reply),
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// As the harness reads it: `{"value": …}` or `{"error": …}`.
    pub text: Rc<str>,
    /// Why it failed, for the run's own error.
    pub fault: Option<Fault>,
}

/// One call of the list, folded.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool, or `step`.
    pub path: String,
    /// The argument, tagged JSON.
    pub args: Rc<str>,
    hash: String,
    at: u64,
    step: bool,
    asked: bool,
    started: bool,
    /// What it answered.
    pub reply: Option<Reply>,
}

impl Call {
    /// Whether people were asked about it.
    #[must_use]
    pub const fn asked(&self) -> bool {
        self.asked
    }

    /// Whether it was about to be called, and may have changed something.
    #[must_use]
    pub const fn is_started(&self) -> bool {
        self.started
    }

    /// Whether its answer is what a function of the program's gives.
    #[must_use]
    pub const fn is_step(&self) -> bool {
        self.step
    }

    /// Whether a retry makes it anew: it answered, and only read, or failed.
    fn is_retried(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.fault.is_some() || !self.started)
    }
}

/// The list is not one that a harness of ours makes: a gap, a number out of turn, another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(pub String);

/// What people decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The call may be made.
    Allowed,
    /// It may not; what the program is told.
    Refused(Fault),
}

/// What is stored of a question about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// Nothing: it was never put.
    Never,
    /// It was put, and nobody decided.
    Open,
    /// It was put and decided.
    Decided(Decision),
}

/// What the policy says of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// It is made.
    Allow,
    /// A person is asked.
    Ask,
    /// It is not made; what the program is told.
    Block(Fault),
}

/// What is known of a tool before it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nature {
    /// A call only reads.
    pub reads: bool,
    /// A call may be made again when its answer was lost.
    pub repeatable: bool,
}

/// What the host does about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Answers it from the record.
    Answer(Reply),
    /// Calls the tool, with the recorded argument.
    Call,
    /// Asks people, then lets the program wait. The question is stored before the entry that says
    /// that it was put, or nobody would ever be asked after a crash in between.
    Ask,
    /// Lets the program wait: people are asked already.
    Wait,
    /// Refuses it; the refusal is recorded.
    Refuse(Fault),
}

/// What became of a call that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issued {
    /// It is recorded now.
    New,
    /// Its number was recorded before: it is answered from the record.
    Known,
}

/// The list of one run, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Journal {
    events: Vec<Event>,
    calls: Vec<Call>,
    bytes: usize,
    replay_bytes: usize,
}

impl Journal {
    /// Folds the stored text: one entry a line.
    ///
    /// # Errors
    ///
    /// [`Unfit`] when a line is none, or does not follow from those before it.
    pub fn read(text: &str) -> Result<Self, Unfit> {
        let mut journal = Self::default();
        for line in text.lines() {
            journal.append(&Entry::read(line)?)?;
        }
        Ok(journal)
    }

    /// The calls in order of issue.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// How many events.
    #[must_use]
    pub const fn events(&self) -> usize {
        self.events.len()
    }

    /// How many settlements are recorded: so often at most does a replay of it make progress that
    /// grants it fresh compute.
    #[must_use]
    pub fn settlements(&self) -> usize {
        self.events.iter().filter(|event| event.0 == Moved::Settled).count()
    }

    /// The field `journal` of an invocation, JSON text; `null` when nothing happened yet. Answers go
    /// as they were given: the order of an object's keys is something a program can see.
    #[must_use]
    pub fn invocation(&self, logs: usize) -> String {
        if self.events.is_empty() && self.calls.is_empty() {
            return "null".to_owned();
        }
        let mut text = String::with_capacity(self.replay_bytes.saturating_mul(2));
        text.push_str("{\"events\":");
        text.push_str(&serde_json::to_string(&self.events).unwrap_or_else(|_| "[]".to_owned()));
        text.push_str(",\"calls\":[");
        for (n, call) in self.calls.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            text.push_str("{\"hash\":");
            text.push_str(&Value::from(call.hash.as_str()).to_string());
            text.push_str(",\"at\":");
            text.push_str(&call.at.to_string());
            if let Some(reply) = &call.reply {
                text.push_str(",\"reply\":");
                text.push_str(&reply.text);
            }
            text.push('}');
        }
        text.push_str("],\"logs\":");
        text.push_str(&logs.to_string());
        text.push('}');
        text
    }

    /// The entries of this journal taken back to before the last call that answered and only read, or
    /// failed: that call is made anew. With them the program time up to which the program had come.
    /// `None` when something began after it that changes something: a program that is taken back
    /// would do that again.
    ///
    /// The turn in which a program fails is not recorded, so the last answers are often there
    /// without the events that gave them to the program; then those answers are all that is taken back.
    #[must_use]
    pub fn rewound(&self) -> Option<(Vec<Entry>, u64)> {
        let numbered = || (0_u32..).zip(&self.calls);
        let settled: BTreeSet<i64> =
            self.events.iter().filter(|event| event.0 == Moved::Settled).map(|e| e.1).collect();
        let unheard: BTreeSet<u32> = numbered()
            .filter(|(n, call)| call.is_retried() && !settled.contains(&i64::from(*n)))
            .map(|(n, _)| n)
            .collect();
        let (kept, again) = if unheard.is_empty() {
            self.events.iter().enumerate().rev().find_map(|(place, event)| {
                let n = u32::try_from(event.1).ok().filter(|_| event.0 == Moved::Settled)?;
                let call = self.calls.get(self::place(n))?;
                call.is_retried().then(|| (place, BTreeSet::from([n])))
            })?
        } else {
            (self.events.len(), unheard)
        };
        let upto = u64::try_from(kept).unwrap_or(u64::MAX);
        if self.calls.iter().any(|call| call.started && call.at > upto) {
            return None;
        }
        let events: Vec<Event> = self.events.iter().take(kept).copied().collect();
        let reached = events.last().and_then(|event| u64::try_from(event.2).ok()).unwrap_or(0);
        let mut entries = vec![Entry::Events(events)];
        for (n, call) in numbered().filter(|(_, call)| call.at <= upto) {
            entries.push(Entry::Call {
                n,
                path: call.path.clone(),
                args: call.args.clone(),
                hash: call.hash.clone(),
                at: call.at,
                step: call.step,
            });
            if call.asked {
                entries.push(Entry::Asked(n));
            }
            if again.contains(&n) {
                continue;
            }
            if call.started {
                entries.push(Entry::Started(n));
            }
            if let Some(reply) = &call.reply {
                entries.push(Entry::Reply(n, reply.clone()));
            }
        }
        Some((entries, reached))
    }

    fn append(&mut self, entry: &Entry) -> Result<(), Unfit> {
        match entry {
            Entry::Events(events) => {
                self.replay_bytes =
                    self.replay_bytes.saturating_add(events.len().saturating_mul(24));
                self.bytes = self.bytes.saturating_add(events.len().saturating_mul(24));
                self.events.extend(events);
            }
            Entry::Call { n, path, args, hash, at, step } => {
                if place(*n) != self.calls.len() {
                    let calls = self.calls.len();
                    return Err(Unfit(format!("call {n} after {calls} calls")));
                }
                self.bytes = self.bytes.saturating_add(args.len()).saturating_add(128);
                self.replay_bytes = self.replay_bytes.saturating_add(48);
                self.calls.push(Call {
                    path: path.clone(),
                    args: args.clone(),
                    hash: hash.clone(),
                    at: *at,
                    step: *step,
                    asked: false,
                    started: false,
                    reply: None,
                });
            }
            Entry::Asked(n) => self.call(*n)?.asked = true,
            Entry::Started(n) => self.call(*n)?.started = true,
            Entry::Reply(n, reply) => {
                let call = self.call(*n)?;
                if call.reply.is_some() {
                    return Err(Unfit(format!("a second reply to call {n}")));
                }
                call.reply = Some(reply.clone());
                self.bytes = self.bytes.saturating_add(reply.text.len());
                self.replay_bytes = self.replay_bytes.saturating_add(reply.text.len());
            }
        }
        Ok(())
    }

    fn call(&mut self, n: u32) -> Result<&mut Call, Unfit> {
        self.calls.get_mut(place(n)).ok_or_else(|| Unfit(format!("there is no call {n}")))
    }

    /// Which limit leaves no room for another call of `bytes`.
    fn full(&self, bytes: usize) -> Option<String> {
        if self.events.len() >= MAX_EVENTS {
            return Some(format!("{MAX_EVENTS} events are its limit"));
        }
        if self.bytes.saturating_add(bytes) > MAX_BYTES {
            return Some(format!("{MAX_BYTES} bytes are its limit"));
        }
        if self.replay_bytes.saturating_add(bytes) > MAX_REPLAY_BYTES {
            return Some(format!("{MAX_REPLAY_BYTES} bytes of answers are its limit"));
        }
        None
    }
}

fn place(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The list of a run while an attempt lives.
#[derive(Debug, Default)]
pub struct Record {
    journal: Journal,
    fresh: Vec<Entry>,
}

impl Record {
    /// A record that goes on from what is stored.
    #[must_use]
    pub const fn resumed(journal: Journal) -> Self {
        Self { journal, fresh: Vec::new() }
    }

    /// Everything known, stored or not.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The entries to store next, in order.
    #[must_use]
    pub fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.fresh)
    }

    /// Takes the events that a message carries; `base`: how many were sent before it.
    ///
    /// # Errors
    ///
    /// [`Unfit`] for a gap: messages arrive in order, so the harness was tampered with.
    pub fn heard(&mut self, base: u64, events: Vec<Event>) -> Result<(), Unfit> {
        let known = self.journal.events.len();
        if u64::try_from(known).ok() != Some(base) {
            return Err(Unfit(format!("{known} events are known, the message follows {base}")));
        }
        if events.is_empty() {
            return Ok(());
        }
        self.push(Entry::Events(events))
    }

    /// Takes a call, or the beginning of a step.
    ///
    /// # Errors
    ///
    /// `sandbox_gone` for a number out of turn; `journal_full` when it does not fit any more.
    pub fn issue(
        &mut self,
        n: u32,
        (path, args): (&str, impl Into<Rc<str>>),
        hash: &str,
        at: u64,
        step: bool,
    ) -> Result<Issued, Fault> {
        if place(n) < self.journal.calls.len() {
            return Ok(Issued::Known);
        }
        if u64::try_from(self.journal.events.len()).ok() != Some(at) {
            return Err(tampered(&Unfit(format!("call {n} at {at}"))));
        }
        let args = args.into();
        if let Some(limit) = self.journal.full(args.len()) {
            let message = format!("The journal of this run is full: {limit}.");
            return Err(Fault::new(Code::JournalFull, message).with("tool", path));
        }
        let (path, hash) = (path.to_owned(), hash.to_owned());
        self.push(Entry::Call { n, path, args, hash, at, step })
            .map_err(|unfit| tampered(&unfit))?;
        Ok(Issued::New)
    }

    /// What to do about a call, new or asked for again. `ruling` is asked only where neither an
    /// answer nor a question is recorded: a policy that changed meanwhile changes nothing that
    /// was decided.
    ///
    /// # Errors
    ///
    /// [`Unfit`] when there is no such call.
    pub fn next(
        &mut self,
        n: u32,
        nature: Nature,
        put: Put,
        ruling: impl FnOnce() -> Ruling,
    ) -> Result<Next, Unfit> {
        let call = self.journal.call(n)?;
        if let Some(reply) = &call.reply {
            return Ok(Next::Answer(reply.clone()));
        }
        if call.started {
            if nature.repeatable {
                return Ok(Next::Call);
            }
            let fault = effect_unknown(&call.path);
            return Ok(Next::Refuse(fault));
        }
        // A question is stored before the entry that says so: it can be there alone.
        let ruling = match (call.asked, put) {
            (true, Put::Never) | (_, Put::Open) => return Ok(Next::Wait),
            (_, Put::Decided(Decision::Refused(fault))) => Ruling::Block(fault),
            (_, Put::Decided(Decision::Allowed)) => Ruling::Allow,
            (false, Put::Never) => ruling(),
        };
        Ok(match ruling {
            Ruling::Allow => {
                if !nature.reads {
                    self.push(Entry::Started(n))?;
                }
                Next::Call
            }
            Ruling::Ask => {
                self.push(Entry::Asked(n))?;
                Next::Ask
            }
            Ruling::Block(fault) => Next::Refuse(fault),
        })
    }

    /// Records what a call answered, unless an answer is recorded: that one stands.
    ///
    /// # Errors
    ///
    /// [`Unfit`] when there is no such call.
    pub fn replied(&mut self, n: u32, reply: Reply) -> Result<Reply, Unfit> {
        if let Some(known) = &self.journal.call(n)?.reply {
            return Ok(known.clone());
        }
        self.push(Entry::Reply(n, reply.clone()))?;
        Ok(reply)
    }

    fn push(&mut self, entry: Entry) -> Result<(), Unfit> {
        self.journal.append(&entry)?;
        self.fresh.push(entry);
        Ok(())
    }
}

/// A harness that says what ours does not: it was tampered with.
#[must_use]
pub fn tampered(unfit: &Unfit) -> Fault {
    Fault::new(Code::SandboxGone, "The sandbox said what its record does not allow.")
        .caused_by(unfit.0.clone())
}

/// A call whose answer was lost.
#[must_use]
pub fn effect_unknown(path: &str) -> Fault {
    let message = format!(
        "{path} was called and the answer was lost with the sandbox; it is not called again."
    );
    Fault::new(Code::EffectUnknown, message).with("tool", path)
}

/// An entry as it is stored.
#[derive(Serialize, Deserialize, Default)]
struct Line<'a> {
    e: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    args: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    reply: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Told>,
}

/// Takes what is there, `null` included, where an `Option` would take it for absent.
fn present<'de, D>(value: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    <&RawValue>::deserialize(value).map(Some)
}

/// A fault as it is stored.
#[derive(Serialize, Deserialize)]
struct Told {
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

impl Entry {
    /// The entry as one line of text.
    #[must_use]
    pub fn write(&self) -> String {
        let raw = |text| serde_json::from_str::<&RawValue>(text).ok();
        let long = match self {
            Self::Call { args, .. } => args.len(),
            Self::Reply(_, reply) => reply.text.len(),
            Self::Events(_) | Self::Asked(_) | Self::Started(_) => 0,
        };
        let line = match self {
            Self::Events(events) => {
                Line { e: "events".to_owned(), events: events.clone(), ..Line::default() }
            }
            Self::Call { n, path, args, hash, at, step } => Line {
                e: if *step { "step" } else { "call" }.to_owned(),
                n: Some(*n),
                path: Some(path.clone()),
                args: raw(args),
                hash: Some(hash.clone()),
                at: Some(*at),
                ..Line::default()
            },
            Self::Asked(n) => Line { e: "asked".to_owned(), n: Some(*n), ..Line::default() },
            Self::Started(n) => Line { e: "started".to_owned(), n: Some(*n), ..Line::default() },
            Self::Reply(n, reply) => Line {
                e: "reply".to_owned(),
                n: Some(*n),
                reply: raw(&reply.text),
                fault: reply.fault.as_ref().map(|fault| Told {
                    code: fault.code.entry().code.to_owned(),
                    message: fault.message.clone(),
                    next: fault.next_step.clone(),
                    details: fault.details.clone(),
                }),
                ..Line::default()
            },
        };
        let mut text = Vec::with_capacity(long.saturating_add(256));
        let written = serde_json::to_writer(&mut text, &line).ok();
        let mut text = written.and_then(|()| String::from_utf8(text).ok()).unwrap_or_default();
        // A raw value may be written over several lines; an entry is one. One character at a time:
        // that is a search by words.
        if text.contains('\n') || text.contains('\r') {
            text = text.replace(['\n', '\r'], " ");
        }
        text
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`Unfit`] when it is none.
    pub fn read(line: &str) -> Result<Self, Unfit> {
        let line: Line =
            serde_json::from_str(line).map_err(|error| Unfit(format!("an entry: {error}")))?;
        let n = || line.n.ok_or_else(|| Unfit("an entry without a number".to_owned()));
        Ok(match line.e.as_str() {
            "events" => Self::Events(line.events),
            "call" | "step" => Self::Call {
                n: n()?,
                path: line.path.unwrap_or_default(),
                args: line.args.map_or("{}", RawValue::get).into(),
                hash: line.hash.unwrap_or_default(),
                at: line.at.unwrap_or_default(),
                step: line.e == "step",
            },
            "asked" => Self::Asked(n()?),
            "started" => Self::Started(n()?),
            "reply" => Self::Reply(
                n()?,
                Reply {
                    text: line.reply.map_or("{}", RawValue::get).into(),
                    fault: line.fault.and_then(Told::fault),
                },
            ),
            other => return Err(Unfit(format!("an entry {other:?}"))),
        })
    }
}

impl Told {
    fn fault(self) -> Option<Fault> {
        let code = Code::ALL.iter().copied().find(|code| code.entry().code == self.code)?;
        let mut fault = Fault::new(code, self.message);
        fault.next_step = self.next;
        fault.details = self.details;
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    //! Each rule of the host, by itself.

    use super::*;

    const EFFECT: Nature = Nature { reads: false, repeatable: false };
    const READ: Nature = Nature { reads: true, repeatable: true };

    fn issued(record: &mut Record, n: u32) -> Result<Issued, Fault> {
        let at = u64::try_from(record.journal().events()).unwrap();
        record.issue(n, ("mail.send", "{\"to\":1}"), "abc", at, false)
    }

    fn reply(text: &str) -> Reply {
        Reply { text: text.into(), fault: None }
    }

    fn stored(record: &mut Record) -> Journal {
        let lines: Vec<_> = record.take().iter().map(Entry::write).collect();
        Journal::read(&lines.join("\n")).unwrap()
    }

    #[test]
    fn what_is_stored_folds_to_what_was_known() {
        let mut record = Record::default();
        record.heard(0, vec![Event(Moved::Clock, 1_700_000_000_000, 0)]).unwrap();
        assert_eq!(issued(&mut record, 0), Ok(Issued::New));
        assert_eq!(record.next(0, EFFECT, Put::Never, || Ruling::Ask), Ok(Next::Ask));
        let allowed = Put::Decided(Decision::Allowed);
        assert_eq!(record.next(0, EFFECT, allowed, || Ruling::Ask), Ok(Next::Call));
        let fault = Fault::new(Code::ToolFailed, "no").with("tool", "mail.send");
        let failed = Reply { text: "{\"error\":\n{}}".into(), fault: Some(fault) };
        record.replied(0, failed).unwrap();
        record.heard(1, vec![Event(Moved::Settled, 0, 5)]).unwrap();
        assert_eq!(record.issue(1, ("step", "null"), "d", 2, true), Ok(Issued::New));
        let known = record.journal().clone();
        let read = stored(&mut record);
        assert_eq!(read.calls.len(), 2);
        assert_eq!(read.events, known.events);
        let fault_of = |journal: &Journal| journal.calls[0].reply.clone().unwrap().fault;
        assert_eq!(fault_of(&read), fault_of(&known));
        assert_eq!(read.calls[1], known.calls[1]);
        let invocation: Value = serde_json::from_str(&read.invocation(3)).unwrap();
        assert_eq!(invocation["logs"], 3);
        assert_eq!(invocation["events"][0][0], "c");
        assert!(invocation["calls"][1].get("reply").is_none());
    }

    #[test]
    fn a_recorded_number_is_answered_from_the_record() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, EFFECT, Put::Never, || Ruling::Allow).unwrap();
        record.replied(0, reply("{\"value\":1}")).unwrap();
        assert_eq!(issued(&mut record, 0), Ok(Issued::Known));
        let next = record.next(0, EFFECT, Put::Never, || Ruling::Allow);
        assert_eq!(next, Ok(Next::Answer(reply("{\"value\":1}"))));
        assert_eq!(record.replied(0, reply("{\"value\":2}")), Ok(reply("{\"value\":1}")));
    }

    #[test]
    fn an_effect_that_began_is_never_made_again() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, EFFECT, Put::Never, || Ruling::Allow).unwrap();
        let mut again = Record::resumed(stored(&mut record));
        let Ok(Next::Refuse(fault)) = again.next(0, EFFECT, Put::Never, || Ruling::Allow) else {
            panic!("it was made again");
        };
        assert_eq!(fault.code, Code::EffectUnknown);
        let repeatable = Nature { reads: false, repeatable: true };
        assert_eq!(again.next(0, repeatable, Put::Never, || Ruling::Allow), Ok(Next::Call));
    }

    #[test]
    fn nobody_is_asked_twice_and_the_policy_is_not_asked_again() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, EFFECT, Put::Never, || Ruling::Ask).unwrap();
        let mut again = Record::resumed(stored(&mut record));
        let unasked = || -> Ruling { panic!("the policy was asked") };
        assert_eq!(again.next(0, EFFECT, Put::Never, unasked), Ok(Next::Wait));
        assert_eq!(again.next(0, EFFECT, Put::Decided(Decision::Allowed), unasked), Ok(Next::Call));
    }

    #[test]
    fn a_read_leaves_no_start_and_is_made_again() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        assert_eq!(record.next(0, READ, Put::Never, || Ruling::Allow), Ok(Next::Call));
        let mut again = Record::resumed(stored(&mut record));
        assert_eq!(again.next(0, READ, Put::Never, || Ruling::Allow), Ok(Next::Call));
    }

    fn settled(record: &mut Record, n: u32, of: Reply) {
        record.replied(n, of).unwrap();
        let base = u64::try_from(record.journal().events()).unwrap();
        record
            .heard(base, vec![Event(Moved::Settled, i64::from(n), i64::from(n).saturating_add(10))])
            .unwrap();
    }

    fn failed() -> Reply {
        Reply { text: "{\"error\":{}}".into(), fault: Some(Fault::new(Code::ToolFailed, "no")) }
    }

    #[test]
    fn a_program_is_taken_back_to_before_the_call_that_failed() {
        let mut record = Record::default();
        for n in 0..3 {
            issued(&mut record, n).unwrap();
            record.next(n, EFFECT, Put::Never, || Ruling::Allow).unwrap();
            settled(&mut record, n, if n == 2 { failed() } else { reply("{\"value\":1}") });
        }
        let (entries, reached) = record.journal().rewound().unwrap();
        let lines: Vec<_> = entries.iter().map(Entry::write).collect();
        let back = Journal::read(&lines.join("\n")).unwrap();
        assert_eq!((back.events(), back.calls().len(), reached), (2, 3, 11));
        assert!(back.calls()[1].reply.is_some());
        let mut again = Record::resumed(back);
        assert_eq!(again.next(2, EFFECT, Put::Never, || Ruling::Allow), Ok(Next::Call));
    }

    #[test]
    fn a_read_after_which_nothing_began_is_made_again() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, READ, Put::Never, || Ruling::Allow).unwrap();
        settled(&mut record, 0, reply("{\"value\":1}"));
        let (entries, _) = record.journal().rewound().unwrap();
        assert_eq!(entries.len(), 2, "{entries:?}");
    }

    #[test]
    fn answers_that_the_program_failed_on_are_all_that_is_taken_back() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, EFFECT, Put::Never, || Ruling::Allow).unwrap();
        settled(&mut record, 0, reply("{\"value\":1}"));
        for (n, nature) in [(1, READ), (2, EFFECT), (3, EFFECT)] {
            issued(&mut record, n).unwrap();
            record.next(n, nature, Put::Never, || Ruling::Allow).unwrap();
            let of = if n == 3 { failed() } else { reply("{\"value\":1}") };
            record.replied(n, of).unwrap();
        }
        let (entries, _) = record.journal().rewound().unwrap();
        let lines: Vec<_> = entries.iter().map(Entry::write).collect();
        let back = Journal::read(&lines.join("\n")).unwrap();
        let answered: Vec<bool> = back.calls().iter().map(|call| call.reply.is_some()).collect();
        assert_eq!(answered, [true, false, true, false]);
        assert_eq!(back.events(), 1);
    }

    #[test]
    fn nothing_that_changed_something_is_done_again_by_a_retry() {
        let mut record = Record::default();
        issued(&mut record, 0).unwrap();
        record.next(0, READ, Put::Never, || Ruling::Allow).unwrap();
        settled(&mut record, 0, reply("{\"value\":1}"));
        issued(&mut record, 1).unwrap();
        record.next(1, EFFECT, Put::Never, || Ruling::Allow).unwrap();
        settled(&mut record, 1, reply("{\"value\":1}"));
        assert_eq!(record.journal().rewound(), None);
        assert_eq!(Journal::default().rewound(), None);
    }

    #[test]
    fn a_gap_is_refused() {
        let mut record = Record::default();
        assert!(record.heard(1, vec![]).is_err());
        assert!(issued(&mut record, 1).is_err());
        assert!(record.issue(0, ("a", "{}"), "h", 4, false).is_err());
        assert!(record.next(0, READ, Put::Never, || Ruling::Allow).is_err());
    }

    #[test]
    fn a_full_journal_says_so_before_the_call_that_does_not_fit() {
        let events = vec![Event(Moved::Timer, 1, 1); MAX_EVENTS - 1];
        let mut record = Record::default();
        record.heard(0, events).unwrap();
        assert_eq!(issued(&mut record, 0), Ok(Issued::New));
        record
            .heard(u64::try_from(MAX_EVENTS - 1).unwrap(), vec![Event(Moved::Timer, 1, 2)])
            .unwrap();
        assert_eq!(issued(&mut record, 1).unwrap_err().code, Code::JournalFull);
        assert_eq!(record.journal().calls().len(), 1);
    }
}
