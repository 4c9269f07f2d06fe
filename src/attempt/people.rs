//! What an attempt knows of people: what they were asked, what they decided, who waits for it; and of
//! the sleeps that it may park for.

use crate::run::journal::{Decision, Put};
use crate::run::outcome::{Question, Status};
use crate::store::approvals::Row;
use crate::store::followed;
use crate::tools::Waiting;
use futures_channel::oneshot;
use std::collections::{BTreeMap, BTreeSet};

/// The questions of one attempt.
#[derive(Debug, Default)]
pub struct People {
    open: BTreeMap<u32, Question>,
    decisions: BTreeMap<u32, Decision>,
    /// Tools that are allowed for the rest of the run.
    granted: BTreeSet<String>,
    /// Calls whose own run waits for people.
    followed: BTreeMap<u32, Followed>,
    waiting: BTreeMap<u32, oneshot::Sender<String>>,
    /// The harness waits to be told to park, from this time on.
    quiet: Option<(u64, oneshot::Sender<String>)>,
    /// When the first of the sleeps ends that the program waits for.
    wake_at: Option<u64>,
}

#[derive(Debug)]
struct Followed {
    waiting: Waiting,
    ended: bool,
}

impl People {
    /// A question was put.
    pub fn asked(&mut self, n: u32, question: Question) {
        self.open.insert(n, question);
    }

    /// Takes the rows of the run's questions; whoever waits for a decision is told.
    pub fn hear(&mut self, rows: &[Row], origin: &str) {
        for row in rows {
            let Some(decision) = row.decision() else {
                if row.state == "open" {
                    self.open.entry(row.n).or_insert_with(|| row.question(origin));
                }
                continue;
            };
            if row.for_run > 0 && decision == Decision::Allowed {
                self.granted.insert(row.path.clone());
            }
            self.open.remove(&row.n);
            self.decisions.insert(row.n, decision);
            self.tell(row.n);
        }
    }

    /// Whoever waits for call `n` goes on.
    fn tell(&mut self, n: u32) {
        if let Some(waiting) = self.waiting.remove(&n) {
            go(waiting);
            // Time goes on: whoever was about to park asks again.
            if let Some((_, quiet)) = self.quiet.take() {
                let _ = quiet.send("{}".to_owned());
            }
        }
    }

    /// Call `n` waits for a run that waits for people.
    pub fn follow(&mut self, n: u32, waiting: Waiting) {
        self.followed.insert(n, Followed { waiting, ended: false });
    }

    /// Whether call `n` waited for a run that waited for people.
    #[must_use]
    pub fn followed(&self, n: u32) -> bool {
        self.followed.contains_key(&n)
    }

    /// Whether any call waits for a run that waits for people.
    #[must_use]
    pub fn follow_others(&self) -> bool {
        self.followed.values().any(|followed| !followed.ended)
    }

    /// Takes how the runs stand that calls wait for; whoever waits for one that ended is told.
    pub fn hear_of_runs(&mut self, rows: &[followed::Row]) {
        for row in rows {
            let status = row.status.as_deref().and_then(Status::parse);
            if status.is_some_and(|status| !status.is_final()) {
                continue;
            }
            if let Some(followed) = self.followed.get_mut(&row.n) {
                followed.ended = true;
                self.tell(row.n);
            }
        }
    }

    /// Whether anybody was ever asked.
    #[must_use]
    pub fn were_asked(&self) -> bool {
        !self.open.is_empty() || !self.decisions.is_empty()
    }

    /// Whether anybody may still decide.
    #[must_use]
    pub fn are_asked(&self) -> bool {
        !self.open.is_empty() || self.follow_others()
    }

    /// The questions without an answer, in the order of their dispatches.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        let of_runs = self.followed.values().filter(|followed| !followed.ended);
        let of_runs = of_runs.flat_map(|followed| followed.waiting.questions.iter());
        self.open.values().chain(of_runs).cloned().collect()
    }

    /// What is known of a question about a dispatch.
    #[must_use]
    pub fn put(&self, n: u32) -> Put {
        match self.decisions.get(&n) {
            Some(decision) => Put::Decided(decision.clone()),
            None if self.open.contains_key(&n) => Put::Open,
            None => Put::Never,
        }
    }

    /// Whether a tool is allowed for the rest of the run.
    #[must_use]
    pub fn granted(&self, path: &str) -> bool {
        self.granted.contains(path)
    }

    /// Answers once there is a decision about a dispatch.
    pub fn await_decision(&mut self, n: u32, waiting: oneshot::Sender<String>) {
        let stands = match self.followed.get(&n) {
            Some(followed) => followed.ended,
            None => self.decisions.contains_key(&n),
        };
        if stands {
            go(waiting);
        } else {
            self.waiting.insert(n, waiting);
        }
    }

    /// Only people and sleeps are waited for; the live sandbox is kept until `until`, the first sleep
    /// ends at `wake_at`.
    pub fn quiet(&mut self, until: u64, wake_at: Option<u64>, quiet: oneshot::Sender<String>) {
        self.quiet = Some((until, quiet));
        self.wake_at = wake_at;
    }

    /// When the run goes on by itself.
    #[must_use]
    pub const fn wake_at(&self) -> Option<u64> {
        self.wake_at
    }

    /// Tells the harness to park if it is time; whether it did.
    pub fn park(&mut self, now: u64) -> bool {
        let Some((until, quiet)) = self.quiet.take() else { return false };
        if now < until {
            self.quiet = Some((until, quiet));
            return false;
        }
        quiet.send(r#"{"park":true}"#.to_owned()).is_ok()
    }
}

fn go(waiting: oneshot::Sender<String>) {
    // The sandbox may be gone; then nobody wants to know.
    let _ = waiting.send(r#"{"go":true}"#.to_owned());
}
