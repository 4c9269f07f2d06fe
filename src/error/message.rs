//! The message of a timeout: built here, read back here, recognised here for the Sentry filter.
//!
//! The budget stands in the message itself, because a message is the one thing that survives
//! RPC, D1 and rethrows:
//!
//! ```text
//! timeout     = "Execution timed out" [ " after " budget ] [ ": " explanation ]
//! budget      = 1*DIGIT [ "." 1*DIGIT ] ( "ms" / "s" )
//! explanation = 1*<any character but a line break>
//! ```
//!
//! Nothing else of ours may begin with these words: the filter would mute it.

/// What every timeout of execution begins with.
pub const PREFIX: &str = "Execution timed out";

/// The largest budget that is read back, in milliseconds: 2⁵³ − 1, what a JSON reader can hold.
/// A larger number in a message is read as this one.
pub const MAX_READ_MS: u64 = 9_007_199_254_740_991;

/// Why the clock fired and what has become of the work, in one line. Same for every budget.
const WATCHING_STOPPED: &str = "Holdfast stopped watching the sandbox. Nested work was asked to \
    stop, but remote work that had begun, and its effects, may still complete. Repeat no effect \
    without an idempotency key. To learn what was done, look the run up with run_get, or send the \
    same idempotency key again.";

/// A span of time as messages write it: whole seconds as `90s`, anything else as `1500ms`.
#[must_use]
pub fn span(ms: u64) -> String {
    if ms >= 1_000 && ms.is_multiple_of(1_000) {
        format!("{}s", ms.div_euclid(1_000))
    } else {
        format!("{ms}ms")
    }
}

/// The message for a budget of autonomous compute that was spent.
#[must_use]
pub fn budget_spent(budget_ms: u64) -> String {
    format!("{PREFIX} after {}: {WATCHING_STOPPED}", span(budget_ms))
}

/// The message for an attempt that reached its ceiling, the most wall-clock time it may take.
#[must_use]
pub fn ceiling_reached(ceiling_ms: u64) -> String {
    format!(
        "{PREFIX} after {}: the run reached its ceiling, the most time that one attempt may take \
         in all, its tool calls included. {WATCHING_STOPPED}",
        span(ceiling_ms)
    )
}

/// The message for a run that waited for a permit longer than it may. Nothing of it ran.
#[must_use]
pub fn permit_wait_spent(wait_ms: u64) -> String {
    format!(
        "{PREFIX} after {}: the run was waiting in line for a permit and never started. Nothing \
         of it ran, no tool was called.",
        span(wait_ms)
    )
}

/// A timeout that was read back from a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTimeout {
    /// The budget in milliseconds; `None` for older forms that did not name it.
    pub after_ms: Option<u64>,
}

/// Reads a timeout back from one message, as agents and stored rows carry it.
///
/// A code in brackets may stand before it (`[execution_failed] Execution timed out after 90s`).
/// Budget and explanation are optional. A mention inside a sentence is none.
#[must_use]
pub fn read(message: &str) -> Option<ReadTimeout> {
    let message = message.trim();
    let message = match message.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((code, rest)) if is_code(code) => rest.trim_start(),
        _ => message,
    };
    let (after_ms, rest) = read_head(message)?;
    (rest.is_empty() || rest.strip_prefix(": ").is_some_and(|text| !text.trim().is_empty()))
        .then_some(ReadTimeout { after_ms })
}

/// The first timeout in a chain of messages, outermost first.
#[must_use]
pub fn read_chain<'a>(messages: impl IntoIterator<Item = &'a str>) -> Option<ReadTimeout> {
    messages.into_iter().find_map(read)
}

/// Whether `text` is a timeout message and nothing else: the anchored form, for the filter.
/// No prefix, no trimming, exact case, one line.
#[must_use]
pub fn is_bare_timeout(text: &str) -> bool {
    let Some((_, rest)) = read_head(text) else { return false };
    if rest.is_empty() {
        return true;
    }
    rest.strip_prefix(": ").is_some_and(|explanation| {
        !explanation.is_empty() && !explanation.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    })
}

/// A bracketed code as older surfaces put it in front: lower- or upper-case words.
fn is_code(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads prefix and budget; what follows is left to the caller.
fn read_head(text: &str) -> Option<(Option<u64>, &str)> {
    let rest = text.strip_prefix(PREFIX)?;
    let Some(budget) = rest.strip_prefix(" after ") else { return Some((None, rest)) };
    let (whole, rest) = digits(budget)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest)?,
        None => ("", rest),
    };
    let (in_seconds, rest) = match rest.strip_prefix("ms") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix('s')?),
    };
    Some((Some(to_ms(whole, fraction, in_seconds)), rest))
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| text.split_at(end))
}

/// Milliseconds of a decimal number, rounded down, at most [`MAX_READ_MS`].
fn to_ms(whole: &str, fraction: &str, in_seconds: bool) -> u64 {
    let mut ms = number(whole);
    if in_seconds {
        let thousandths = fraction.bytes().chain(*b"000").take(3).fold(0_u64, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
        });
        ms = ms.saturating_mul(1_000).saturating_add(thousandths);
    }
    ms.min(MAX_READ_MS)
}

fn number(digits: &str) -> u64 {
    digits.bytes().fold(0_u64, |sum, digit| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    })
}

#[cfg(test)]
mod tests {
    //! What is built is read back; what the filter mutes is anchored.

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_span_is_whole_seconds_or_milliseconds() {
        let cases = [
            (0, "0ms"),
            (40, "40ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_500, "1500ms"),
            (90_000, "90s"),
            (300_000, "300s"),
        ];
        for (ms, text) in cases {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn todays_and_older_forms_are_read() {
        let cases = [
            ("Execution timed out after 90s: Holdfast stopped watching.", Some(Some(90_000))),
            ("Execution timed out after 1500ms: x", Some(Some(1_500))),
            ("Execution timed out after 300000ms", Some(Some(300_000))),
            ("Execution timed out after 1.5s", Some(Some(1_500))),
            ("Execution timed out after 0.0019s", Some(Some(1))),
            ("Execution timed out: the sandbox went away", Some(None)),
            ("Execution timed out", Some(None)),
            ("[execution_failed] Execution timed out after 90s: x", Some(Some(90_000))),
            ("[HF_E1302] Execution timed out", Some(None)),
            ("Execution timed out after 99999999999999999999s", Some(Some(MAX_READ_MS))),
            ("Upstream said: Execution timed out after 90s", None),
            ("the words Execution timed out after 90s are quoted", None),
            ("Execution timed out after 90 s", None),
            ("Execution timed out after 90s (queued)", None),
            ("Execution timed out after 90s after 90s", None),
            ("Execution timed out after 1m", None),
            ("Execution timed out.", None),
            ("Execution timed out: ", None),
            ("execution timed out after 90s", None),
            ("", None),
        ];
        for (message, expected) in cases {
            assert_eq!(read(message).map(|timeout| timeout.after_ms), expected, "{message}");
        }
    }

    #[test]
    fn a_timeout_is_found_anywhere_in_a_chain() {
        let chain = ["the step failed", "call failed", "Execution timed out after 270s: x"];
        assert_eq!(read_chain(chain), Some(ReadTimeout { after_ms: Some(270_000) }));
        assert_eq!(read_chain(["a", "b"]), None);
    }

    #[test]
    fn the_filters_form_is_anchored() {
        let bare = [
            "Execution timed out",
            "Execution timed out: x",
            "Execution timed out after 40ms: x",
            "Execution timed out after 0s",
            "Execution timed out after 99999999999999999999ms",
        ];
        for text in bare {
            assert!(is_bare_timeout(text), "{text}");
        }
        let kept = [
            "Error: Execution timed out after 90s: x",
            "[execution_failed] Execution timed out after 90s",
            " Execution timed out",
            "Execution timed out\n",
            "Execution timed out after 90s: x\n at y",
            "Execution timed out after 90s: x\u{2028}y",
            "Execution timed out: ",
            "Execution timed out:x",
            "Execution timed out after\u{a0}90s",
            "Execution timed out after 1e3ms",
            "Execution timed out after ٣s",
            "",
        ];
        for text in kept {
            assert!(!is_bare_timeout(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_built_is_read_back(ms in 0..=MAX_READ_MS) {
            for message in [budget_spent(ms), ceiling_reached(ms), permit_wait_spent(ms)] {
                prop_assert_eq!(read(&message), Some(ReadTimeout { after_ms: Some(ms) }));
                prop_assert!(is_bare_timeout(&message));
                let prefixed = format!("[execution_failed] {message}");
                prop_assert_eq!(read(&prefixed), Some(ReadTimeout { after_ms: Some(ms) }));
                prop_assert!(!is_bare_timeout(&prefixed));
                let wrapped = format!("Error: {message}");
                prop_assert_eq!(read(&wrapped), None);
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".*") {
            let _ = (read(&text), is_bare_timeout(&text));
            let after = format!("{PREFIX} after {text}");
            let _ = (read(&after), is_bare_timeout(&after));
        }
    }
}
