//! Tools of a service binding: another Worker of the account, asked over Workers RPC.
//!
//! The Worker has two methods. `tools(context) → names` lists full dotted names, of which those
//! with a reserved part count as absent; `call(path,
//! arguments, context) → answer` makes a call. All are JSON text: `answer` is `{"value": …}` or
//! `{"error": {name?, message, code?}}`, values in the codec's tagged form. An RPC call cannot be
//! aborted: a call that is stopped runs on in the other Worker, and nobody hears its answer.

use super::policy::Policy;
use super::{Caller, failed, names, not_found};
use crate::error::{Code, Fault};
use crate::platform::text::text_of;
use crate::platform::thrown::{Thrown, required, settled};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::rc::Rc;

pub mod sys {
    //! The platform's shapes and nothing more.

    use js_sys::Promise;
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// The service binding.
        #[derive(Debug, Clone)]
        pub type ToolService;

        /// Lists the tools' names.
        #[wasm_bindgen(method, catch)]
        pub fn tools(this: &ToolService, context: &str) -> Result<Promise, JsValue>;

        /// Calls one.
        #[wasm_bindgen(method, catch)]
        pub fn call(
            this: &ToolService,
            path: &str,
            arguments: &str,
            context: &str,
        ) -> Result<Promise, JsValue>;
    }
}

/// The Worker behind a binding.
#[derive(Debug)]
pub struct Service {
    binding: sys::ToolService,
    /// The names, once they were told: asked for once an attempt.
    names: RefCell<Option<Rc<[String]>>>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default, borrow)]
    value: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    name: Option<String>,
    #[serde(default)]
    message: String,
    code: Option<String>,
}

impl Service {
    /// The Worker bound as `binding`.
    ///
    /// # Errors
    ///
    /// `configuration_invalid` when nothing is bound by that name.
    pub fn of(env: &worker::Env, binding: &str) -> Result<Self, Fault> {
        let bound = required(env.as_ref(), binding).map_err(|_| {
            let message = format!("HOLDFAST_TOOLS_SERVICE: there is no service binding {binding}.");
            Fault::new(Code::ConfigurationInvalid, message)
        })?;
        Ok(Self { binding: bound, names: RefCell::new(None) })
    }

    /// Calls a tool of the Worker.
    ///
    /// # Errors
    ///
    /// The outer: there is no such tool, or the Worker could not be asked. The inner: the tool
    /// failed.
    pub async fn call(
        &self,
        path: &str,
        arguments: &str,
        caller: &Caller,
        policy: &Policy,
    ) -> Result<Result<String, Fault>, Fault> {
        let context = context(caller);
        if !self.has(path, &context).await.map_err(|thrown| lost(path, &thrown))? {
            let names = self.names.borrow().clone().unwrap_or_default();
            return Err(not_found(path, &names, policy));
        }
        let asked = self.binding.call(path, arguments, &context);
        let answer = text(asked).await.map_err(|thrown| lost(path, &thrown))?;
        let answer: Answer<'_> = serde_json::from_str(&answer)
            .map_err(|error| lost(path, &Thrown::ours(&error.to_string())))?;
        Ok(match answer.error {
            Some(Failure { name, message, code }) => {
                Err(failed(path, name.as_deref(), &message, code.as_deref()))
            }
            None => Ok(answer.value.map_or("null", RawValue::get).to_owned()),
        })
    }

    /// Whether the Worker has the tool. A name that it did not have before is asked for again.
    async fn has(&self, path: &str, context: &str) -> Result<bool, Thrown> {
        let known = |names: &[String]| names.iter().any(|name| name == path);
        if self.names.borrow().as_deref().is_some_and(known) {
            return Ok(true);
        }
        let names = text(self.binding.tools(context)).await?;
        let mut names: Vec<String> =
            serde_json::from_str(&names).map_err(|error| Thrown::ours(&error.to_string()))?;
        names.retain(|name| names::is_allowed(name));
        let found = known(&names);
        *self.names.borrow_mut() = Some(names.into());
        Ok(found)
    }
}

fn context(caller: &Caller) -> String {
    json!({ "principal": caller.principal, "runId": caller.run_id, "label": caller.label })
        .to_string()
}

async fn text(called: Result<js_sys::Promise, wasm_bindgen::JsValue>) -> Result<String, Thrown> {
    let value = settled(called).await?;
    text_of(&value).ok_or_else(|| Thrown::ours("the tool service must answer with text"))
}

fn lost(path: &str, thrown: &Thrown) -> Fault {
    Fault::new(Code::UpstreamFailed, format!("{path}: its service could not be asked."))
        .with("tool", path)
        .caused_by(thrown.to_string())
}
