//! What becomes of a program's calls: made, asked about, answered from the record, refused, stopped.

use super::{Attempt, Prepared, Returned, answer, over};
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::run::journal::{self, Call, Nature, Next, Put, Reply, Ruling, Unfit};
use crate::run::machine::{Command, Event};
use crate::run::outcome::{Outcome, Question};
use crate::run::value;
use crate::store::dispatches::{Called, Ended, Ending};
use crate::store::{approvals, followed};
use crate::tools::Came;
use crate::tools::policy::{self, Action};
use crate::tools::reply_of;
use futures_channel::oneshot;
use futures_util::future::{FutureExt as _, abortable};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::rc::Rc;

/// The most of an argument that a person is shown, in bytes.
const MAX_SHOWN_BYTES: usize = 65_536;

impl Attempt {
    /// A recorded call is asked for: its recorded answer, or it goes its way as the record says.
    pub(super) fn again(&mut self, n: u32, reply: oneshot::Sender<String>) -> Option<Event> {
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
    pub(super) fn step_done(
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

    /// Records an answer and gives the one that stands.
    pub(super) fn record_reply(&mut self, n: u32, text: String, fault: Option<Fault>) -> String {
        let recorded = self.record.replied(n, Reply { text: text.clone(), fault });
        self.flush();
        recorded.map_or(text, |recorded| recorded.text)
    }

    pub(super) fn returned(&mut self, returned: Returned) -> Option<Event> {
        // `None`: the call was stopped, and the run knows.
        let (n, came) = returned?;
        self.stops.remove(&n);
        let (run, fence) = (&self.order.run_id, self.order.fence);
        let answered = match came {
            Ok(Came::Waits(waiting)) => {
                self.recorder.push([followed::begin(run, fence, n, &waiting.run_id)]);
                self.people.follow(n, waiting);
                self.reply(n, r#"{"waiting":true}"#.to_owned());
                return Some(Event::DispatchWaits { n });
            }
            Ok(Came::Back(answer)) => Ok(answer),
            Err(fault) => Err(fault),
        };
        if self.people.followed(n) {
            self.recorder.push([followed::heard(run, fence, n)]);
        }
        let path = self.path_of(n);
        let reply = self.tools.marked(n, reply_of(&path, &answered));
        let ending = match &answered {
            Ok(_) => Ending::Returned,
            Err(_) => Ending::Failed,
        };
        self.record_end(n, ending, &reply);
        let reply = self.record_reply(n, reply, answered.as_ref().err().cloned());
        if let Some(to) = self.replies.remove(&n) {
            answer(to, reply);
        }
        self.arguments.remove(&n);
        Some(Event::DispatchReturned { n, fault: answered.err() })
    }

    pub(super) fn path_of(&self, n: u32) -> String {
        self.arguments.get(&n).map(|(path, _)| path.clone()).unwrap_or_default()
    }

    pub(super) fn record_end(&self, n: u32, ending: Ending, reply: &str) {
        let path = self.path_of(n);
        self.recorder.ended(Ended::new(n, &path, ending, reply, now_ms()));
        if !self.tools.only_reads(&path) {
            self.recorder.hurry_soon();
        }
    }

    /// Carries out commands; the outcome when it stands. What follows at once goes to `next`.
    pub(super) fn obey(
        &mut self,
        commands: Vec<Command>,
        next: &mut VecDeque<Event>,
    ) -> Option<Outcome> {
        let mut outcome = None;
        for command in commands {
            match command {
                Command::Call { n } => next.extend(self.prepare(n)),
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
                        self.record_end(n, Ending::Stopped, "null");
                    }
                }
                Command::Finish(ended) => outcome = Some(*ended),
            }
        }
        outcome
    }

    /// A call has its place in flight: the tool is looked up first, where it is a source's.
    fn prepare(&mut self, n: u32) -> Option<Event> {
        let (path, arguments) = self.arguments.get(&n).cloned()?;
        if !self.tools.is_to_prepare(&path) {
            return self.dispatch(n, None);
        }
        let tools = Rc::clone(&self.tools);
        let prepared = async move { tools.prepare(&path, &arguments).await.err() };
        let (prepared, stop) = abortable(prepared);
        self.stops.insert(n, stop);
        let prepared = async move { prepared.await.ok().map(|refused| (n, refused)) };
        self.preparing.push(prepared.boxed_local());
        None
    }

    /// A tool was looked up, and its arguments were looked at.
    pub(super) fn prepared(&mut self, prepared: Prepared) -> Option<Event> {
        // `None`: the call was stopped, and the run knows.
        let (n, refused) = prepared?;
        self.stops.remove(&n);
        self.dispatch(n, refused)
    }

    /// A call is made, asked about, or answered. `refused`: its arguments do not fit, which is told
    /// before any rule is looked at.
    fn dispatch(&mut self, n: u32, refused: Option<Fault>) -> Option<Event> {
        let (path, arguments) = self.arguments.get(&n).cloned()?;
        let reads = self.tools.only_reads(&path);
        let nature = Nature { reads, repeatable: self.tools.is_repeatable(&path) };
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
            // Nobody is asked about what would not be made.
            let refused = refused.or_else(|| self.tools.check(&path, &arguments).err());
            if let Some(fault) = refused {
                return Ruling::Block(fault);
            }
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

    pub(super) fn reply(&mut self, n: u32, text: String) {
        if let Some(to) = self.replies.remove(&n) {
            answer(to, text);
        }
    }

    /// Puts a question to people: its row stands behind the call's own entry.
    pub(super) fn ask(
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

    pub(super) fn call(&mut self, n: u32, path: &str, arguments: &str) {
        let (path, arguments) = (path.to_owned(), arguments.to_owned());
        self.recorder.called(Called::new(n, &path, &arguments, now_ms()));
        if !self.tools.only_reads(&path) {
            self.recorder.hurry();
        }
        let recorder = self.recorder.clone();
        let tools = Rc::clone(&self.tools);
        let called = async move {
            if !tools.only_reads(&path) {
                // Written down before it is called: if the isolate dies in between, whoever looks
                // must find that the call may have had its effect.
                recorder.stored().await;
            }
            tools.call(n, &path, &arguments).await
        };
        let (called, stop) = abortable(called);
        self.stops.insert(n, stop);
        self.calls.push(async move { called.await.ok().map(|answer| (n, answer)) }.boxed_local());
    }
}
