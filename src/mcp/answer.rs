//! An HTTP answer, ready to be sent.

use serde::Serialize;

/// A whole answer: the worker copies it into its own response and adds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, each at most once, and their values.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty on 202 and 204.
    pub body: Vec<u8>,
}

impl Answer {
    /// No body, and so no content type: some clients take even `null` for a broken answer.
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// JSON text. Never cached: what is answered depends on who asks.
    pub(super) fn json(status: u16, body: Vec<u8>) -> Self {
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("cache-control", "no-store".to_owned()),
        ];
        Self { status, headers, body }
    }

    /// The same with one more header.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with more headers.
    pub(super) fn with_all(mut self, headers: &[(&'static str, String)]) -> Self {
        self.headers.extend_from_slice(headers);
        self
    }

    /// The value of a header, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// JSON text of a type of ours. Writing one fails only for keys that are not text, which none of
/// them has.
pub(super) fn json_text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
