//! The record of a run, written behind it.
//!
//! Statements are queued in order and sent in batches, one batch at a time, so that the stored
//! part is always a beginning of the one true history. Reads never wait for it: what they queue is
//! gathered for a moment, so that many of them are one batch. Effects, and the end of the run, wait
//! until everything before them is stored. The answer of an effect waits a little for the next call,
//! whose batch then takes it along: a way to the database for each effect, and not two. The rows of
//! calls that wait together are one statement. The entries of the journal that wait
//! together are written as one text. When its rows change nothing, another attempt has the fence:
//! then nothing further is written, and whoever waits for it never goes on.

use crate::platform::clock::now_ms;
use crate::store::db::{Db, Statement, StoreError};
use crate::store::dispatches::{self, Called, Change, Ended};
use crate::store::journal;
use futures_channel::oneshot;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Statements of one batch at most: D1 runs a batch as one transaction, and 30 s is its limit.
const MAX_BATCH: usize = 50;

/// Bytes of one batch at most, so that no request to D1 grows past what an isolate holds easily.
const MAX_BATCH_BYTES: usize = 4_000_000;

/// How long what nobody waits for is gathered, in milliseconds: several calls of a busy program, and
/// little against the lease of an attempt that may die before it is written.
const GATHER_MS: u64 = 50;

/// How long the answer of an effect is gathered, in milliseconds: longer than a program needs that makes
/// its next call at once, and shorter than the write. Who dies in between does not know of the answer,
/// as who dies in the write.
const GATHER_ANSWER_MS: u64 = 3;

/// How long the row of an attempt that has nothing else to write is gathered, in milliseconds: most are
/// over by then, and their end writes the row.
const GATHER_BEGINNING_MS: u64 = 1_000;

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Item>,
    /// When what waits is to be written.
    due: u64,
    /// The first of what waits is the attempt's own row.
    begins: bool,
    /// The row of the record, to be written with whatever is written first.
    record: Option<Statement>,
    /// The next row of the journal.
    seq: u64,
    /// How many items were ever queued, and how many of them are stored.
    queued: u64,
    stored: u64,
    /// Rows that the last statement changed.
    changed: u64,
    listeners: Vec<(u64, oneshot::Sender<()>)>,
}

/// What waits to be stored.
#[derive(Debug)]
enum Item {
    Statement(Statement),
    /// The row of a call.
    Call(Change),
    /// An entry of the journal, one line without its end.
    Entry(String),
}

impl Item {
    fn weight(&self) -> usize {
        match self {
            Self::Statement(statement) => statement.weight(),
            Self::Call(change) => change.weight(),
            Self::Entry(line) => line.len(),
        }
    }
}

/// What one write sends.
#[derive(Default)]
struct Batch {
    statements: Vec<Statement>,
    /// The first so many are the journal's, which the fence must let through.
    fenced: usize,
    items: usize,
}

/// The queue of one attempt. Clones share it.
#[derive(Debug, Clone)]
pub struct Recorder {
    db: Rc<Db>,
    run: Rc<str>,
    fence: u64,
    queue: Rc<RefCell<Queue>>,
}

impl Recorder {
    /// An empty queue in front of `db`, for the attempt of `run` that has `fence`. `record`: the row of the
    /// record, where it is not written yet.
    #[must_use]
    pub fn new(db: Rc<Db>, run: &str, fence: u64, record: Option<Statement>) -> Self {
        let queue = Rc::new(RefCell::new(Queue { record, ..Queue::default() }));
        Self { db, run: run.into(), fence, queue }
    }

    /// The journal goes on with the row `seq`.
    pub fn resume_at(&self, seq: u64) {
        self.queue.borrow_mut().seq = seq;
    }

    /// Queues the attempt's own row, the first of all.
    pub fn begin(&self, row: Statement) {
        self.queue(Item::Statement(row), GATHER_BEGINNING_MS);
        self.queue.borrow_mut().begins = true;
    }

    /// Queues statements, in order.
    pub fn push(&self, statements: impl IntoIterator<Item = Statement>) {
        for statement in statements {
            self.queue(Item::Statement(statement), GATHER_MS);
        }
    }

    /// Queues the row of a call that is made.
    pub fn called(&self, called: Called) {
        self.queue(Item::Call(Change::Called(called, None)), GATHER_MS);
    }

    /// Queues the end of a call, with its row where that still waits.
    pub fn ended(&self, over: Ended) {
        let mut queue = self.queue.borrow_mut();
        let row = queue.waiting.iter_mut().rev().find_map(|item| match item {
            Item::Call(Change::Called(called, ended)) if called.n() == over.n() => Some(ended),
            _ => None,
        });
        if let Some(ended) = row {
            *ended = Some(over);
        } else {
            drop(queue);
            self.queue(Item::Call(Change::Ended(over)), GATHER_MS);
        }
    }

    /// Queues entries of the journal, one line each.
    pub fn append(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.queue(Item::Entry(line), GATHER_MS);
        }
    }

    fn queue(&self, item: Item, gather_ms: u64) {
        self.hurry_in(gather_ms);
        let mut queue = self.queue.borrow_mut();
        queue.waiting.push_back(item);
        queue.queued = queue.queued.saturating_add(1);
    }

    /// What is queued is to be written at once: somebody is about to wait for it.
    pub fn hurry(&self) {
        self.hurry_in(0);
    }

    /// What is queued is to be written in a moment: an effect is over.
    pub fn hurry_soon(&self) {
        self.hurry_in(GATHER_ANSWER_MS);
    }

    fn hurry_in(&self, ms: u64) {
        let mut queue = self.queue.borrow_mut();
        let due = now_ms().saturating_add(ms);
        queue.due = if queue.waiting.is_empty() { due } else { queue.due.min(due) };
    }

    /// Milliseconds until what waits is to be written; `None` when nothing does.
    #[must_use]
    pub fn due_in_ms(&self, now: u64) -> Option<u64> {
        let queue = self.queue.borrow();
        if queue.waiting.is_empty() {
            return None;
        }
        if !queue.listeners.is_empty() || queue.waiting.len() >= MAX_BATCH {
            return Some(0);
        }
        Some(queue.due.saturating_sub(now).min(GATHER_BEGINNING_MS))
    }

    /// Forgets the entries of the journal that are not written yet: the run ends, and its record with
    /// it.
    pub fn forget_entries(&self) {
        let mut queue = self.queue.borrow_mut();
        let before = queue.waiting.len();
        queue.waiting.retain(|item| !matches!(item, Item::Entry(_)));
        let gone = before.saturating_sub(queue.waiting.len());
        queue.stored = queue.stored.saturating_add(u64::try_from(gone).unwrap_or(0));
    }

    /// Forgets the attempt's own row if it is not written yet: its end writes it.
    pub fn forget_beginning(&self) {
        let mut queue = self.queue.borrow_mut();
        if std::mem::take(&mut queue.begins) && queue.waiting.pop_front().is_some() {
            queue.stored = queue.stored.saturating_add(1);
        }
    }

    /// Forgets the row of the record if it is not written yet; whether it was not.
    #[must_use]
    pub fn forget_record(&self) -> bool {
        self.queue.borrow_mut().record.take().is_some()
    }

    /// Whether anything was ever written of the journal.
    #[must_use]
    pub fn has_entries(&self) -> bool {
        self.queue.borrow().seq > 0
    }

    /// Waits until everything queued so far is stored. Never returns when it cannot be: then the
    /// run ends for that reason.
    pub async fn stored(&self) {
        let waiting = {
            let mut queue = self.queue.borrow_mut();
            if queue.stored >= queue.queued {
                return;
            }
            let (sender, receiver) = oneshot::channel();
            let upto = queue.queued;
            queue.listeners.push((upto, sender));
            receiver
        };
        if waiting.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether anything waits to be written.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.borrow().waiting.is_empty()
    }

    /// Rows that the last statement written changed: none, when another has the fence.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.queue.borrow().changed
    }

    /// Writes one batch of what waits. One caller at a time: the driver.
    ///
    /// # Errors
    ///
    /// When D1 refuses the batch twice; then none of it is stored.
    pub async fn write(&self) -> Result<(), StoreError> {
        let batch = self.take();
        if batch.statements.is_empty() {
            return Ok(());
        }
        let changes = match self.db.batch(&batch.statements).await {
            Ok(changes) => changes,
            // Every statement of an attempt can be written twice: once more for a passing fault.
            Err(first) => self
                .db
                .batch(&batch.statements)
                .await
                .map_err(|second| StoreError(format!("{first}; again: {second}")))?,
        };
        if changes.iter().take(batch.fenced).any(|changed| *changed == 0) {
            return Err(StoreError("another attempt has the run".to_owned()));
        }
        let mut queue = self.queue.borrow_mut();
        queue.changed = changes.last().copied().unwrap_or_default();
        queue.stored = queue.stored.saturating_add(u64::try_from(batch.items).unwrap_or(0));
        let stored = queue.stored;
        let (heard, waiting) =
            std::mem::take(&mut queue.listeners).into_iter().partition(|(upto, _)| *upto <= stored);
        queue.listeners = waiting;
        drop(queue);
        let heard: Vec<(u64, oneshot::Sender<()>)> = heard;
        for (_, listener) in heard {
            // Whoever waited may be gone.
            let _ = listener.send(());
        }
        Ok(())
    }

    fn take(&self) -> Batch {
        let mut queue = self.queue.borrow_mut();
        queue.begins = false;
        let mut batch = Batch::default();
        let mut calls = Vec::new();
        let mut journal = String::new();
        let mut bytes = 0_usize;
        while batch.items < MAX_BATCH
            && let Some(next) = queue.waiting.front()
        {
            let weight = next.weight();
            if batch.items > 0 && bytes.saturating_add(weight) > MAX_BATCH_BYTES {
                break;
            }
            bytes = bytes.saturating_add(weight);
            batch.items = batch.items.saturating_add(1);
            match queue.waiting.pop_front() {
                Some(Item::Statement(statement)) => batch.statements.push(statement),
                Some(Item::Call(change)) => calls.push(change),
                Some(Item::Entry(line)) => {
                    journal.push_str(&line);
                    journal.push('\n');
                }
                None => break,
            }
        }
        // First, while the run is still this attempt's: the last statements may end it.
        let mut first = Vec::new();
        if !journal.is_empty() {
            first = journal::append(&self.run, self.fence, queue.seq, &journal);
            batch.fenced = first.len();
            queue.seq = queue.seq.saturating_add(u64::try_from(first.len()).unwrap_or(0));
        }
        if batch.items > 0 {
            first.extend(queue.record.take());
        }
        if !calls.is_empty() {
            first.push(dispatches::write(&self.run, self.fence, &calls));
        }
        first.append(&mut batch.statements);
        batch.statements = first;
        batch
    }
}
