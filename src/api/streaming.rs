//! Answering a run that takes its time.
//!
//! A hang-up shows only when something is written: the platform tells nobody about a silent
//! stream. So an answer that is open after a second is streamed, a beat a second: a space, which
//! JSON skips, over HTTP; an SSE comment over MCP. When the stream is dropped before its end, the
//! caller has left, and the run is cancelled.

use super::{App, internal, json_text};
use crate::attempt::Order;
use crate::error::Fault;
use crate::ledger::{self, Answered};
use crate::platform::clock::sleep_ms;
use crate::platform::exports::{HangUp, Told, hang_up};
use crate::runs;
use crate::store::runs as table;
use futures_channel::oneshot;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use futures_util::stream::Stream;
use futures_util::{pin_mut, select_biased};
use serde_json::json;
use std::pin::Pin;
use std::task::{Context, Poll};
use worker::{Headers, Response};

/// How long an answer may be silent, in milliseconds.
pub const BEAT_MS: u64 = 1_000;

/// How long a keyed run may have no beat because it has not begun: 30 looks, 100 ms apart. An owner
/// is waited for a second, and a machine at its limits is slow.
const KEYED_LOOKS: u32 = 30;
const KEYED_LOOK_MS: u64 = 100;

/// What a run's caller is told, in either form: the response as it is stored, or why there is none.
pub type RunAnswer = Result<Answered, Fault>;

/// How an answer is written once it is streamed.
pub trait Framing {
    /// Headers of the answer; its status is 200, for the run is accepted.
    fn headers(&self) -> Vec<(String, String)>;
    /// A sign of life, `elapsed_ms` after the stream began.
    fn beat(&mut self, elapsed_ms: u64) -> Vec<u8>;
    /// The outcome, with which the stream ends.
    fn end(&mut self, answer: &RunAnswer) -> Vec<u8>;
}

/// JSON over HTTP: a space is the beat. What was answered is what is stored, the beats aside.
#[derive(Debug)]
pub struct JsonFraming;

impl Framing for JsonFraming {
    fn headers(&self) -> Vec<(String, String)> {
        vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("cache-control".to_owned(), "no-store".to_owned()),
            ("x-content-type-options".to_owned(), "nosniff".to_owned()),
        ]
    }

    fn beat(&mut self, _elapsed_ms: u64) -> Vec<u8> {
        b" ".to_vec()
    }

    fn end(&mut self, answer: &RunAnswer) -> Vec<u8> {
        match answer {
            Ok(answered) => answered.text.clone().into_bytes(),
            // The status is sent already; the shape still tells.
            Err(fault) => json!({ "error": fault.to_json() }).to_string().into_bytes(),
        }
    }
}

/// Runs an order. Its end is awaited for a second; then the answer is streamed in `framing`.
///
/// The run itself lives in `waitUntil`: it outlives a caller that hangs up for as long as it needs
/// to stop what is in flight and to be stored as cancelled. How far its calls are is put into `told`.
///
/// # Errors
///
/// [`Open`], which is no failure: the run goes on, and its answer is to be streamed.
pub async fn run(app: &App, order: Order, told: Option<Told>) -> Result<RunAnswer, Open> {
    let (hang_up, aborted) = hang_up();
    let aborted = aborted.telling(told);
    let (sender, receiver) = oneshot::channel();
    let hands = app.hands();
    let keyed = order.claim.is_some().then(|| order.run_id.clone());
    app.ctx.wait_until(async move {
        let answer = ledger::start(&hands, &order, aborted).await;
        let waits = answer.as_ref().is_ok_and(|answered| runs::waits(&answered.text));
        // The caller may have left; the outcome is stored all the same.
        let _ = sender.send(answer);
        if waits {
            // Somebody may have decided while it parked.
            hands.take_up(&order.run_id).await;
        }
    });
    let mut answer: LocalBoxFuture<'static, RunAnswer> = async move {
        match receiver.await {
            Ok(answer) => answer,
            Err(_) => Err(internal("the run's task ended without an answer")),
        }
    }
    .boxed_local();
    if let Some(answer) = within(&mut answer, BEAT_MS).await {
        return Ok(answer);
    }
    // Until it has begun, a keyed run may be another's, which is told by the status and a header.
    for _ in 0..KEYED_LOOKS {
        let Some(run_id) = &keyed else { break };
        if !matches!(table::any(&app.db, run_id).await, Ok(None)) {
            break;
        }
        if let Some(answer) = within(&mut answer, KEYED_LOOK_MS).await {
            return Ok(answer);
        }
    }
    Err(Open { answer, hang_up: Some(hang_up) })
}

/// Waits for what is answered about a run that somebody else began: for a second; then the answer is
/// streamed. Whoever hangs up on it cancels nothing.
///
/// # Errors
///
/// [`Open`], which is no failure: the answer is to be streamed.
pub async fn look(answer: impl Future<Output = RunAnswer> + 'static) -> Result<RunAnswer, Open> {
    let mut answer = answer.boxed_local();
    match within(&mut answer, BEAT_MS).await {
        Some(answer) => Ok(answer),
        None => Err(Open { answer, hang_up: None }),
    }
}

/// The answer, if it is there in `ms` milliseconds.
async fn within(answer: &mut LocalBoxFuture<'static, RunAnswer>, ms: u64) -> Option<RunAnswer> {
    let late = sleep_ms(ms).fuse();
    let soon = answer.fuse();
    pin_mut!(late, soon);
    select_biased! {
        answer = soon => Some(answer),
        () = late => None,
    }
}

/// An answer that is not there yet, and the way to hang up on it.
pub struct Open {
    answer: LocalBoxFuture<'static, RunAnswer>,
    hang_up: Option<HangUp>,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").finish_non_exhaustive()
    }
}

impl Open {
    /// The streamed response.
    ///
    /// # Errors
    ///
    /// When the platform cannot make one.
    pub fn stream(self, framing: impl Framing + 'static) -> Result<Response, Fault> {
        let headers = Headers::new();
        let made = || -> worker::Result<Response> {
            for (name, value) in framing.headers() {
                headers.set(&name, &value)?;
            }
            let beats = Beats {
                answer: self.answer,
                hang_up: self.hang_up,
                framing: Box::new(framing),
                pause: sleep_ms(BEAT_MS).boxed_local(),
                elapsed_ms: BEAT_MS,
                begun: false,
                ended: false,
            };
            Ok(Response::from_stream(beats)?.with_headers(headers))
        };
        made().map_err(|error| internal(&error.to_string()))
    }
}

/// Answers a run over HTTP.
///
/// # Errors
///
/// Why there is no run.
pub async fn answer(app: &App, order: Order) -> Result<Response, Fault> {
    json(run(app, order, None).await)
}

/// Answers over HTTP what is there, or streams it.
///
/// # Errors
///
/// Why there is nothing.
pub fn json(answer: Result<RunAnswer, Open>) -> Result<Response, Fault> {
    match answer {
        Ok(answer) => {
            let answered = answer?;
            let response = json_text(answered.text, 200)?;
            if answered.replayed {
                let marked = response.headers().set("idempotency-replayed", "true");
                marked.map_err(|error| internal(&error.to_string()))?;
            }
            Ok(response)
        }
        Err(open) => open.stream(JsonFraming),
    }
}

struct Beats {
    answer: LocalBoxFuture<'static, RunAnswer>,
    hang_up: Option<HangUp>,
    framing: Box<dyn Framing>,
    pause: LocalBoxFuture<'static, ()>,
    elapsed_ms: u64,
    begun: bool,
    ended: bool,
}

impl Stream for Beats {
    type Item = worker::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(answer) = self.answer.poll_unpin(cx) {
            self.hang_up = None;
            self.ended = true;
            let end = self.framing.end(&answer);
            return Poll::Ready(Some(Ok(end)));
        }
        if self.begun && self.pause.poll_unpin(cx).is_pending() {
            return Poll::Pending;
        }
        // The first beat leaves at once: a second has passed already.
        let elapsed_ms = self.elapsed_ms;
        self.begun = true;
        self.elapsed_ms = elapsed_ms.saturating_add(BEAT_MS);
        self.pause = sleep_ms(BEAT_MS).boxed_local();
        let beat = self.framing.beat(elapsed_ms);
        Poll::Ready(Some(Ok(beat)))
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        if let Some(hang_up) = self.hang_up.take() {
            hang_up.now("the caller hung up");
        }
    }
}
