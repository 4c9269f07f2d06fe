//! Requests to the Sentry server, and to no other host.
//!
//! A retry, when there is no answer at all, has the same bytes and so the same ids. Any answer
//! is final: a client must not send an envelope again that the server has refused. What goes
//! wrong here is a line in the log, without payload and DSN, and never an event of its own.

use js_sys::{Array, Float64Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use worker::Date;

use super::dsn::Dsn;
use super::losses::{SDK_NAME, SDK_VERSION};

pub(super) mod sys {
    //! `transport.js` and `body.js` as they are.

    use js_sys::{Float64Array, Uint8Array};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen(module = "/src/report/transport.js")]
    extern "C" {
        /// Posts and reads the answer.
        #[wasm_bindgen(catch)]
        pub(in crate::report) async fn post(
            url: &str,
            headers: Vec<String>,
            body: &JsValue,
            timeout_ms: f64,
        ) -> Result<JsValue, JsValue>;
    }

    #[wasm_bindgen(module = "/src/report/transport.js")]
    extern "C" {
        /// 32 random hex digits.
        #[wasm_bindgen(catch, js_name = eventId)]
        pub(in crate::report) fn event_id() -> Result<String, JsValue>;
    }

    #[wasm_bindgen(module = "/src/report/body.js")]
    extern "C" {
        /// Whether a body in this encoding can be read here.
        #[wasm_bindgen(catch, js_name = canInflate)]
        pub(in crate::report) fn can_inflate(encoding: &str) -> Result<bool, JsValue>;

        /// A body that is being read.
        #[derive(Debug)]
        pub(in crate::report) type EnvelopeBody;

        #[wasm_bindgen(constructor, catch)]
        pub(in crate::report) fn new(
            stream: &JsValue,
            encoding: &str,
            limit: f64,
        ) -> Result<EnvelopeBody, JsValue>;

        #[wasm_bindgen(method, catch)]
        pub(in crate::report) async fn next(this: &EnvelopeBody) -> Result<JsValue, JsValue>;

        #[wasm_bindgen(method, getter, catch)]
        pub(in crate::report) fn outgrown(this: &EnvelopeBody) -> Result<bool, JsValue>;

        #[wasm_bindgen(method, catch)]
        pub(in crate::report) async fn cancel(this: &EnvelopeBody) -> Result<JsValue, JsValue>;

        /// Bytes held outside of Wasm.
        #[derive(Debug)]
        pub(in crate::report) type Held;

        #[wasm_bindgen(constructor, catch)]
        pub(in crate::report) fn new() -> Result<Held, JsValue>;

        #[wasm_bindgen(method, catch)]
        pub(in crate::report) fn push(this: &Held, piece: &Uint8Array) -> Result<(), JsValue>;

        #[wasm_bindgen(method, catch)]
        pub(in crate::report) fn clear(this: &Held) -> Result<(), JsValue>;

        #[wasm_bindgen(method, catch)]
        pub(in crate::report) fn stream(
            this: &Held,
            ranges: &Float64Array,
        ) -> Result<JsValue, JsValue>;
    }
}

/// What is posted.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    /// An envelope of our own.
    Text(&'a str),
    /// Parts of an envelope that a client sent: start, end, start, end, ….
    Held(&'a sys::Held, Float64Array),
}

impl Payload<'_> {
    /// A body for one request. A stream serves one request only.
    fn body(&self) -> Result<JsValue, JsValue> {
        match self {
            Self::Text(text) => Ok(JsValue::from_str(text)),
            Self::Held(held, ranges) => held.stream(ranges),
        }
    }
}

/// The server's answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) rate_limits: Option<String>,
    pub(super) error: Option<String>,
    /// At most 64 KiB of it.
    pub(super) body: Vec<u8>,
}

/// There was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// Not in time.
    TimedOut,
    /// The server could not be reached, or what it said was no answer.
    Failed,
}

/// Posts an envelope to the server of `dsn`, at most `attempts` times and within `timeout_ms` in all.
pub(super) async fn post(
    dsn: &Dsn,
    payload: &Payload<'_>,
    more_headers: &[(&str, String)],
    attempts: u8,
    timeout_ms: u32,
) -> Result<Answer, NoAnswer> {
    let url = dsn.endpoint();
    let mut headers = vec![
        "content-type".to_owned(),
        "application/x-sentry-envelope".to_owned(),
        "x-sentry-auth".to_owned(),
        auth(dsn),
    ];
    for (name, value) in more_headers {
        headers.extend([(*name).to_owned(), value.clone()]);
    }
    let ends_at = now_ms().saturating_add(u64::from(timeout_ms));
    for attempt in 1..=attempts {
        let left_ms = ends_at.saturating_sub(now_ms());
        let Some(left_ms) = u32::try_from(left_ms).ok().filter(|left_ms| *left_ms > 0) else {
            return Err(NoAnswer::TimedOut);
        };
        let body = payload.body().map_err(|_| NoAnswer::Failed)?;
        match sys::post(&url, headers.clone(), &body, f64::from(left_ms)).await {
            Ok(answer) => return read_answer(&answer).ok_or(NoAnswer::Failed),
            Err(thrown) if is_timeout(&thrown) => return Err(NoAnswer::TimedOut),
            Err(_) => worker::console_warn!("sentry: no answer to attempt {attempt} of {attempts}"),
        }
    }
    Err(NoAnswer::Failed)
}

/// Our `X-Sentry-Auth`.
pub(super) fn auth(dsn: &Dsn) -> String {
    format!(
        "Sentry sentry_version=7, sentry_client={SDK_NAME}/{SDK_VERSION}, sentry_key={}",
        dsn.key()
    )
}

/// The clock: Unix milliseconds. In production it stands still between two I/O operations.
pub(super) fn now_ms() -> u64 {
    Date::now().as_millis()
}

fn is_timeout(thrown: &JsValue) -> bool {
    thrown
        .dyn_ref::<js_sys::Object>()
        .and_then(|error| js_sys::Reflect::get(error, &JsValue::from_str("name")).ok())
        .and_then(|name| name.as_string())
        .is_some_and(|name| name == "TimeoutError")
}

fn read_answer(answer: &JsValue) -> Option<Answer> {
    let answer = answer.dyn_ref::<Array>()?;
    let headers = answer.get(1).dyn_into::<Array>().ok()?;
    let header = |place| headers.get(place).as_string();
    Some(Answer {
        status: answer.get(0).as_string()?.parse().ok()?,
        content_type: header(0),
        retry_after: header(1),
        rate_limits: header(2),
        error: header(3),
        body: answer.get(2).dyn_into::<Uint8Array>().ok()?.to_vec(),
    })
}
