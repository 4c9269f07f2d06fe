//! A panic is reported although it ends the Wasm instance.
//!
//! The hook hands a text to JavaScript and returns: the request made there belongs to
//! JavaScript and outlives the instance (platform §10). Where to send it was told beforehand,
//! by [`aim`], and is kept in JavaScript too. Rust asks for neither randomness nor a clock here:
//! both could panic again.
//!
//! What else becomes of a panic is in `panic.js`: every request that was in flight on the
//! instance is told, so that the entry shell can answer it.

use std::cell::Cell;
use std::panic::PanicHookInfo;

use serde_json::{Value, json};

use super::config::SentryConfig;
use super::redact::Redactor;
use super::transport;
use crate::error::message::is_bare_timeout;
use crate::error::{Code, Fault};

mod sys {
    //! `panic.js` as it is.

    use wasm_bindgen::prelude::*;

    #[wasm_bindgen(module = "/src/report/panic.js")]
    extern "C" {
        /// Says where reports go.
        #[wasm_bindgen(catch)]
        pub(super) fn aim(
            url: &str,
            auth: &str,
            environment: &str,
            release: &str,
            sdk: &str,
            version: &str,
        ) -> Result<(), JsValue>;

        /// Says what requests in flight are answered.
        #[wasm_bindgen(catch)]
        pub(super) fn prepare(json: &str) -> Result<(), JsValue>;

        /// Sends the report, and tells the requests in flight.
        #[wasm_bindgen(catch)]
        pub(super) fn panicked(
            message: &str,
            file: &str,
            line: u32,
            column: u32,
        ) -> Result<(), JsValue>;
    }
}

thread_local! {
    static AIMED: Cell<bool> = const { Cell::new(false) };
}

/// Puts our hook in front of the one that is there, which prints and marks the instance dead.
/// To be called once an instance, from the start handler.
pub fn install() {
    let next = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        report(info);
        next(info);
    }));
}

/// Says where panics are reported to, and what requests in flight are answered. Costs something
/// once an instance; without a DSN nothing is sent, but the requests are answered all the same.
pub fn aim(config: &SentryConfig) {
    if AIMED.get() {
        return;
    }
    AIMED.set(true);
    let own = Fault::internal("{correlation}", "a panic");
    let gone = Fault::new(
        Code::SandboxGone,
        "The sandbox of this run is gone: the instance of Holdfast that watched it died.",
    );
    let refusals = json!({ "own": refusal(&own), "others": refusal(&gone) }).to_string();
    if sys::prepare(&refusals).is_err() {
        worker::console_warn!("panics: requests in flight will not be answered");
    }
    let Some(dsn) = &config.dsn else { return };
    let aimed = sys::aim(
        &dsn.endpoint(),
        &transport::auth(dsn),
        &config.environment,
        &config.release,
        super::losses::SDK_NAME,
        super::losses::SDK_VERSION,
    );
    if aimed.is_err() {
        worker::console_warn!("sentry: panics will not be reported");
    }
}

/// What `in_flight.js` makes an answer of.
fn refusal(fault: &Fault) -> Value {
    json!({
        "status": fault.status(),
        "code": fault.code.entry().code,
        "body": json!({ "error": fault.to_json() }).to_string(),
    })
}

fn report(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("panic without a message");
    // The message may hold a value that was formatted into it. No given secrets here: there is
    // nobody to ask for them any more.
    let message = Redactor::default().text(message).into_owned();
    let (file, line, column) =
        info.location().map_or(("", 0, 0), |place| (place.file(), place.line(), place.column()));
    let message = if is_bare_timeout(&message) { format!("panic: {message}") } else { message };
    // Whoever could be told of a failure here is gone.
    let _ = sys::panicked(&message, short(file), line, column);
}

/// A path without where the machine that built it keeps its sources.
fn short(file: &str) -> &str {
    match file.rfind("/src/") {
        Some(src) => {
            let before = file.get(..src).unwrap_or_default();
            let name = before.rfind('/').map_or(0, |slash| slash.saturating_add(1));
            file.get(name..).unwrap_or(file)
        }
        None => file,
    }
}
