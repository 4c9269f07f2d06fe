//! Text out of JavaScript.
//!
//! The binding's own way reads a text character by character, in JavaScript. That is right for short
//! ones; a megabyte is left to the platform.

use js_sys::JsString;
use wasm_bindgen::{JsCast as _, JsValue};

pub mod sys {
    //! The platform's shapes and nothing more.

    use js_sys::JsString;
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// Writes text as UTF-8.
        #[derive(Debug, Clone)]
        pub type TextEncoder;

        /// Makes one.
        #[wasm_bindgen(constructor, catch)]
        pub fn new() -> Result<TextEncoder, JsValue>;

        /// Writes as many whole characters as have room.
        #[wasm_bindgen(method, catch, js_name = encodeInto)]
        pub fn encode_into(
            this: &TextEncoder,
            text: &JsString,
            bytes: &mut [u8],
        ) -> Result<Written, JsValue>;

        /// How far it came.
        #[derive(Debug, Clone)]
        pub type Written;

        /// Code units of the text.
        #[wasm_bindgen(method, getter)]
        pub fn read(this: &Written) -> u32;

        /// Bytes.
        #[wasm_bindgen(method, getter)]
        pub fn written(this: &Written) -> u32;
    }
}

/// Code units of a text that is long.
const LONG: u32 = 1_024;

/// The text that a value is, with U+FFFD for lone surrogates; `None` when it is none.
#[must_use]
pub fn text_of(value: &JsValue) -> Option<String> {
    match value.dyn_ref::<JsString>() {
        Some(text) if text.length() >= LONG => long(text).or_else(|| value.as_string()),
        _ => value.as_string(),
    }
}

/// `None` when the platform does something else than write UTF-8.
fn long(text: &JsString) -> Option<String> {
    let encoder = sys::TextEncoder::new().ok()?;
    let length = text.length();
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let wrote = encoder.encode_into(text, &mut bytes).ok()?;
    let mut end = usize::try_from(wrote.written()).ok()?;
    let left = length.checked_sub(wrote.read())?;
    if left > 0 {
        // Not all of it is ASCII: a code unit takes three bytes at most.
        let most = usize::try_from(left).ok()?.checked_mul(3)?;
        bytes.resize(end.checked_add(most)?, 0);
        let rest = text.slice(wrote.read(), length);
        let wrote = encoder.encode_into(&rest, bytes.get_mut(end..)?).ok()?;
        if wrote.read() != left {
            return None;
        }
        end = end.checked_add(usize::try_from(wrote.written()).ok()?)?;
    }
    bytes.truncate(end);
    String::from_utf8(bytes).ok()
}
