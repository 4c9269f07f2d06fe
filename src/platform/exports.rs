//! `ctx.exports`: calls of this worker's own named entrypoints, each a request of its own.
//!
//! An attempt runs behind such a call: the request ends with it, and with the request whatever the
//! program left running. Each has its own allowance of sub-workers in flight.

use super::clock::sleep_ms;
use super::thrown::{Thrown, required, settled};
use futures_channel::oneshot;
use futures_util::future::{Either, FutureExt as _, LocalBoxFuture, Shared, select};
use js_sys::{Array, Function, Promise, Reflect};
use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;
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
            told: &JsValue,
        ) -> Result<Promise, JsValue>;
    }
}

/// Tells an attempt that its caller has left. Dropping it says nothing.
#[derive(Debug)]
pub struct HangUp(oneshot::Sender<String>);

/// What the attempt's request listens to.
#[derive(Clone)]
pub struct Aborted {
    hung_up: Shared<LocalBoxFuture<'static, String>>,
    told: Option<Told>,
}

impl std::fmt::Debug for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aborted").field("told", &self.told).finish_non_exhaustive()
    }
}

/// How often an attempt tells how far it is, in milliseconds: as often as its caller's answer beats.
const TELL_MS: u64 = 1_000;

/// The newest of what was told and is not passed on yet.
#[derive(Debug, Clone, Default)]
pub struct Told(Rc<RefCell<Option<String>>>);

impl Told {
    /// Takes the place of what was told before.
    pub fn put(&self, text: String) {
        *self.0.borrow_mut() = Some(text);
    }

    /// What is new.
    #[must_use]
    pub fn take(&self) -> Option<String> {
        self.0.borrow_mut().take()
    }
}

/// A pair: who may hang up, and what hears it.
#[must_use]
pub fn hang_up() -> (HangUp, Aborted) {
    let (sender, receiver) = oneshot::channel();
    let hung_up = async move {
        match receiver.await {
            Ok(why) => why,
            // The other side was dropped without a word: wait for ever, the attempt ends by itself.
            Err(_) => std::future::pending().await,
        }
    };
    (HangUp(sender), Aborted { hung_up: hung_up.boxed_local().shared(), told: None })
}

impl Aborted {
    /// The same, and what the attempt tells of its calls is put there.
    #[must_use]
    pub fn telling(self, told: Option<Told>) -> Self {
        Self { told, ..self }
    }

    /// Where it is put.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        self.told.clone()
    }
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
    let Aborted { hung_up, told } = aborted;
    let lent = Closure::<dyn Fn() -> Promise>::new(move || {
        let hung_up = hung_up.clone();
        future_to_promise(std::panic::AssertUnwindSafe(
            async move { Ok(JsValue::from(hung_up.await)) },
        ))
    });
    let listener = told.map(|told| Closure::<dyn Fn(String)>::new(move |text| told.put(text)));
    let nobody = JsValue::UNDEFINED;
    let hears = listener.as_ref().map_or(&nobody, AsRef::as_ref);
    let called = attempt.start(order, lent.as_ref().unchecked_ref(), hears);
    let settled = settled(called).await;
    drop((lent, listener));
    let value = settled?;
    value.as_string().ok_or_else(|| Thrown::ours("the attempt must answer with text"))
}

/// How long an attempt goes before it listens to its caller, in milliseconds: most are over by then, and
/// nobody hangs up before the first beat of an answer.
const LISTEN_AFTER_MS: u64 = 100;

/// Waits until the caller of this attempt hangs up, and says why. Never returns otherwise.
pub async fn caller_left(aborted: Function) -> String {
    sleep_ms(LISTEN_AFTER_MS).await;
    // `aborted` is a stub: `aborted.call(…)` would ask the other side for a method of that name.
    let asked = Reflect::apply(&aborted, &JsValue::UNDEFINED, &Array::new());
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

/// Tells the caller of this attempt how far its calls are.
#[derive(Debug, Clone)]
pub struct Teller(Function);

impl Teller {
    /// By what the caller lent; `None` where it does not want to know.
    #[must_use]
    pub fn of(told: JsValue) -> Option<Self> {
        told.is_function().then(|| Self(told.unchecked_into()))
    }

    /// Passes on what is put into `told` for as long as `work` lasts, and gives what it came to.
    pub async fn during<T>(&self, told: &Told, work: impl Future<Output = T>) -> T {
        match select(pin!(work), pin!(self.pass_on(told))).await {
            Either::Left((came, _)) => came,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn pass_on(&self, told: &Told) -> Infallible {
        loop {
            sleep_ms(TELL_MS).await;
            let Some(text) = told.take() else { continue };
            let called = Reflect::apply(&self.0, &JsValue::UNDEFINED, &Array::of1(&text.into()));
            // Whoever has left need not know: the attempt is told that by another way.
            if let Ok(heard) = called {
                let _ = JsFuture::from(Promise::resolve(&heard)).await;
            }
        }
    }
}
