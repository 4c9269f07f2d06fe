//! Randomness of the platform, for ids, secrets and seeds.

pub mod sys {
    //! The platform's shapes and nothing more.

    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// Fills `bytes`; throws at global scope.
        #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
        pub fn get_random_values(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
    }
}

/// Random bytes, as lower-case hex.
///
/// # Errors
///
/// When the platform has no randomness here, which is at global scope only.
pub fn hex<const BYTES: usize>() -> worker::Result<String> {
    let mut bytes = [0_u8; BYTES];
    sys::get_random_values(&mut bytes)?;
    Ok(crate::hex::encode(&bytes))
}

/// A random id of 128 bits behind a prefix: `run_5f…`.
///
/// # Errors
///
/// As [`hex`].
pub fn id(prefix: &str) -> worker::Result<String> {
    Ok(format!("{prefix}_{}", hex::<16>()?))
}
