//! The record of a run, written behind it.
//!
//! Statements are queued in order and sent in batches, one batch at a time, so that the stored
//! part is always a beginning of the one true history. Reads never wait for it; effects, and the
//! end of the run, wait until everything before them is stored.

use crate::store::db::{Db, Statement, StoreError};
use futures_channel::oneshot;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Statements of one batch at most: D1 runs a batch as one transaction, and 30 s is its limit.
const MAX_BATCH: usize = 50;

/// Bytes of one batch at most, so that no request to D1 grows past what an isolate holds easily.
const MAX_BATCH_BYTES: usize = 4_000_000;

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Statement>,
    /// How many statements were ever queued, and how many of them are stored.
    queued: u64,
    stored: u64,
    /// Rows that the last statement changed.
    changed: u64,
    listeners: Vec<(u64, oneshot::Sender<()>)>,
}

/// The queue of one attempt. Clones share it.
#[derive(Debug, Clone)]
pub struct Recorder {
    db: Rc<Db>,
    queue: Rc<RefCell<Queue>>,
}

impl Recorder {
    /// An empty queue in front of `db`.
    #[must_use]
    pub fn new(db: Rc<Db>) -> Self {
        Self { db, queue: Rc::default() }
    }

    /// Queues statements, in order.
    pub fn push(&self, statements: impl IntoIterator<Item = Statement>) {
        let mut queue = self.queue.borrow_mut();
        for statement in statements {
            queue.waiting.push_back(statement);
            queue.queued = queue.queued.saturating_add(1);
        }
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
        if batch.is_empty() {
            return Ok(());
        }
        let changes = match self.db.batch(&batch).await {
            Ok(changes) => changes,
            // Every statement of an attempt can be written twice: once more for a passing fault.
            Err(first) => self
                .db
                .batch(&batch)
                .await
                .map_err(|second| StoreError(format!("{first}; again: {second}")))?,
        };
        let mut queue = self.queue.borrow_mut();
        queue.changed = changes.last().copied().unwrap_or_default();
        queue.stored = queue.stored.saturating_add(u64::try_from(batch.len()).unwrap_or(0));
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

    fn take(&self) -> Vec<Statement> {
        let mut queue = self.queue.borrow_mut();
        let mut batch = Vec::new();
        let mut bytes = 0_usize;
        while batch.len() < MAX_BATCH
            && let Some(next) = queue.waiting.front()
        {
            let weight = next.weight();
            if !batch.is_empty() && bytes.saturating_add(weight) > MAX_BATCH_BYTES {
                break;
            }
            bytes = bytes.saturating_add(weight);
            batch.extend(queue.waiting.pop_front());
        }
        batch
    }
}
