//! Headers that repeat what the body says, and whether they agree with it.
//!
//! Proxies route by the headers and we act by the body, so a difference is a refusal.

use super::{
    envelope::Request,
    headers::Headers,
    params::{Members, Params, string},
    refusal::shown,
    rpc_error::RpcError,
};
use serde_json::value::RawValue;

/// Checks `Mcp-Method` and, for requests that name something, `Mcp-Name`.
pub(super) fn check(headers: &Headers, request: &Request<'_>) -> Result<(), RpcError> {
    match headers.get("mcp-method") {
        None => return Err(RpcError::header("The header Mcp-Method is missing.")),
        Some(method) if method != request.method => {
            return Err(RpcError::header(format!(
                "Mcp-Method '{}' does not match method '{}'.",
                shown(method),
                shown(&request.method)
            )));
        }
        Some(_) => {}
    }
    let Params::Object(members) = &request.params else { return Ok(()) };
    let Some((member, raw)) = named(&request.method, members) else { return Ok(()) };
    let Some(value) = raw.and_then(string) else { return Ok(()) };
    let Some(header) = headers.get("mcp-name") else {
        return Err(RpcError::header("The header Mcp-Name is missing."));
    };
    let Some(decoded) = decode(header) else {
        return Err(RpcError::header("Mcp-Name is not Base64 of UTF-8 between its marks."));
    };
    if decoded != value {
        return Err(RpcError::header(format!(
            "Mcp-Name '{}' does not match params.{member} '{}'.",
            shown(&decoded),
            shown(&value)
        )));
    }
    Ok(())
}

/// The member that `Mcp-Name` repeats, for the methods that have one.
fn named<'a>(method: &str, members: &Members<'a>) -> Option<(&'static str, Option<&'a RawValue>)> {
    match method {
        "tools/call" | "prompts/get" => Some(("name", members.name)),
        "resources/read" => Some(("uri", members.uri)),
        _ => None,
    }
}

/// The value of a header: as it stands, or Base64 of UTF-8 between `=?base64?` and `?=`.
fn decode(value: &str) -> Option<String> {
    let Some(marked) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(value.to_owned());
    };
    String::from_utf8(base64(marked)?).ok()
}

/// Decodes Base64 of the standard alphabet with padding, and nothing looser: two spellings of
/// one name would be two names to a proxy.
fn base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(digits.len());
    let (mut bits, mut held) = (0_u32, 0_u32);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit.wrapping_sub(b'A'),
            b'a'..=b'z' => digit.wrapping_sub(b'a').wrapping_add(26),
            b'0'..=b'9' => digit.wrapping_sub(b'0').wrapping_add(52),
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFFFF;
        held = held.wrapping_add(6);
        if held >= 8 {
            held = held.wrapping_sub(8);
            bytes.push(u8::try_from(bits >> held & 0xFF).ok()?);
        }
    }
    // What is left of the last digit must be zero, or another spelling would mean the same.
    let rest = bits & (1_u32 << held).wrapping_sub(1);
    (rest == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn a_marked_header_is_decoded_and_a_plain_one_is_not() {
        let cases = [
            ("execute", Some("execute")),
            ("=?base64?ZXhlY3V0ZQ==?=", Some("execute")),
            ("=?base64?cnVuX2dldA==?=", Some("run_get")),
            ("=?base64?w6TwnpKe?=", Some("ä\u{1e49e}")),
            ("=?base64??=", Some("")),
            ("=?base64?+/8=?=", None), // not UTF-8
            ("=?base64?ZXhlY3V0ZQ?=", None),
            ("=?base64?ZXhlY3V0ZQ=?=", None),
            ("=?base64?ZXhlY3V0ZR==?=", None), // bits behind the last byte
            ("=?base64?%%%?=", None),
            ("=?base64?=???=", None),
            ("=?base64?====?=", None),
            ("=?BASE64?ZXhlY3V0ZQ==?=", Some("=?BASE64?ZXhlY3V0ZQ==?=")),
            ("=?base64?ZXhlY3V0ZQ==", Some("=?base64?ZXhlY3V0ZQ==")),
            ("=?base64?=", Some("=?base64?=")),
        ];
        for (header, expected) in cases {
            assert_eq!(decode(header).as_deref(), expected, "{header}");
        }
    }
}
