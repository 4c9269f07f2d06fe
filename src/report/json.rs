//! Reading of JSON that other people wrote: borrowed, and nothing but what was asked for.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// The text is not JSON, or not of the shape that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

impl From<serde_json::Error> for Unreadable {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// Reads a JSON object as `T`, and nothing but an object: a derived reader takes lists as well.
///
/// A key of `T` that occurs twice is refused: two readers could take different ones.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Unreadable> {
    if first_byte(json) == Some(b'{') { Ok(serde_json::from_str(json)?) } else { Err(Unreadable) }
}

/// The byte that tells a value's kind.
pub(super) fn first_byte(json: &str) -> Option<u8> {
    json.bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// For an `Option` that is `None` only where the key is absent: `null` is `Some`.
pub(super) fn present<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The string in `json`, if it is one.
pub(super) fn string(json: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(json.get()).ok().map(|Text(text)| text)
}

/// A JSON string, borrowed where it has no escapes.
///
/// Half of a surrogate pair becomes U+FFFD: JavaScript SDKs that cut a message at so many
/// characters can leave one, and it must not make the rest unreadable.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }

        deserializer.deserialize_bytes(TextVisitor)
    }
}
