//! AES-256-GCM of the platform.

use super::random;
use super::thrown::{Thrown, settled};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

pub mod sys {
    //! The platform's shapes and nothing more.

    use js_sys::{Array, Object, Promise, Uint8Array};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// Makes a key of bytes.
        #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = importKey, catch)]
        pub fn import_key(
            format: &str,
            key: &Uint8Array,
            algorithm: &str,
            extractable: bool,
            usages: &Array,
        ) -> Result<Promise, JsValue>;

        /// Seals.
        #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = encrypt, catch)]
        pub fn encrypt(
            algorithm: &Object,
            key: &JsValue,
            data: &Uint8Array,
        ) -> Result<Promise, JsValue>;

        /// Opens; rejects when the key, the nonce, the context or the data is another.
        #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = decrypt, catch)]
        pub fn decrypt(
            algorithm: &Object,
            key: &JsValue,
            data: &Uint8Array,
        ) -> Result<Promise, JsValue>;
    }
}

/// What was sealed, as hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// 96 random bits: with 2³² secrets under one key two are alike with a probability of 2⁻³³.
    pub nonce: String,
    /// The ciphertext and its tag.
    pub text: String,
}

/// Seals `text`. It opens under the same `context` only, so a row cannot be put in another's place.
///
/// # Errors
///
/// When the platform refuses.
pub async fn seal(key: &[u8; 32], context: &str, text: &str) -> Result<Sealed, Thrown> {
    let nonce = random::hex::<12>().map_err(|error| Thrown::ours(&error.to_string()))?;
    let algorithm = algorithm(&nonce, context)?;
    let key = imported(key, "encrypt").await?;
    let data = Uint8Array::from(text.as_bytes());
    let sealed = settled(sys::encrypt(&algorithm, &key, &data)).await?;
    Ok(Sealed { nonce, text: crate::hex::encode(&Uint8Array::new(&sealed).to_vec()) })
}

/// Opens what [`seal`] made.
///
/// # Errors
///
/// When it was sealed under another key or context, or was changed.
pub async fn open(key: &[u8; 32], context: &str, sealed: &Sealed) -> Result<String, Thrown> {
    let algorithm = algorithm(&sealed.nonce, context)?;
    let key = imported(key, "decrypt").await?;
    let data = crate::hex::decode(&sealed.text).ok_or_else(|| Thrown::ours("it is not hex"))?;
    let opened =
        settled(sys::decrypt(&algorithm, &key, &Uint8Array::from(data.as_slice()))).await?;
    let bytes = Uint8Array::new(&opened).to_vec();
    String::from_utf8(bytes).map_err(|_| Thrown::ours("it is not UTF-8"))
}

fn algorithm(nonce: &str, context: &str) -> Result<Object, Thrown> {
    let nonce = crate::hex::decode(nonce).ok_or_else(|| Thrown::ours("the nonce is not hex"))?;
    let object = Object::new();
    let members: [(&str, JsValue); 3] = [
        ("name", "AES-GCM".into()),
        ("iv", Uint8Array::from(nonce.as_slice()).into()),
        ("additionalData", Uint8Array::from(context.as_bytes()).into()),
    ];
    for (name, value) in members {
        Reflect::set(&object, &name.into(), &value).map_err(|thrown| Thrown::read(&thrown))?;
    }
    Ok(object)
}

async fn imported(key: &[u8; 32], usage: &str) -> Result<JsValue, Thrown> {
    let usages = Array::of1(&usage.into());
    let key = Uint8Array::from(key.as_slice());
    settled(sys::import_key("raw", &key, "AES-GCM", false, &usages)).await
}
