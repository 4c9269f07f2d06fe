//! Time zones, as the platform's `Intl` knows them: no table of ours could be as new.

use super::thrown::Thrown;
use crate::schedules::zone::Offsets;
use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;

pub mod sys {
    //! The platform's shapes and nothing more.

    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// `Intl.DateTimeFormat`.
        #[derive(Debug)]
        #[wasm_bindgen(js_namespace = Intl)]
        pub type DateTimeFormat;

        /// Throws for a zone that it does not know.
        #[wasm_bindgen(constructor, js_namespace = Intl, catch)]
        pub fn new(locale: &str, options: &JsValue) -> Result<DateTimeFormat, JsValue>;

        /// A moment in the zone, as text.
        #[wasm_bindgen(method, catch)]
        pub fn format(this: &DateTimeFormat, at: f64) -> Result<String, JsValue>;
    }
}

/// A zone.
#[derive(Debug)]
pub struct Zone {
    /// `None`: UTC, which needs nobody to be asked.
    format: Option<sys::DateTimeFormat>,
}

impl Zone {
    /// The zone of a name of the IANA database, or UTC.
    ///
    /// # Errors
    ///
    /// What the platform says of a name that it does not know.
    pub fn of(name: &str) -> Result<Self, Thrown> {
        if name == "UTC" {
            return Ok(Self { format: None });
        }
        let options = Object::new();
        for (key, value) in [
            ("timeZone", name),
            ("hourCycle", "h23"),
            ("year", "numeric"),
            ("month", "2-digit"),
            ("day", "2-digit"),
            ("hour", "2-digit"),
            ("minute", "2-digit"),
            ("second", "2-digit"),
        ] {
            Reflect::set(&options, &key.into(), &value.into())
                .map_err(|thrown| Thrown::read(&thrown))?;
        }
        let options: &JsValue = options.as_ref();
        let format = sys::DateTimeFormat::new("en-US", options);
        Ok(Self { format: Some(format.map_err(|thrown| Thrown::read(&thrown))?) })
    }
}

impl Offsets for Zone {
    fn offset_ms(&self, at: i64) -> Result<i64, String> {
        let Some(format) = &self.format else { return Ok(0) };
        #[expect(
            clippy::as_conversions,
            clippy::cast_precision_loss,
            reason = "times are below 2^53; JavaScript takes them as doubles only"
        )]
        let number = at as f64;
        let shown = format.format(number).map_err(|thrown| Thrown::read(&thrown).to_string())?;
        let local = crate::schedules::calendar::shown(&shown)
            .ok_or_else(|| format!("{shown:?} is no time that can be read"))?;
        // What is shown has whole seconds.
        Ok(local.saturating_sub(at.saturating_sub(at.rem_euclid(1_000))))
    }
}
