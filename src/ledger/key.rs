//! Idempotency keys, as callers choose them.

use crate::error::Fault;

/// The most characters of a key: a UUID or a hash with a prefix, and room to spare.
pub const MAX_CHARS: usize = 255;

/// Characters of a key that a message shows.
const SHOWN_CHARS: usize = 64;

/// Checks a key; `field` is what the caller calls it.
///
/// # Errors
///
/// `invalid_request` when it is empty, too long or has control characters.
pub fn check(field: &str, key: &str) -> Result<(), Fault> {
    let fits = !key.trim().is_empty()
        && key.chars().nth(MAX_CHARS).is_none()
        && !key.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    let what = format!("must have 1 to {MAX_CHARS} characters and no control characters");
    Err(Fault::invalid(field, what).with("limit", MAX_CHARS))
}

/// A key for a message: cut, for it is the caller's own text.
#[must_use]
pub fn shown(key: &str) -> String {
    key.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    //! Both sides of each limit.

    use super::*;

    #[test]
    fn a_key_has_1_to_255_characters_and_no_control_characters() {
        for key in ["a", "é", &"é".repeat(255), "with space", "0b5e…/:=", "\u{200b}"] {
            assert!(check("k", key).is_ok(), "{key:?}");
        }
        for key in ["", " ", &"a".repeat(256), "a\u{0}", "a\tb", "a\nb", "a\u{7f}", "a\u{85}"] {
            let fault = check("Idempotency-Key", key).unwrap_err();
            assert_eq!(fault.details["field"], "Idempotency-Key", "{key:?}");
        }
    }
}
