//! The Worker Loader binding: a fresh sub-worker from code given as data.
//!
//! A sub-worker that was loaded has no off switch: not awaiting it does not stop it. What ends it
//! is the end of the request that made it, and that the lent function is withdrawn.

use super::text::text_of;
use super::thrown::{Thrown, required, settled};
use js_sys::{Object, Promise, Reflect};
use std::future::Future;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

pub mod sys {
    //! The platform's shapes and nothing more: `catch` on every method, no logic.

    use js_sys::{Function, Object, Promise};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// The binding.
        #[derive(Debug, Clone)]
        pub type WorkerLoader;

        /// A fresh isolate, always.
        #[wasm_bindgen(method, catch)]
        pub fn load(this: &WorkerLoader, code: &Object) -> Result<WorkerStub, JsValue>;

        /// The isolate of this id; made by `code` when there is none.
        #[wasm_bindgen(method, catch)]
        pub fn get(this: &WorkerLoader, id: &str, code: &Function) -> Result<WorkerStub, JsValue>;

        /// A sub-worker of the request that made it.
        #[derive(Debug, Clone)]
        pub type WorkerStub;

        /// Its default entrypoint.
        #[wasm_bindgen(method, catch, js_name = getEntrypoint)]
        pub fn get_entrypoint(this: &WorkerStub) -> Result<Entrypoint, JsValue>;

        /// The harness's class.
        #[derive(Debug, Clone)]
        pub type Entrypoint;

        /// Runs the program; settles with JSON text.
        #[wasm_bindgen(method, catch)]
        pub fn evaluate(
            this: &Entrypoint,
            invocation: &str,
            host: &Function,
        ) -> Result<Promise, JsValue>;
    }
}

/// The code of a sub-worker. It gets no environment and no network.
#[derive(Debug)]
pub struct Code<'a> {
    /// Modules by name, the main one first; each is an ES module.
    pub modules: &'a [(&'a str, &'a str)],
    /// CPU time of one call, enforced in production only.
    pub cpu_ms: u64,
    /// Subrequests of one call, enforced in production only.
    pub sub_requests: u64,
}

/// The same, made when it is asked for.
#[derive(Debug)]
pub struct OwnedCode {
    /// As [`Code::modules`].
    pub modules: Vec<(String, String)>,
    /// As [`Code::cpu_ms`].
    pub cpu_ms: u64,
    /// As [`Code::sub_requests`].
    pub sub_requests: u64,
}

/// The compatibility date of sub-workers: ours, so that one test of the facts covers both.
const COMPATIBILITY_DATE: &str = "2026-08-01";

/// The loader of this deployment.
#[derive(Debug, Clone)]
pub struct Loader {
    binding: sys::WorkerLoader,
}

/// A sub-worker, ready to be called.
#[derive(Debug, Clone)]
pub struct SubWorker {
    entrypoint: sys::Entrypoint,
    /// Asked for the code while the isolate starts, which the first call waits for.
    _code: Option<Rc<Closure<dyn Fn() -> Promise>>>,
}

impl Loader {
    /// The binding `LOADER`.
    ///
    /// # Errors
    ///
    /// When the deployment has none.
    pub fn of(env: &worker::Env) -> Result<Self, Thrown> {
        Ok(Self { binding: required(env.as_ref(), "LOADER")? })
    }

    /// Makes a fresh sub-worker. Returns at once: code that does not parse is reported by the
    /// first call.
    ///
    /// # Errors
    ///
    /// What the platform throws.
    pub fn load(&self, code: &Code<'_>) -> Result<SubWorker, Thrown> {
        let stub = worker_code(code).and_then(|code| self.binding.load(&code));
        let entrypoint = stub.and_then(|stub| stub.get_entrypoint());
        let entrypoint = entrypoint.map_err(|thrown| Thrown::read(&thrown))?;
        Ok(SubWorker { entrypoint, _code: None })
    }

    /// The sub-worker of an id; `code` is asked for its code when there is none. The id must say
    /// all that shapes the code.
    ///
    /// # Errors
    ///
    /// What the platform throws. What `code` fails with is thrown by the first call.
    pub fn get<C, F>(&self, id: &str, code: C) -> Result<SubWorker, Thrown>
    where
        C: Fn() -> F + 'static,
        F: Future<Output = Result<OwnedCode, String>> + 'static,
    {
        let lent = Closure::<dyn Fn() -> Promise>::new(move || {
            let code = code();
            future_to_promise(std::panic::AssertUnwindSafe(async move {
                let code = code.await.map_err(|error| js_sys::Error::new(&error))?;
                let OwnedCode { modules, cpu_ms, sub_requests } = &code;
                let modules: Vec<(&str, &str)> =
                    modules.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                let (cpu_ms, sub_requests) = (*cpu_ms, *sub_requests);
                let made = worker_code(&Code { modules: &modules, cpu_ms, sub_requests })?;
                Ok(JsValue::from(made))
            }))
        });
        let stub = self.binding.get(id, lent.as_ref().unchecked_ref());
        let entrypoint = stub.and_then(|stub| stub.get_entrypoint());
        let entrypoint = entrypoint.map_err(|thrown| Thrown::read(&thrown))?;
        Ok(SubWorker { entrypoint, _code: Some(Rc::new(lent)) })
    }
}

impl SubWorker {
    /// Calls the harness, answering its messages through `host`.
    ///
    /// When this returns or is dropped, no message gets through any more: a program can keep a
    /// duplicate of the function, and a call through it then throws in the sandbox. Work that a
    /// message had started goes on; whoever does it asks whether the attempt is over before an
    /// effect.
    ///
    /// # Errors
    ///
    /// [`Thrown`] for whatever was thrown, falsy values and the platform's own errors included.
    pub async fn evaluate<H, F>(&self, invocation: &str, host: H) -> Result<String, Thrown>
    where
        H: Fn(String) -> F + 'static,
        F: Future<Output = String> + 'static,
    {
        // `Fn`: a second message may arrive while the first is being answered.
        let lent = Closure::<dyn Fn(JsValue) -> Promise>::new(move |message: JsValue| {
            // What is no text is no message: it is refused as one that cannot be read.
            let reply = host(text_of(&message).unwrap_or_default());
            future_to_promise(std::panic::AssertUnwindSafe(async move {
                Ok(JsValue::from(reply.await))
            }))
        });
        let called = self.entrypoint.evaluate(invocation, lent.as_ref().unchecked_ref());
        let settled = settled(called).await;
        drop(lent);
        let value = settled?;
        text_of(&value).ok_or_else(|| Thrown::ours("the harness must answer with text"))
    }
}

fn worker_code(code: &Code<'_>) -> Result<Object, JsValue> {
    let modules = Object::new();
    for (name, text) in code.modules {
        set(&modules, name, *text)?;
    }
    let limits = Object::new();
    set(&limits, "cpuMs", to_f64(code.cpu_ms))?;
    set(&limits, "subRequests", to_f64(code.sub_requests))?;
    let object = Object::new();
    set(&object, "compatibilityDate", COMPATIBILITY_DATE)?;
    set(&object, "mainModule", code.modules.first().map_or("", |(name, _)| *name))?;
    set(&object, "modules", &modules)?;
    set(&object, "limits", &limits)?;
    set(&object, "env", Object::new())?;
    // Leaving it out would lend the host's network.
    set(&object, "globalOutbound", JsValue::NULL)?;
    Ok(object)
}

fn set(target: &Object, key: &str, value: impl Into<JsValue>) -> Result<(), JsValue> {
    Reflect::set(target, &key.into(), &value.into())?;
    Ok(())
}

/// Milliseconds and counts of ours are far below 2⁵³.
fn to_f64(value: u64) -> f64 {
    u32::try_from(value).map_or(f64::from(u32::MAX), f64::from)
}
