//! The value, or the errors, of an answer.

use super::plan::Plan;
use super::{cut, operation};
use crate::run::value;
use crate::tools::exchange::{Response, ToolError, is_json};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(borrow, default)]
    data: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(default)]
    errors: Option<Vec<Value>>,
}

/// The value of the field as tagged JSON.
///
/// # Errors
///
/// [`ToolError`] where the answer has errors, with the partial data, or is none of GraphQL.
pub fn answer(plan: &Plan, response: Response<'_>) -> Result<String, ToolError> {
    let status = response.status;
    let fails = |message: String, code: Option<String>, data: String| {
        Err(ToolError { name: "GraphqlError", message, code, data })
    };
    let what = format!("{} {}", operation(plan.mutation), plan.field);
    let media = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let media = media.split(';').next().unwrap_or_default().trim();
    let read: Option<Answered<'_>> = (is_json(media) || media.is_empty())
        .then(|| serde_json::from_slice(response.body).ok())
        .flatten();
    let Some(Answered { data, errors }) = read else {
        let data = format!("{{\"status\":{status},\"body\":{}}}", response.shown());
        let message = format!("{what} was answered with {status} and no JSON of GraphQL");
        return fails(message, Some(status.to_string()), data);
    };
    let field = data.as_ref().and_then(|data| data.get(&plan.field));
    let field = field.map_or_else(|| Ok("null".into()), |raw| value::tagged(raw.get()));
    let field = match field {
        Ok(field) => field,
        Err(why) => {
            let data = format!("{{\"status\":{status}}}");
            return fails(
                format!("{what} was answered with a value that is none: {why}"),
                None,
                data,
            );
        }
    };
    let errors = errors.unwrap_or_default();
    if errors.is_empty() && data.is_some() && (200..300).contains(&status) {
        return Ok(field);
    }
    let told: Vec<String> = errors.iter().take(3).map(told).collect();
    let more = errors.len().saturating_sub(told.len());
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let partial = if field == "null" { "" } else { " Part of the data came all the same." };
    let message = if told.is_empty() {
        format!("{what} was answered with {status} and no data")
    } else {
        format!("{what} failed: {}{more}.{partial}", told.join("; "))
    };
    let code = errors.first().and_then(|error| error.pointer("/extensions/code"));
    let code = code.and_then(Value::as_str).map(str::to_owned);
    let shown: Vec<Value> = errors.into_iter().take(20).collect();
    let shown = value::tagged(Value::from(shown).to_string()).unwrap_or_else(|_| "[]".into());
    fails(message, code, format!("{{\"status\":{status},\"errors\":{shown},\"data\":{field}}}"))
}

/// An error in one line, with its path.
fn told(error: &Value) -> String {
    let said = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    let said = cut(said.trim_end_matches('.'), 500);
    let path = error.get("path").and_then(Value::as_array);
    let path: Vec<String> = path
        .into_iter()
        .flatten()
        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
        .collect();
    if path.is_empty() { said } else { format!("{said} at {}", path.join(".")) }
}
