//! An answer that is still open: the head at once, a beat a second, the result at the end.

use super::{Answer, Ask, Reply, ToolAnswer, accept::Accept, answer::json_text, sse};
use serde::Serialize;
use serde_json::value::RawValue;

/// Milliseconds a call may be open before its answer is streamed.
pub const STREAM_AFTER_MS: u64 = 1_000;

/// Milliseconds between two progress notifications: well below the shortest patience seen in a
/// client that progress renews (60 s), and few enough not to fill a log.
const PROGRESS_EVERY_MS: u64 = 5_000;

/// The pieces of one answer. The worker sends [`Stream::head`], then [`Stream::beat`] each
/// second, then [`Stream::end`] and closes. A write that fails is the hang-up: it drops the call.
#[derive(Debug)]
pub struct Stream {
    reply: Reply,
    /// Elapsed milliseconds at the last progress notification.
    progress_at_ms: u64,
}

#[derive(Serialize)]
struct Progress<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: ProgressParams<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RawValue,
    progress: u64,
    message: String,
}

impl Stream {
    pub(super) fn new(reply: Reply) -> Self {
        Self { reply, progress_at_ms: 0 }
    }

    /// Status and headers; the body is empty, for the pieces follow. The status is 200 whatever
    /// comes, as it is for every answer to a dispatched request.
    #[must_use]
    pub fn head(&self) -> Answer {
        let mut head = Answer::json(200, Vec::new());
        if self.is_sse() {
            head.headers = sse::headers();
        }
        head.with_all(&self.reply.cors)
    }

    /// One beat: an SSE comment or, for a client that takes JSON only, a space in front of the
    /// JSON. With it, now and then, the progress that the client asked for.
    ///
    /// `elapsed_ms` counts from the start of the call; `told` is what is new of it, and goes at once.
    pub fn beat(&mut self, elapsed_ms: u64, told: Option<String>) -> Vec<u8> {
        if !self.is_sse() {
            return b" ".to_vec();
        }
        let mut out = sse::BEAT.to_vec();
        // `progress` has to grow: a clock that stands still tells nothing.
        let since = elapsed_ms.saturating_sub(self.progress_at_ms);
        let due = since >= if told.is_some() { 1 } else { PROGRESS_EVERY_MS };
        if let Some(token) = self.reply.progress_token.as_deref().filter(|_| due) {
            self.progress_at_ms = elapsed_ms;
            // The message counts whole seconds; `progress` itself strictly grows with the time.
            let running = || format!("running for {} s", elapsed_ms.div_euclid(1_000));
            let message = told.unwrap_or_else(running);
            let params = ProgressParams { progress_token: token, progress: elapsed_ms, message };
            let method = "notifications/progress";
            let progress = Progress { jsonrpc: "2.0", method, params };
            out.extend(sse::event(&json_text(&progress)));
        }
        out
    }

    /// The last piece.
    #[must_use]
    pub fn end(&self, outcome: &ToolAnswer) -> Vec<u8> {
        let body = self.reply.body(outcome, self.is_sse());
        if self.is_sse() { sse::event(&body) } else { body.into_bytes() }
    }

    /// The last piece, in place of an outcome: the client is asked to come back.
    #[must_use]
    pub fn ask(&self, ask: &Ask) -> Vec<u8> {
        let body = self.reply.asking(ask);
        if self.is_sse() { sse::event(&body) } else { body.into_bytes() }
    }

    fn is_sse(&self) -> bool {
        self.reply.accept != Accept::Json
    }
}
