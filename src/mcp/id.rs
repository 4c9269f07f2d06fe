//! The id of a request, kept as it was written.

use serde::Serialize;
use serde_json::value::RawValue;

/// A string or an integer, echoed byte for byte: 2^53+1 stays 2^53+1, `"1"` stays a string.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    /// The id in `raw`, or `None` when it is null, a boolean, a fraction, a list or an object.
    pub(super) fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        (text.starts_with('"') || is_integer(text)).then(|| Self(raw.to_owned()))
    }
}

/// Whether a JSON value is a number without fraction and exponent.
pub(super) fn is_integer(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::Id;
    use serde_json::value::RawValue;

    #[test]
    fn strings_and_integers_are_echoed_as_written_and_the_rest_is_refused() {
        let cases = [
            ("1", true),
            ("-7", true),
            ("9007199254740993", true),
            ("123456789012345678901234567890", true),
            (r#""1""#, true),
            (r#""\u0041""#, true),
            (r#""""#, true),
            ("1.5", false),
            ("1.0", false),
            ("1e3", false),
            ("null", false),
            ("true", false),
            ("{}", false),
            ("[1]", false),
        ];
        for (text, valid) in cases {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let id = Id::read(&raw);
            assert_eq!(id.is_some(), valid, "{text}");
            if let Some(id) = id {
                assert_eq!(serde_json::to_string(&id).unwrap(), text);
            }
        }
    }
}
