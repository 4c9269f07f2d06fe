//! The record of a run, written behind it.
//!
//! Statements are queued in order and sent in batches, one batch at a time, so that the stored
//! part is always a beginning of the one true history. Reads never wait for it: what they queue is
//! gathered for a moment, so that many of them are one batch. Effects, and the end of the run, wait
//! until everything before them is stored. The entries of the journal that wait
//! together are written as one text. When its rows change nothing, another attempt has the fence:
//! then nothing further is written, and whoever waits for it never goes on.

use crate::platform::clock::now_ms;
use crate::store::db::{Db, Statement, StoreError};
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

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Item>,
    /// When the oldest of what waits was queued.
    since: u64,
    /// Somebody waits for what is queued, or is about to.
    hurried: bool,
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
    /// An entry of the journal, one line without its end.
    Entry(String),
}

impl Item {
    fn weight(&self) -> usize {
        match self {
            Self::Statement(statement) => statement.weight(),
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
    /// An empty queue in front of `db`, for the attempt of `run` that has `fence`.
    #[must_use]
    pub fn new(db: Rc<Db>, run: &str, fence: u64) -> Self {
        Self { db, run: run.into(), fence, queue: Rc::default() }
    }

    /// The journal goes on with the row `seq`.
    pub fn resume_at(&self, seq: u64) {
        self.queue.borrow_mut().seq = seq;
    }

    /// Queues statements, in order.
    pub fn push(&self, statements: impl IntoIterator<Item = Statement>) {
        self.queue_all(statements.into_iter().map(Item::Statement));
    }

    /// Queues entries of the journal, one line each.
    pub fn append(&self, lines: impl IntoIterator<Item = String>) {
        self.queue_all(lines.into_iter().map(Item::Entry));
    }

    fn queue_all(&self, items: impl Iterator<Item = Item>) {
        let mut queue = self.queue.borrow_mut();
        let now = now_ms();
        for item in items {
            if queue.waiting.is_empty() {
                queue.since = now;
            }
            queue.waiting.push_back(item);
            queue.queued = queue.queued.saturating_add(1);
        }
    }

    /// What is queued is to be written at once: somebody is about to wait for it.
    pub fn hurry(&self) {
        self.queue.borrow_mut().hurried = true;
    }

    /// Milliseconds until what waits is to be written; `None` when nothing does.
    #[must_use]
    pub fn due_in_ms(&self, now: u64) -> Option<u64> {
        let queue = self.queue.borrow();
        if queue.waiting.is_empty() {
            return None;
        }
        if queue.hurried || !queue.listeners.is_empty() || queue.waiting.len() >= MAX_BATCH {
            return Some(0);
        }
        Some(queue.since.saturating_add(GATHER_MS).saturating_sub(now).min(GATHER_MS))
    }

    /// Forgets the entries of the journal that are not written yet: the run ends, and its record with
    /// it.
    pub fn forget_entries(&self) {
        let mut queue = self.queue.borrow_mut();
        let before = queue.waiting.len();
        queue.waiting.retain(|item| matches!(item, Item::Statement(_)));
        let gone = before.saturating_sub(queue.waiting.len());
        queue.stored = queue.stored.saturating_add(u64::try_from(gone).unwrap_or(0));
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
        queue.hurried = false;
        let mut batch = Batch::default();
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
                Some(Item::Entry(line)) => {
                    journal.push_str(&line);
                    journal.push('\n');
                }
                None => break,
            }
        }
        if !journal.is_empty() {
            let mut rows = journal::append(&self.run, self.fence, queue.seq, &journal);
            batch.fenced = rows.len();
            queue.seq = queue.seq.saturating_add(u64::try_from(rows.len()).unwrap_or(0));
            // First, while the run is still this attempt's: the last statements may end it.
            rows.append(&mut batch.statements);
            batch.statements = rows;
        }
        batch
    }
}
