//! The body of a request: JSON, its size bounded while it arrives.

use super::internal;
use crate::error::{Code, Fault};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use worker::Request;

/// The largest body that is read: a source and parameters at their limits, JSON-escaped, and then
/// some.
pub const MAX_BODY_BYTES: usize = 4_194_304;

/// How much of a body that is too large is read on and thrown away. A client that still sends when
/// the connection closes sees a broken connection in place of the answer that would tell it why.
const MAX_SKIPPED_BYTES: usize = 16_777_216;

/// Reads a body of at most `most` bytes.
///
/// # Errors
///
/// `limit_exceeded` with 413 as soon as it is over.
pub async fn bytes(req: &mut Request, most: usize) -> Result<Vec<u8>, Fault> {
    let too_large = || {
        let message = format!("The body is over {most} bytes, the most that is read here.");
        Fault::new(Code::BodyTooLarge, message).with("limit", most)
    };
    // At once, where it is told to be small: a stream takes turns of the loop more. No more than was told
    // is handed over.
    let told = req.headers().get("content-length").ok().flatten();
    if told.and_then(|told| told.parse::<usize>().ok()).is_some_and(|told| told <= most) {
        let body = req.bytes().await.map_err(|error| internal(&error.to_string()))?;
        return if body.len() > most { Err(too_large()) } else { Ok(body) };
    }
    let mut body = Vec::new();
    let mut read = 0_usize;
    // A request without a body has no stream.
    let Ok(mut stream) = req.stream() else { return Ok(body) };
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| internal(&error.to_string()))?;
        read = read.saturating_add(chunk.len());
        if read > most.saturating_add(MAX_SKIPPED_BYTES) {
            return Err(too_large());
        }
        if read <= most {
            body.extend_from_slice(&chunk);
        } else {
            body = Vec::new();
        }
    }
    if read > most { Err(too_large()) } else { Ok(body) }
}

/// Reads a JSON object of the form `T`.
///
/// # Errors
///
/// 415 for another content type, 413 for a large body, 400 naming what is wrong.
pub async fn json<T: DeserializeOwned>(req: &mut Request) -> Result<T, Fault> {
    json_of(req, MAX_BODY_BYTES).await
}

/// The same, of at most `most` bytes.
///
/// # Errors
///
/// As [`json`].
pub async fn json_of<T: DeserializeOwned>(req: &mut Request, most: usize) -> Result<T, Fault> {
    let given = req.headers().get("content-type").ok().flatten().unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" {
        let shown: String = given.chars().filter(|c| !c.is_control()).take(80).collect();
        let shown = if shown.is_empty() { "missing".to_owned() } else { shown };
        let message = format!("The content type is {shown}; application/json is read here.");
        return Err(Fault::new(Code::UnsupportedMediaType, message));
    }
    parse(&bytes(req, most).await?)
}

/// Parses JSON into `T`: what is no JSON and what is JSON of another form are two errors.
///
/// # Errors
///
/// `invalid_request` with the field, or the place.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    // From text, as everywhere: the parser for bytes would be in the Wasm a second time.
    let Ok(body) = std::str::from_utf8(body) else {
        return Err(Fault::new(Code::InvalidJson, "The body is not JSON: it is not UTF-8."));
    };
    serde_json::from_str(body).map_err(|error| {
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        if error.is_data() {
            // serde writes: unknown field `x`, expected …; missing field `code`; invalid type: ….
            let field = what.split('`').nth(1).filter(|_| what.contains("field"));
            let fault = Fault::new(
                Code::InvalidRequest,
                format!("{what} (line {}, column {}).", error.line(), error.column()),
            );
            match field {
                Some(field) => fault.with("field", field),
                None => fault,
            }
        } else {
            let message = format!(
                "The body is not JSON: {what} at line {}, column {}.",
                error.line(),
                error.column()
            );
            Fault::new(Code::InvalidJson, message)
        }
    })
}

#[cfg(test)]
mod tests {
    //! What is no JSON and what is JSON of another form are two errors; both say where.

    use super::*;
    use crate::runs::RunRequest;

    #[test]
    fn each_bad_body_is_named() {
        let cases: [(&[u8], Code, &str); 8] = [
            (b"", Code::InvalidJson, "not JSON"),
            (b"{", Code::InvalidJson, "line 1, column 1"),
            (b"\xff", Code::InvalidJson, "not JSON"),
            (b"[]", Code::InvalidRequest, "invalid"),
            (b"null", Code::InvalidRequest, "invalid type: null"),
            (b"{}", Code::InvalidRequest, "missing field `code`"),
            (b"{\"code\":1}", Code::InvalidRequest, "invalid type: integer `1`"),
            (b"{\"code\":\"\",\"x\":1}", Code::InvalidRequest, "unknown field `x`"),
        ];
        for (body, code, words) in cases {
            let fault = parse::<RunRequest>(body).unwrap_err();
            assert_eq!(fault.code, code, "{}", String::from_utf8_lossy(body));
            assert!(fault.message.contains(words), "{}", fault.message);
        }
    }
}
