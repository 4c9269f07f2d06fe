//! Refusals that HTTP alone tells: no JSON-RPC, since no message was read yet.

use super::answer::Answer;
use crate::error::Fault;
use serde_json::{Value, json};

/// The answer to a request that was refused before its message was read. The body is the error
/// shape of the HTTP API, the status that of the catalogue entry.
pub(super) fn refuse(fault: &Fault) -> Answer {
    refuse_with(fault, fault.status())
}

/// The same where HTTP has a status of its own for the case.
pub(super) fn refuse_with(fault: &Fault, status: u16) -> Answer {
    with_code(status, &json!({ "error": fault.to_json() }), fault)
}

/// A body of another shape; the code stands in a header.
pub(super) fn with_code(status: u16, body: &Value, fault: &Fault) -> Answer {
    Answer::json(status, body.to_string().into_bytes())
        .with("x-holdfast-code", fault.code.entry().code)
}

/// Most characters of a client's own text that a message repeats.
const SHOWN_CHARS: usize = 80;

/// A client's own text as a message may repeat it: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_CHARS, shown};

    #[test]
    fn a_repeated_text_is_short_and_printable() {
        assert_eq!(shown("tools/list"), "tools/list");
        assert_eq!(shown("a\r\nb\u{1b}"), "a\\r\\nb\\u{1b}");
        assert_eq!(shown(&"ä".repeat(SHOWN_CHARS)), "ä".repeat(SHOWN_CHARS));
        assert_eq!(shown(&"ä".repeat(500)), format!("{}…", "ä".repeat(SHOWN_CHARS)));
    }
}
