//! `ctx.exports`: calls of this worker's own named entrypoints, each a request of its own.
//!
//! An attempt runs behind such a call: the request ends with it, and with the request whatever the
//! program left running. Each has its own allowance of sub-workers in flight.

use super::thrown::{Thrown, required};
use futures_channel::oneshot;
use futures_util::FutureExt as _;
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};

pub mod sys {
    //! The platform's shapes and nothing more.

    use js_sys::{Function, Promise};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// The class `Attempt` of `entry.js`.
        #[derive(Debug)]
        pub type AttemptEntrypoint;

        /// Runs an attempt; settles with the response, JSON text.
        #[wasm_bindgen(method, catch)]
        pub fn start(
            this: &AttemptEntrypoint,
            order: &str,
            aborted: &Function,
        ) -> Result<Promise, JsValue>;
    }
}

/// Tells an attempt that its caller has left. Dropping it says nothing.
#[derive(Debug)]
pub struct HangUp(oneshot::Sender<String>);

/// What the attempt's request listens to.
#[derive(Debug)]
pub struct Aborted(oneshot::Receiver<String>);

/// A pair: who may hang up, and what hears it.
#[must_use]
pub fn hang_up() -> (HangUp, Aborted) {
    let (sender, receiver) = oneshot::channel();
    (HangUp(sender), Aborted(receiver))
}

impl HangUp {
    /// Hangs up, saying why: `the caller hung up`.
    pub fn now(self, why: &str) {
        // Nobody listens any more when the attempt has ended by itself.
        let _ = self.0.send(why.to_owned());
    }
}

/// Runs an attempt in a request of its own and gives its answer, JSON text.
///
/// # Errors
///
/// What the platform throws when the request could not be made or was lost.
pub async fn start_attempt(
    ctx: &worker::Context,
    order: &str,
    aborted: Aborted,
) -> Result<String, Thrown> {
    let context: &JsValue = ctx.as_ref();
    let exports: JsValue = required(context, "exports")?;
    let attempt: sys::AttemptEntrypoint = required(&exports, "Attempt")?;
    let aborted = async move {
        match aborted.0.await {
            Ok(why) => why,
            // The other side was dropped without a word: wait for ever, the attempt ends by itself.
            Err(_) => std::future::pending().await,
        }
    }
    .boxed_local()
    .shared();
    let lent = Closure::<dyn Fn() -> Promise>::new(move || {
        let aborted = aborted.clone();
        future_to_promise(std::panic::AssertUnwindSafe(
            async move { Ok(JsValue::from(aborted.await)) },
        ))
    });
    let called = attempt.start(order, lent.as_ref().unchecked_ref());
    let settled = match called {
        Ok(promise) => JsFuture::from(promise).await,
        Err(thrown) => Err(thrown),
    };
    drop(lent);
    let value = settled.map_err(|thrown| Thrown::read(&thrown))?;
    value.as_string().ok_or_else(|| Thrown::ours("the attempt must answer with text"))
}

/// Waits until the caller of this attempt hangs up, and says why. Never returns otherwise.
pub async fn caller_left(aborted: js_sys::Function) -> String {
    // `aborted` is a stub: `aborted.call(…)` would ask the other side for a method of that name.
    let asked = js_sys::Reflect::apply(&aborted, &JsValue::UNDEFINED, &js_sys::Array::new());
    // What comes back is the platform's own thenable, not a `Promise`: adopt it.
    let asked = asked.map(|promise| Promise::resolve(&promise));
    if let Ok(promise) = asked
        && let Ok(why) = JsFuture::from(promise).await
    {
        return why.as_string().unwrap_or_else(|| "the caller left".to_owned());
    }
    // The line is lost with the caller's own request, which the platform ends this one with.
    std::future::pending().await
}
