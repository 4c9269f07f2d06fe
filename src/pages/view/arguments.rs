//! Arguments and replies as they are kept of a dispatch: tagged JSON, perhaps cut, with secrets in it.

use crate::run::value;
use crate::tools::policy::redacted;
use serde_json::Value;

/// Shows a text of which `bytes` were there when it was whole. Secrets are taken out by the names of
/// their fields; a text that was cut is closed where it ends, so that it is read the same way.
#[must_use]
pub fn shown(text: &str, bytes: u64) -> String {
    let is_whole = u64::try_from(text.len()).is_ok_and(|len| len >= bytes);
    let mended = if is_whole { text.to_owned() } else { mend(text) };
    let plain = value::plain(&mended).map_or_else(|_| mended.clone(), |(plain, _)| plain);
    match serde_json::from_str::<Value>(&plain) {
        Ok(value) => redacted(&value).to_string(),
        // What cannot be read cannot be cleared of secrets.
        Err(_) => "…".to_owned(),
    }
}

/// Closes JSON that was cut anywhere.
fn mend(text: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let mut in_text = false;
    let mut escaped = false;
    let mut before = ' ';
    // Up to here, with these brackets closed, it is JSON.
    let mut safe = (0, Vec::new());
    for (at, c) in text.char_indices() {
        let after = at.saturating_add(c.len_utf8());
        if in_text {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                continue;
            }
            '{' | '[' => {
                open.push(c);
                safe = (after, open.clone());
            }
            '}' | ']' => {
                open.pop();
                safe = (after, open.clone());
            }
            ',' => safe = (at, open.clone()),
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    let is_value = before == ':' || open.last() == Some(&'[') || open.is_empty();
    let (mut mended, open) = if in_text && is_value {
        // A text that was cut, without the escape that was.
        let tail = text.len().saturating_sub(6);
        let cut = text.rfind('\\').filter(|at| *at >= tail).unwrap_or(text.len());
        (format!("{}…\"", text.get(..cut).unwrap_or_default()), open)
    } else {
        (text.get(..safe.0).unwrap_or_default().to_owned(), safe.1)
    };
    mended.extend(open.iter().rev().map(|open| if *open == '{' { '}' } else { ']' }));
    mended
}

#[cfg(test)]
mod tests {
    //! Whatever is cut off, what is left is shown without its secrets.

    use super::*;

    #[test]
    fn secrets_are_taken_out_wherever_a_text_was_cut() {
        let whole = r#"{"to":"ada","auth":{"password":"hunter2hunter2","n":[1,{"apiKey":"hunter2"}]},"body":"x\u00e9\n"}"#;
        for cut in 0..=whole.len() {
            let Some(text) = whole.get(..cut) else { continue };
            let shown = shown(text, 200);
            assert!(!shown.contains("hunter"), "{text} gave {shown}");
        }
        let shown = shown(r#"{"a":1,"text":"long te"#, 4_000);
        assert_eq!(shown, r#"{"a":1,"text":"long te…"}"#);
    }

    #[test]
    fn a_whole_text_is_shown_in_its_plain_form() {
        let text = r#"{"a":[1,"b"],"token":"t"}"#;
        assert_eq!(shown(text, 25), r#"{"a":[1,"b"],"token":"[redacted]"}"#);
        assert_eq!(shown("null", 4), "null");
    }
}
