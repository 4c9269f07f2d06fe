//! Cloudflare Workflows: the binding by which instances are made and woken, and the `step` that drives
//! one.
//!
//! Names follow the platform's own. What a step gives is text: objects would draw disposers. Handles
//! that the binding gives are disposed of here.

use super::thrown::{Thrown, required};
use js_sys::{Function, JsString, Object, Promise, Reflect, Symbol};
use std::future::Future;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};

pub mod sys {
    //! The platform's shapes and nothing more: `catch` on every method, no logic.

    use js_sys::{Date, Function, Object, Promise};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// The binding.
        #[derive(Debug, Clone)]
        pub type Workflow;

        /// Makes an instance: `{id, params}`.
        #[wasm_bindgen(method, catch)]
        pub fn create(this: &Workflow, options: &Object) -> Result<Promise, JsValue>;

        /// The instance of an id; rejects when there is none.
        #[wasm_bindgen(method, catch)]
        pub fn get(this: &Workflow, id: &str) -> Result<Promise, JsValue>;

        /// One instance.
        #[derive(Debug, Clone)]
        pub type WorkflowInstance;

        /// `{status, error?, output?}`.
        #[wasm_bindgen(method, catch)]
        pub fn status(this: &WorkflowInstance) -> Result<Promise, JsValue>;

        /// Gives it an event: `{type, payload}`.
        #[wasm_bindgen(method, catch, js_name = sendEvent)]
        pub fn send_event(this: &WorkflowInstance, event: &Object) -> Result<Promise, JsValue>;

        /// Ends it.
        #[wasm_bindgen(method, catch)]
        pub fn terminate(this: &WorkflowInstance) -> Result<Promise, JsValue>;

        /// What drives an instance.
        #[derive(Debug, Clone)]
        pub type WorkflowStep;

        /// Runs a function, again where it throws, once where it has answered.
        #[wasm_bindgen(method, catch, js_name = "do")]
        pub fn do_(
            this: &WorkflowStep,
            name: &str,
            config: &Object,
            body: &Function,
        ) -> Result<Promise, JsValue>;

        /// Hibernates.
        #[wasm_bindgen(method, catch, js_name = sleepUntil)]
        pub fn sleep_until(
            this: &WorkflowStep,
            name: &str,
            until: &Date,
        ) -> Result<Promise, JsValue>;

        /// Hibernates until an event comes: `{type, timeout}`.
        #[wasm_bindgen(method, catch, js_name = waitForEvent)]
        pub fn wait_for_event(
            this: &WorkflowStep,
            name: &str,
            options: &Object,
        ) -> Result<Promise, JsValue>;
    }

    #[wasm_bindgen(module = "cloudflare:workflows")]
    extern "C" {
        /// The error after which a step is not tried again.
        #[derive(Debug, Clone)]
        pub type NonRetryableError;

        /// With its message.
        #[wasm_bindgen(constructor, catch)]
        pub fn new(message: &str) -> Result<NonRetryableError, JsValue>;
    }
}

/// The binding `WORKFLOWS`.
#[derive(Debug, Clone)]
pub struct Workflows(sys::Workflow);

/// An instance as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It says where it stands: `queued`, `running`, `waiting`, `errored`, ….
    Known(String),
    /// The engine has no such instance.
    Unknown,
}

impl Workflows {
    /// The binding of this deployment.
    ///
    /// # Errors
    ///
    /// When it has none.
    pub fn of(env: &worker::Env) -> Result<Self, Thrown> {
        required(env.as_ref(), "WORKFLOWS").map(Self)
    }

    /// Makes the instance `id`; `params` is JSON text that whoever looks at the instance sees.
    ///
    /// # Errors
    ///
    /// What the engine throws, also when there is one already.
    pub async fn create(&self, id: &str, params: &str) -> Result<(), Thrown> {
        let params = js_sys::JSON::parse(params).map_err(|thrown| Thrown::read(&thrown))?;
        let options = object(&[("id", &id.into()), ("params", &params)])?;
        let made = settled(self.0.create(&options)).await?;
        dispose(&made);
        Ok(())
    }

    /// Where an instance stands.
    ///
    /// # Errors
    ///
    /// What the engine throws, but for an id that it does not know.
    pub async fn status(&self, id: &str) -> Result<Seen, Thrown> {
        let asked = self
            .with(id, async |instance| {
                let status = settled(instance.status()).await?;
                let word = Reflect::get(&status, &"status".into()).ok().and_then(|v| v.as_string());
                dispose(&status);
                Ok(word.unwrap_or_else(|| "unknown".to_owned()))
            })
            .await;
        match asked {
            Ok(word) if word == "unknown" => Ok(Seen::Unknown),
            Ok(word) => Ok(Seen::Known(word)),
            Err(thrown) if thrown.message.contains("not_found") => Ok(Seen::Unknown),
            Err(thrown) => Err(thrown),
        }
    }

    /// Gives an instance an event of a type, without a payload.
    ///
    /// # Errors
    ///
    /// What the engine throws.
    pub async fn send_event(&self, id: &str, kind: &str) -> Result<(), Thrown> {
        let event = object(&[("type", &kind.into()), ("payload", &Object::new().into())])?;
        self.with(id, async |instance| settled(instance.send_event(&event)).await.map(|_| ())).await
    }

    /// Ends an instance.
    ///
    /// # Errors
    ///
    /// What the engine throws, also when it has ended.
    pub async fn terminate(&self, id: &str) -> Result<(), Thrown> {
        self.with(id, async |instance| settled(instance.terminate()).await.map(|_| ())).await
    }

    async fn with<T>(
        &self,
        id: &str,
        then: impl AsyncFnOnce(&sys::WorkflowInstance) -> Result<T, Thrown>,
    ) -> Result<T, Thrown> {
        let instance: sys::WorkflowInstance = settled(self.0.get(id)).await?.unchecked_into();
        let done = then(&instance).await;
        dispose(&instance);
        done
    }
}

/// How a step is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// How often again.
    pub limit: u32,
    /// Before the first of them, in milliseconds; each further delay is twice as long.
    pub delay_ms: u64,
    /// The most one may take, in milliseconds.
    pub timeout_ms: u64,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// It is tried again.
    Again(String),
    /// It is not.
    ForGood(String),
}

/// What drives an instance.
#[derive(Debug)]
pub struct Step(sys::WorkflowStep);

impl Step {
    /// The `step` that the platform handed over.
    #[must_use]
    pub fn new(step: JsValue) -> Self {
        Self(step.unchecked_into())
    }

    /// Runs `body` under a name that is used once, and gives the text that it answered, now or in an
    /// earlier life of this instance.
    ///
    /// # Errors
    ///
    /// What is left when it is not tried again.
    pub async fn run<F>(
        &self,
        name: &str,
        tries: Tries,
        body: impl Fn() -> F + 'static,
    ) -> Result<String, JsValue>
    where
        F: Future<Output = Result<String, Failed>> + 'static,
    {
        // `Fn`: it may be called again while its first promise is given up.
        let body = Closure::<dyn Fn() -> Promise>::new(move || {
            let answer = body();
            future_to_promise(std::panic::AssertUnwindSafe(async move {
                match answer.await {
                    Ok(text) => Ok(JsValue::from(text)),
                    Err(Failed::Again(message)) => Err(js_sys::Error::new(&message).into()),
                    Err(Failed::ForGood(message)) => {
                        Err(sys::NonRetryableError::new(&message).map_or_else(|e| e, Into::into))
                    }
                }
            }))
        });
        let retries = object(&[
            ("limit", &tries.limit.into()),
            ("delay", &number(tries.delay_ms)),
            ("backoff", &"exponential".into()),
        ]);
        let config = retries.and_then(|retries| {
            object(&[("retries", &retries), ("timeout", &number(tries.timeout_ms))])
        });
        let config = config.map_err(|thrown| JsValue::from(thrown.to_string()))?;
        let called = self.0.do_(name, &config, body.as_ref().unchecked_ref::<Function>());
        let answered = match called {
            Ok(promise) => JsFuture::from(Promise::resolve(&promise)).await,
            Err(thrown) => Err(thrown),
        };
        drop(body);
        Ok(answered?.as_string().unwrap_or_default())
    }

    /// Hibernates until a date.
    ///
    /// # Errors
    ///
    /// What the engine throws: also for a date that is past.
    pub async fn sleep_until(&self, name: &str, until: u64) -> Result<(), JsValue> {
        let date = js_sys::Date::new(&number(until));
        adopted(self.0.sleep_until(name, &date)).await.map(|_| ())
    }

    /// Hibernates until an event of a type comes, at most so long.
    ///
    /// # Errors
    ///
    /// What the engine throws: also when none came in time.
    pub async fn wait_for_event(
        &self,
        name: &str,
        kind: &str,
        timeout_ms: u64,
    ) -> Result<(), JsValue> {
        let options = object(&[("type", &kind.into()), ("timeout", &number(timeout_ms))])
            .map_err(|thrown| JsValue::from(thrown.to_string()))?;
        let event = adopted(self.0.wait_for_event(name, &options)).await?;
        dispose(&event);
        Ok(())
    }
}

async fn settled(called: Result<Promise, JsValue>) -> Result<JsValue, Thrown> {
    adopted(called).await.map_err(|thrown| Thrown::read(&thrown))
}

/// What comes over RPC is the platform's own thenable, not a `Promise`.
async fn adopted(called: Result<Promise, JsValue>) -> Result<JsValue, JsValue> {
    JsFuture::from(Promise::resolve(&called?)).await
}

/// Lets go of what lives on the other side. A value without a disposer needs none.
fn dispose(of: &JsValue) {
    if !of.is_object() {
        return;
    }
    let known: JsValue = Reflect::get(&js_sys::global(), &"Symbol".into())
        .and_then(|symbols| Reflect::get(&symbols, &"dispose".into()))
        .unwrap_or(JsValue::UNDEFINED);
    let Some(symbol) = known.dyn_ref::<Symbol>() else { return };
    if let Ok(disposer) = Reflect::get(of, symbol)
        && let Some(disposer) = disposer.dyn_ref::<Function>()
    {
        // It is gone either way.
        let _ = Reflect::apply(disposer, of, &js_sys::Array::new());
    }
}

fn object(fields: &[(&str, &JsValue)]) -> Result<Object, Thrown> {
    let object = Object::new();
    for (name, value) in fields {
        Reflect::set(&object, &JsString::from(*name), value)
            .map_err(|thrown| Thrown::read(&thrown))?;
    }
    Ok(object)
}

/// A whole number of milliseconds; dates and durations are far below 2⁵³.
fn number(ms: u64) -> JsValue {
    #[expect(
        clippy::cast_precision_loss,
        clippy::as_conversions,
        reason = "below 2^53, where it is exact"
    )]
    let number = ms.min(9_007_199_254_740_991) as f64;
    number.into()
}
