//! The value, or the error, of an answer.

use super::plan::Plan;
use crate::tools::exchange::{Response, ToolError};
use serde_json::Value;

/// Characters of the service's own words in a message.
const MAX_SAID_CHARS: usize = 500;

/// The value of an answer as tagged JSON: its body, by its media type.
///
/// # Errors
///
/// [`ToolError`] with status and body where the status is none of success.
pub fn answer(plan: &Plan, response: Response<'_>) -> Result<String, ToolError> {
    if (200..300).contains(&response.status) {
        return Ok(response.value());
    }
    let body = response.shown();
    let said = said(&body).map(|said| format!(": {said}")).unwrap_or_default();
    let status = response.status;
    let reason = reason(status).map(|reason| format!(" {reason}")).unwrap_or_default();
    let message = format!("{} {} answered {status}{reason}{said}", plan.method, plan.path);
    let retry = response.header("retry-after");
    let retry = retry.map(|after| format!(",\"retryAfter\":{}", Value::from(after)));
    let data = format!("{{\"status\":{status}{},\"body\":{body}}}", retry.unwrap_or_default());
    Err(ToolError { name: "HttpError", message, code: Some(status.to_string()), data })
}

/// What the service says is wrong: the member of its answer that is most likely to.
fn said(body: &str) -> Option<String> {
    let value: Value = serde_json::from_str(body).ok()?;
    let text = match &value {
        Value::String(text) if !text.trim_start().starts_with('<') => Some(text.as_str()),
        _ => [
            "/error/message",
            "/message",
            "/detail",
            "/error_description",
            "/errors/0/message",
            "/errors/0/detail",
            "/title",
            "/error",
            "/errors/0",
        ]
        .iter()
        .find_map(|pointer| value.pointer(pointer).and_then(Value::as_str)),
    }?;
    let text = text.trim();
    let short: String = text.chars().take(MAX_SAID_CHARS).collect();
    (!short.is_empty()).then_some(short)
}

/// The words of a status that its reader meets often.
fn reason(status: u16) -> Option<&'static str> {
    Some(match status {
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        423 => "Locked",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return None,
    })
}
