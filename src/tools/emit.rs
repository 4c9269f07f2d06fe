//! `emit(value)`: output for the person, beside the result, which is for the model.

use super::unfit;
use crate::error::Fault;
use crate::run::value;
use serde_json::value::RawValue;
use std::cell::RefCell;

/// The most values of one run: a page of them, not a stream.
const MAX_VALUES: usize = 100;

/// Bytes of all values of one run, in plain form: the response holds them beside a result of 1 MB,
/// and a row of the database is no place for more.
const MAX_BYTES: u64 = 262_144;

/// What one run has emitted.
#[derive(Debug, Default)]
pub struct Emitted {
    values: RefCell<Vec<Box<RawValue>>>,
}

impl Emitted {
    /// Takes a value, tagged JSON.
    ///
    /// # Errors
    ///
    /// `limit_exceeded` when there is no room for it.
    pub fn take(&self, tagged: &str) -> Result<String, Fault> {
        let read = value::plain(tagged).map_err(|error| unfit("emit", error))?;
        let plain = RawValue::from_string(read.0).map_err(|error| unfit("emit", error))?;
        let mut values = self.values.borrow_mut();
        if values.len() >= MAX_VALUES {
            let most = u64::try_from(MAX_VALUES).unwrap_or(u64::MAX);
            let what = "The number of emitted values";
            return Err(Fault::limit("emittedValues", what, None, most, "a run"));
        }
        let held = values
            .iter()
            .map(|value| value.get().len())
            .fold(plain.get().len(), usize::saturating_add);
        let held = u64::try_from(held).unwrap_or(u64::MAX);
        if held > MAX_BYTES {
            let what = "What the program emitted";
            return Err(Fault::limit("emittedBytes", what, Some(held), MAX_BYTES, "bytes"));
        }
        values.push(plain);
        Ok("null".to_owned())
    }

    /// What was taken, in order.
    #[must_use]
    pub fn values(&self) -> Vec<Box<RawValue>> {
        self.values.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    //! Values are kept in order, in plain form, within their bounds.

    use super::*;

    #[test]
    fn values_are_kept_in_plain_form() {
        let emitted = Emitted::default();
        emitted.take(r#"{"at":{"$":"date","v":"1970-01-01T00:00:00.000Z"}}"#).unwrap();
        emitted.take("1").unwrap();
        let values: Vec<_> = emitted.values().iter().map(|value| value.get().to_owned()).collect();
        assert_eq!(values, [r#"{"at":"1970-01-01T00:00:00.000Z"}"#, "1"]);
    }

    #[test]
    fn a_flood_is_refused() {
        let emitted = Emitted::default();
        let large = format!("\"{}\"", "x".repeat(200_000));
        emitted.take(&large).unwrap();
        assert_eq!(emitted.take(&large).unwrap_err().kind(), crate::error::Kind::LimitExceeded);
        for _ in 1..MAX_VALUES {
            emitted.take("1").unwrap();
        }
        assert_eq!(emitted.take("1").unwrap_err().kind(), crate::error::Kind::LimitExceeded);
        assert_eq!(emitted.values().len(), MAX_VALUES);
    }
}
