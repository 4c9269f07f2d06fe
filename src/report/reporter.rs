//! The reporter: errors of ours are sent to Sentry, behind the answer and without a say in it.
//!
//! What is sent goes out in `wait_until`, straight to the configured server, never through our
//! own tunnel. Nothing is sent without a DSN, and then nothing is computed either. An error of
//! the reporter or the tunnel is a line in the log and never an event, and no code is sent more
//! than a few times a minute, so a loop of errors cannot feed itself.
//!
//! What is not sent is counted, and a client report tells the server. One report is on its way
//! at a time; what comes together meanwhile goes with the next.
//!
//! Between requests an isolate keeps finished values only: counts, moments, limits. No flag here
//! can be left set by a request that dies: what is claimed is claimed until a moment.

use std::cell::RefCell;

use worker::{Context, Date, DateInit};

use super::config::SentryConfig;
use super::dsn::Dsn;
use super::event::{self, Report};
use super::filter::{self, EventId};
use super::limits::{RateLimits, read_seconds};
use super::losses::{Category, Losses, Reason};
use super::redact::Redactor;
use super::transport::{self, Answer, NoAnswer, Payload, sys};

/// Milliseconds of the window in which events are counted.
const WINDOW_MS: u64 = 60_000;

/// Events of one code that one isolate sends in a window: enough to see that it goes on, too few
/// to drown another.
const MAX_PER_CODE: u32 = 5;

/// Events of all codes in a window: six codes at their most.
const MAX_PER_WINDOW: u32 = 30;

/// How long a client report may be on its way before another may set out. Longer than any of
/// them takes (see [`TIMEOUT_MS`]), because nothing tells when a request was killed.
const REPORT_CLAIM_MS: u64 = 15_000;

/// The longest that one sending of ours takes.
const TIMEOUT_MS: u32 = 10_000;

/// What an isolate remembers between requests.
#[derive(Debug)]
pub struct Outbox {
    losses: Losses,
    limits: RateLimits,
    /// Until when a client report is taken to be on its way.
    claimed_until: u64,
    window_start: u64,
    /// Events sent in the window, by code.
    sent: Vec<(String, u32)>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Outbox {
    /// Nothing sent, nothing lost.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            losses: Losses::none(),
            limits: RateLimits::none(),
            claimed_until: 0,
            window_start: 0,
            sent: Vec::new(),
        }
    }

    /// Whether an event of `code` may be sent at `now_ms`; counts it either way. `draw` is a
    /// random number from 0 to 1.
    pub fn admit(&mut self, code: &str, now_ms: u64, sample_rate: f64, draw: f64) -> bool {
        let refused = if draw >= sample_rate {
            Some(Reason::SampleRate)
        } else if self.limits.holds_errors(now_ms) {
            Some(Reason::RateLimitBackoff)
        } else if !self.has_room(code, now_ms) {
            Some(Reason::QueueOverflow)
        } else {
            None
        };
        if let Some(reason) = refused {
            self.losses.add(reason, Category::Error, 1);
        }
        refused.is_none()
    }

    fn has_room(&mut self, code: &str, now_ms: u64) -> bool {
        // A clock that was set back opens a window as well: never none for ever.
        if now_ms < self.window_start || now_ms.saturating_sub(self.window_start) >= WINDOW_MS {
            self.window_start = now_ms;
            self.sent.clear();
        }
        let total = self.sent.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        if total >= MAX_PER_WINDOW {
            return false;
        }
        match self.sent.iter_mut().find(|(known, _)| known == code) {
            Some((_, count)) if *count >= MAX_PER_CODE => false,
            Some((_, count)) => {
                *count = count.saturating_add(1);
                true
            }
            None => {
                self.sent.push((code.to_owned(), 1));
                true
            }
        }
    }

    /// Counts what was dropped.
    pub fn count(&mut self, losses: &Losses) {
        self.losses.add_all(losses);
    }

    /// Notes the limits that an answer sets.
    pub fn note(
        &mut self,
        now_ms: u64,
        status: u16,
        limits: Option<&str>,
        retry_after_ms: Option<u64>,
    ) {
        self.limits.note(now_ms, status, limits, retry_after_ms);
    }

    /// Whether there is something to report, and nobody does.
    #[must_use]
    pub fn wants_report(&self, now_ms: u64) -> bool {
        !self.losses.is_empty()
            && now_ms >= self.claimed_until
            && !self.limits.holds_client_reports(now_ms)
    }

    /// Takes all losses for a report that sets out at `now_ms`.
    pub fn take_report(&mut self, now_ms: u64) -> Option<Losses> {
        if !self.wants_report(now_ms) {
            return None;
        }
        self.claimed_until = now_ms.saturating_add(REPORT_CLAIM_MS);
        Some(std::mem::take(&mut self.losses))
    }

    /// The report that set out has arrived, or is given up.
    pub const fn end_report(&mut self) {
        self.claimed_until = 0;
    }
}

thread_local! {
    static OUTBOX: RefCell<Outbox> = const { RefCell::new(Outbox::new()) };
}

/// Uses the outbox. Borrowed for the length of `f`, which must not wait for anything.
fn with_outbox<T>(f: impl FnOnce(&mut Outbox) -> T) -> Option<T> {
    OUTBOX.with(|outbox| outbox.try_borrow_mut().ok().map(|mut outbox| f(&mut outbox)))
}

/// Sends an error of ours to Sentry, after the answer.
///
/// Returns at once, and cannot fail: what becomes of the report is the reporter's own matter.
pub fn capture(report: &Report, config: &SentryConfig, redactor: &Redactor, ctx: &Context) {
    let Some(dsn) = &config.dsn else { return };
    let now_ms = transport::now_ms();
    let draw = js_sys::Math::random();
    let admitted =
        with_outbox(|outbox| outbox.admit(&report.code, now_ms, config.sample_rate, draw));
    if admitted == Some(true) {
        match sys::event_id().ok().as_deref().and_then(EventId::parse) {
            None => worker::console_warn!("sentry: no event id could be made"),
            Some(id) => {
                let event = event::event(report, config, redactor, &id, now_ms);
                if filter::is_noise(event.as_bytes()) {
                    count_error(Reason::EventProcessor);
                } else {
                    ctx.wait_until(send(dsn.clone(), event::envelope(&event, &id, now_ms)));
                }
            }
        }
    }
    report_losses(dsn, ctx);
}

async fn send(dsn: Dsn, envelope: String) {
    match transport::post(&dsn, &Payload::Text(&envelope), &[], 2, TIMEOUT_MS).await {
        Ok(answer) => {
            note(&answer);
            // The server counts what it limits itself.
            if answer.status >= 300 && answer.status != 429 {
                worker::console_warn!("sentry: the server answered {} to an event", answer.status);
                count_error(Reason::SendError);
            }
        }
        Err(NoAnswer::TimedOut | NoAnswer::Failed) => {
            worker::console_warn!("sentry: an event could not be sent");
            count_error(Reason::NetworkError);
        }
    }
    send_losses(dsn).await;
}

/// Counts what the tunnel dropped.
pub(super) fn count(losses: &Losses) {
    if !losses.is_empty() {
        with_outbox(|outbox| outbox.count(losses));
    }
}

fn count_error(reason: Reason) {
    let mut losses = Losses::none();
    losses.add(reason, Category::Error, 1);
    count(&losses);
}

/// Reports what was dropped, after the answer, unless a report is on its way.
pub(super) fn report_losses(dsn: &Dsn, ctx: &Context) {
    let now_ms = transport::now_ms();
    if with_outbox(|outbox| outbox.wants_report(now_ms)) == Some(true) {
        ctx.wait_until(send_losses(dsn.clone()));
    }
}

async fn send_losses(dsn: Dsn) {
    loop {
        let now_ms = transport::now_ms();
        let Some(Some(losses)) = with_outbox(|outbox| outbox.take_report(now_ms)) else { return };
        let report = losses.client_report(now_ms);
        let answer = transport::post(&dsn, &Payload::Text(&report), &[], 1, TIMEOUT_MS).await;
        with_outbox(Outbox::end_report);
        match answer {
            Ok(answer) => note(&answer),
            // Best effort: nothing is sent again, or the next request would try for ever.
            Err(_) => return worker::console_warn!("sentry: a client report could not be sent"),
        }
    }
}

fn note(answer: &Answer) {
    let now_ms = transport::now_ms();
    let retry_after_ms = answer.retry_after.as_deref().map(|text| {
        read_seconds(text.trim()).unwrap_or_else(|| {
            let date = Date::from(DateInit::String(text.to_owned()));
            date.as_millis().saturating_sub(now_ms)
        })
    });
    with_outbox(|outbox| {
        outbox.note(now_ms, answer.status, answer.rate_limits.as_deref(), retry_after_ms);
    });
}
