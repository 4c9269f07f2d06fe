//! Other Workers of the account, by service bindings: their RPC methods are tools.
//!
//! A Worker tells its tools by its method `describe(context)`: a list as an MCP server's, whose names are
//! methods. Of one that has no such method the source names the methods. A method gets `(argument, context)`,
//! values as JSON has them; what it returns is the value, bytes included. An RPC call cannot be aborted: one
//! that is stopped runs on in the other Worker, and nobody hears its answer.

use super::mcp::listing;
use super::{Brought, Call, Listener, Reach, Settings, Source};
use crate::error::{Code, Fault};
use crate::platform::text;
use crate::platform::thrown::{Thrown, required};
use crate::run::value;
use crate::tools::failed;
use crate::tools::import::{Imported, LeftOut, Plan};
use js_sys::{Array, ArrayBuffer, Function, JSON, Promise, Reflect, Uint8Array};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

/// The method by which a Worker tells its tools.
const DESCRIBE: &str = "describe";

/// Names that are no methods of RPC, or are the platform's own.
const RESERVED: &[&str] = &[
    "alarm",
    "connect",
    "constructor",
    DESCRIBE,
    "dup",
    "email",
    "fetch",
    "onRpcBroken",
    "prototype",
    "queue",
    "scheduled",
    "tail",
    "tailStream",
    "test",
    "then",
    "toJSON",
    "trace",
    "__proto__",
];

/// Methods that a source names.
const MAX_METHODS: usize = 500;

/// Another Worker.
#[derive(Debug, Clone, Copy)]
pub struct Service;

/// Checks what a source says of its binding; `services` are those that it may have.
///
/// # Errors
///
/// `invalid_request` naming the field.
pub fn check(settings: &Settings, services: &[String]) -> Result<(), Fault> {
    let known = match services {
        [] => "none is declared".to_owned(),
        known => format!("it has {}", known.join(", ")),
    };
    let named = settings.binding.as_ref().filter(|binding| services.contains(binding));
    if named.is_none() {
        let what = format!("must be one of HOLDFAST_SERVICES of the deployment; {known}");
        return Err(Fault::invalid("binding", what));
    }
    let methods = &settings.methods;
    if methods.len() > MAX_METHODS {
        return Err(Fault::invalid("methods", format!("may be {MAX_METHODS} at most")));
    }
    match methods.iter().find(|method| !is_method(method)) {
        Some(method) => {
            let shown: String = method.chars().take(64).collect();
            Err(Fault::invalid("methods", format!("has {shown:?}, which no tool can be")))
        }
        None => Ok(()),
    }
}

fn is_method(name: &str) -> bool {
    !name.is_empty() && name.len() <= 200 && !RESERVED.contains(&name)
}

fn binding(reach: &Reach) -> Result<JsValue, Fault> {
    let name = reach.settings.binding.as_deref().unwrap_or_default();
    // What is declared may have changed since the source was put.
    check(&reach.settings, &reach.config.services)?;
    required(reach.env.as_ref(), name).map_err(|_| {
        let message = format!("HOLDFAST_SERVICES: there is no service binding {name}.");
        Fault::new(Code::ConfigurationInvalid, message)
    })
}

/// Calls a method of the Worker.
async fn ask(binding: &JsValue, method: &str, arguments: &[JsValue]) -> Result<JsValue, Thrown> {
    let read = |thrown: JsValue| Thrown::read(&thrown);
    let function: Function = Reflect::get(binding, &method.into()).map_err(read)?.unchecked_into();
    let arguments: Array = arguments.iter().collect();
    let called = Reflect::apply(&function, binding, &arguments).map_err(read)?;
    // What comes back is the platform's own thenable, not a `Promise`: adopt it.
    JsFuture::from(Promise::resolve(&called)).await.map_err(read)
}

fn context(reach: &Reach) -> Result<JsValue, Fault> {
    parsed(&json!({ "principal": &*reach.principal, "source": &*reach.source }).to_string())
}

fn parsed(text: &str) -> Result<JsValue, Fault> {
    JSON::parse(text).map_err(|_| Fault::internal("service", "JSON that the platform cannot read"))
}

/// A value as JSON text; `None` of what has no such form.
fn text_of(value: &JsValue) -> Option<String> {
    JSON::stringify(value).ok().and_then(|json| text::text_of(&json))
}

/// What a method returned, tagged; `None` of what cannot cross.
fn tagged(value: &JsValue) -> Option<String> {
    if value.is_undefined() {
        return Some("null".to_owned());
    }
    let bytes = match value.dyn_ref::<ArrayBuffer>() {
        Some(buffer) => Some(Uint8Array::new(buffer)),
        None => value.dyn_ref::<Uint8Array>().cloned(),
    };
    match bytes {
        Some(bytes) => Some(value::bytes(&bytes.to_vec()).to_string()),
        None => value::tagged(&text_of(value)?).ok(),
    }
}

fn plan(method: String) -> Plan {
    Plan::Service { method }
}

fn take(list: &str, imported: &mut Imported) -> Result<(), serde_json::Error> {
    let tools: Vec<&RawValue> = serde_json::from_str(list)?;
    let mut known = BTreeSet::new();
    for tool in tools {
        listing::take(tool, imported, &mut known, None, plan);
    }
    let Imported { tools, left_out, .. } = imported;
    tools.retain(|tool| {
        let fits = is_method(&tool.key);
        if !fits {
            let why = "no method that can be called has this name".to_owned();
            left_out.push(LeftOut { what: tool.key.clone(), why, whole: true });
        }
        fits
    });
    Ok(())
}

impl Source for Service {
    async fn import(&self, reach: &Reach) -> Result<Brought, Fault> {
        let binding = binding(reach)?;
        let settings = &reach.settings;
        let unread = |what: &str| {
            Fault::new(Code::ImportFailed, format!("{}: {what}.", reach.source))
                .with("source", &*reach.source)
                .with_next_step(
                    "Give the Worker a method describe() that returns a list of {name, description, \
                     inputSchema, outputSchema, annotations}, or name its methods in the settings: \
                     \"methods\": [\"create\"].",
                )
        };
        let list = if settings.methods.is_empty() {
            let told = ask(&binding, DESCRIBE, &[context(reach)?]).await.map_err(|thrown| {
                unread("its Worker does not tell its tools").caused_by(thrown.to_string())
            })?;
            text_of(&told).unwrap_or_default()
        } else {
            let named = settings.methods.iter().map(|name| json!({ "name": name }));
            named.collect::<serde_json::Value>().to_string()
        };
        let mut imported = Imported::default();
        take(&list, &mut imported).map_err(|error| {
            unread("what its Worker tells is no list of tools").caused_by(error.to_string())
        })?;
        Ok(Brought { imported, facts: json!({ "binding": settings.binding }), ttl_ms: None })
    }

    async fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        _told: Listener<'_>,
    ) -> Result<String, Fault> {
        let Plan::Service { method } = call.plan else {
            return Err(Fault::internal("plan", "a tool of another kind"));
        };
        let (arguments, _) =
            value::plain(call.arguments).map_err(|error| crate::tools::unfit(call.path, error))?;
        let arguments = [parsed(&arguments)?, context(reach)?];
        let answer = ask(&binding(reach)?, method, &arguments).await.map_err(|thrown| {
            if thrown.in_sandbox {
                failed(call.path, Some(&thrown.name), &thrown.message, None)
            } else {
                reach.failed("its Worker could not be asked").caused_by(thrown.to_string())
            }
        })?;
        tagged(&answer).ok_or_else(|| {
            reach.failed("its Worker returned what is neither JSON nor bytes").with_next_step(
                "Let the method return plain values: no functions, stubs or classes.",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    //! Only what is declared is bound, and only what is a method is a tool.

    use super::*;
    use serde_json::Value;

    #[test]
    fn a_source_has_a_binding_that_is_declared() {
        let checked = |settings: &Value, services: &[&str]| {
            let settings: Settings = serde_json::from_value(settings.clone()).unwrap();
            let services: Vec<String> = services.iter().map(ToString::to_string).collect();
            check(&settings, &services).map_err(|fault| fault.message)
        };
        let billing = json!({ "kind": "service", "binding": "BILLING" });
        assert_eq!(checked(&billing, &["CRM", "BILLING"]), Ok(()));
        assert!(checked(&billing, &["CRM"]).unwrap_err().contains("it has CRM"));
        assert!(checked(&billing, &[]).unwrap_err().contains("none is declared"));
        assert!(checked(&json!({ "kind": "service" }), &["CRM"]).is_err());
        let with = |method: &str| json!({ "kind": "service", "binding": "A", "methods": [method] });
        assert_eq!(checked(&with("create"), &["A"]), Ok(()));
        assert!(checked(&with("fetch"), &["A"]).unwrap_err().contains("\"fetch\""));
    }

    #[test]
    fn what_a_worker_tells_is_taken_in() {
        let mut imported = Imported::default();
        let list = json!([
            { "name": "create", "description": "Makes one.", "annotations": { "readOnlyHint": false } },
            { "name": "fetch" },
        ]);
        take(&list.to_string(), &mut imported).unwrap();
        let [tool] = imported.tools.as_slice() else { panic!("{imported:?}") };
        assert_eq!(tool.plan, Plan::Service { method: "create".to_owned() });
        assert!(tool.result.is_none());
        assert_eq!(imported.left_out[0].what, "fetch");
        assert!(take("{}", &mut imported).is_err());
    }
}
