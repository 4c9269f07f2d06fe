//! What JavaScript threw, as plain text.

use js_sys::{Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

/// What was thrown across the edge.
#[derive(Debug, Clone)]
pub struct Thrown {
    /// `name` of the error; `Error` when something else was thrown.
    pub name: String,
    /// `message` of the error; empty when there was none, which is a failure all the same.
    pub message: String,
    /// Thrown inside the sandbox. The platform's own errors lack the `remote` mark; nobody
    /// documents it, so decide by the text as well.
    pub in_sandbox: bool,
}

impl Thrown {
    /// Reads a caught value. Getters that throw read as absent.
    #[must_use]
    pub fn read(value: &JsValue) -> Self {
        let text = |key: &str| Reflect::get(value, &key.into()).ok().and_then(|v| v.as_string());
        let in_sandbox =
            Reflect::get(value, &"remote".into()).is_ok_and(|remote| remote.is_truthy());
        if value.is_object() {
            return Self {
                name: text("name").unwrap_or_else(|| "Error".to_owned()),
                message: text("message").unwrap_or_default(),
                in_sandbox,
            };
        }
        let message = value
            .as_string()
            .or_else(|| js_sys::Object::from(value.clone()).to_string().as_string())
            .unwrap_or_default();
        Self { name: "Error".to_owned(), message, in_sandbox }
    }

    /// A failure of our own at the edge.
    #[must_use]
    pub fn ours(message: &str) -> Self {
        Self { name: "TypeError".to_owned(), message: message.to_owned(), in_sandbox: false }
    }
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// A property that must be there; the error names it.
///
/// # Errors
///
/// When it is missing.
pub fn required<T: wasm_bindgen::JsCast>(object: &JsValue, key: &str) -> Result<T, Thrown> {
    match Reflect::get(object, &key.into()) {
        Ok(value) if !value.is_undefined() && !value.is_null() => Ok(value.unchecked_into()),
        _ => Err(Thrown::ours(&format!("{key} is missing"))),
    }
}

/// What a promise settles with, of a call that may have thrown instead of giving one.
///
/// # Errors
///
/// What the call or the promise failed with.
pub async fn settled(called: Result<Promise, JsValue>) -> Result<JsValue, Thrown> {
    let settled = match called {
        Ok(promise) => JsFuture::from(promise).await,
        Err(thrown) => Err(thrown),
    };
    settled.map_err(|thrown| Thrown::read(&thrown))
}
