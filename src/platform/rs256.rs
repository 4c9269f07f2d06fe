//! Signatures by RSASSA-PKCS1-v1_5 with SHA-256, verified by the platform.

use super::thrown::{Thrown, settled};
use js_sys::{Array, Object, Reflect, Uint8Array};

pub mod sys {
    //! The platform's shapes and nothing more.

    use js_sys::{Array, Object, Promise, Uint8Array};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// Makes a key of its JSON form.
        #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = importKey, catch)]
        pub fn import_key(
            format: &str,
            key: &Object,
            algorithm: &Object,
            extractable: bool,
            usages: &Array,
        ) -> Result<Promise, JsValue>;

        /// Whether a signature is right.
        #[wasm_bindgen(js_namespace = ["crypto", "subtle"], js_name = verify, catch)]
        pub fn verify(
            algorithm: &str,
            key: &JsValue,
            signature: &Uint8Array,
            data: &Uint8Array,
        ) -> Result<Promise, JsValue>;
    }
}

/// Whether whoever has the private key of the modulus `n` and the exponent `e`, both base64url, signed
/// `text`.
///
/// # Errors
///
/// When the numbers are no key.
pub async fn verify(n: &str, e: &str, text: &str, signature: &[u8]) -> Result<bool, Thrown> {
    const NAME: &str = "RSASSA-PKCS1-v1_5";
    let key = object(&[("kty", "RSA"), ("alg", "RS256"), ("n", n), ("e", e)])?;
    let algorithm = object(&[("name", NAME), ("hash", "SHA-256")])?;
    let usages = Array::of1(&"verify".into());
    let key = settled(sys::import_key("jwk", &key, &algorithm, false, &usages)).await?;
    let (signature, data) = (Uint8Array::from(signature), Uint8Array::from(text.as_bytes()));
    let right = settled(sys::verify(NAME, &key, &signature, &data)).await?;
    Ok(right.as_bool() == Some(true))
}

fn object(members: &[(&str, &str)]) -> Result<Object, Thrown> {
    let object = Object::new();
    for (name, value) in members {
        Reflect::set(&object, &(*name).into(), &(*value).into())
            .map_err(|thrown| Thrown::read(&thrown))?;
    }
    Ok(object)
}
