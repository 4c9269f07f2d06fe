//! The request of a call. What a program selects is read token by token and cannot leave its field.

use super::plan::Plan;
use super::{operation, post};
use crate::run::value;
use crate::tools::exchange::Request;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use url::Url;

/// Levels of any selection.
const MAX_SELECT_DEPTH: usize = 16;

/// Bytes of a selection.
const MAX_SELECT_BYTES: usize = 20_000;

/// Makes the request of a call to the service at `endpoint`. `arguments` is the tagged JSON of an
/// object that fits the tool's schema.
///
/// # Errors
///
/// What cannot be asked for, as a sentence that names its place in the arguments.
pub fn request(plan: &Plan, endpoint: &Url, arguments: &str) -> Result<Request, String> {
    let given: BTreeMap<String, &RawValue> = serde_json::from_str(arguments)
        .map_err(|_| "the arguments must be one object".to_owned())?;
    let mut declared = String::new();
    let mut passed = String::new();
    let mut variables = String::from("{");
    // What is not given is left out, so that the service's own default holds.
    for (name, kind) in &plan.arguments {
        let Some(raw) = given.get(name) else { continue };
        let (text, _) =
            value::plain(raw.get()).map_err(|why| format!("{name} is no value: {why}"))?;
        let between = if declared.is_empty() { "" } else { ", " };
        let _ = write!(declared, "{between}${name}: {kind}");
        let _ = write!(passed, "{between}{name}: ${name}");
        let between = if variables.len() > 1 { "," } else { "" };
        let _ = write!(variables, "{between}{}:{text}", Value::from(name.as_str()));
    }
    variables.push('}');
    let selection = match plan.select.as_ref().and_then(|name| Some((name, given.get(name)?))) {
        Some((name, raw)) => {
            let text: Option<String> = serde_json::from_str(raw.get())
                .map_err(|_| format!("{name} must be a text: \"id owner {{ name }}\""))?;
            match text {
                Some(text) => checked(&text).map_err(|why| format!("{name} {why}"))?.to_owned(),
                None => plan.selection.clone(),
            }
        }
        None => plan.selection.clone(),
    };
    let braced = |open: &str, text: &str, close: &str| {
        if text.is_empty() { String::new() } else { format!("{open}{text}{close}") }
    };
    let query = format!(
        "{}{} {{ {}{}{} }}",
        operation(plan.mutation),
        braced("(", &declared, ")"),
        plan.field,
        braced("(", &passed, ")"),
        braced(" { ", &selection, " }"),
    );
    let body = format!("{{\"query\":{},\"variables\":{variables}}}", Value::from(query));
    Ok(post(endpoint, &body))
}

/// A selection that cannot leave its field, without its outer braces.
pub(super) fn checked(text: &str) -> Result<&str, String> {
    if text.len() > MAX_SELECT_BYTES {
        return Err(format!("is over {MAX_SELECT_BYTES} bytes"));
    }
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let text = inner.unwrap_or(text).trim();
    let mut open: Vec<char> = Vec::new();
    let mut letters = text.chars().peekable();
    let mut is_empty = true;
    while let Some(c) = letters.next() {
        is_empty &= c.is_whitespace() || c == ',';
        match c {
            '{' | '(' | '[' => {
                open.push(match c {
                    '{' => '}',
                    '(' => ')',
                    _ => ']',
                });
                if open.len() > MAX_SELECT_DEPTH {
                    return Err(format!("is nested in over {MAX_SELECT_DEPTH} levels"));
                }
            }
            '}' | ')' | ']' => {
                if open.pop() != Some(c) {
                    return Err(format!("has a {c} that closes nothing"));
                }
            }
            '"' => {
                if letters.peek() == Some(&'"') {
                    letters.next();
                    if letters.peek() == Some(&'"') {
                        return Err("must have no block texts (\"\"\")".into());
                    }
                    continue;
                }
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('\\') => {
                            letters.next();
                        }
                        Some('\n' | '\r') | None => return Err("has a text without an end".into()),
                        Some(_) => {}
                    }
                }
            }
            '#' => return Err("must have no comments (#)".into()),
            '$' => return Err("must have no variables ($): write the value".into()),
            _ if c.is_alphanumeric() || c.is_whitespace() => {}
            '_' | ',' | ':' | '.' | '@' | '!' | '-' | '+' => {}
            other => return Err(format!("has a {other}, which no selection has")),
        }
    }
    if let Some(missing) = open.pop() {
        return Err(format!("lacks a {missing} at its end"));
    }
    if is_empty {
        return Err("selects nothing: name a field, \"id\"".into());
    }
    Ok(text)
}
