//! Answers that were stored in an older form: a failure told by its message alone.
//!
//! What is stored in today's form is answered as it is, byte for byte.

use crate::error::Fault;
use serde_json::Value;
use std::borrow::Cow;

/// A stored response in the form of today. A timeout whose row has no `errorDetails` gets those
/// that its message tells: `timed_out`, and `timedOutAfterMs: null` where it names no budget.
#[must_use]
pub fn current(stored: &str) -> Cow<'_, str> {
    if stored.contains("\"errorDetails\"") || !stored.contains("\"error\"") {
        return Cow::Borrowed(stored);
    }
    completed(stored).map_or(Cow::Borrowed(stored), Cow::Owned)
}

fn completed(stored: &str) -> Option<String> {
    let mut response: Value = serde_json::from_str(stored).ok()?;
    let fault = Fault::from_stored_message(response.get("error")?.as_str()?)?;
    response.as_object_mut()?.insert("errorDetails".to_owned(), fault.to_json());
    Some(response.to_string())
}

#[cfg(test)]
mod tests {
    //! An older row is a timeout still, and today's is untouched.

    use super::*;

    #[test]
    fn a_timeout_of_an_older_form_is_told_as_one() {
        let text = r#"{"id":"run_1","status":"failed","error":"Execution timed out: stopped"}"#;
        let response: Value = serde_json::from_str(&current(text)).unwrap();
        assert_eq!(response["errorDetails"]["kind"], "timed_out");
        assert_eq!(response["errorDetails"]["timedOutAfterMs"], Value::Null);
        assert_eq!(response["errorDetails"]["isTimeout"], true);
        assert_eq!(response["error"], "Execution timed out: stopped");
    }

    #[test]
    fn anything_else_is_answered_byte_for_byte() {
        for text in [
            r#"{ "status":"completed", "result":{"error":"Execution timed out: x"} }"#,
            r#"{"status":"failed","error":"boom"}"#,
            r#"{"error":"Execution timed out after 90s: x","errorDetails":{"kind":"timed_out"}}"#,
            "no JSON, \"error\"",
        ] {
            assert_eq!(current(text), text);
        }
    }
}
