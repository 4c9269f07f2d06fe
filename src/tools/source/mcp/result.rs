//! What an MCP tool answered, as a program gets it. Pure.
//!
//! - Structured content is the value, as it is.
//! - Without it the value is `{text, content?}`: all text, one block a line, and, where there is
//!   anything but text, the blocks in their order. Images, sound and binary resources are bytes.
//! - A tool that says that it failed, failed; its text is the message.
//! - What is too large is cut and says so: text ends where the room does, a block that has no room
//!   left keeps its kind and its size.

use crate::error::{Code, Fault};
use crate::run::value;
use crate::tools::failed;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(default)]
    result_type: Option<String>,
    #[serde(default)]
    content: Vec<Value>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
}

/// JSON Schema of `{text, content?}`, the result of a tool that declares none.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string","description":"All text of the answer."},"content":{"type":"array","description":"The blocks, where there is more than text.","items":{"type":"object","properties":{"type":{"type":"string","enum":["text","image","audio","resource","resource_link"]},"text":{"type":"string"},"mimeType":{"type":"string"},"data":{"type":"string","contentEncoding":"base64"},"uri":{"type":"string"},"name":{"type":"string"},"cut":{"type":"boolean"},"bytes":{"type":"integer"}},"required":["type"]}},"cut":{"type":"boolean","description":"Whether something was left out because it was too large."}},"required":["text"]}"#;

/// The value of a call of `path`, tagged, of at most `limit` bytes.
///
/// # Errors
///
/// What the tool failed with.
pub fn value_of(path: &str, result: &RawValue, limit: u64) -> Result<String, Fault> {
    let answer: Answer<'_> = serde_json::from_str(result.get()).map_err(|error| {
        Fault::new(Code::UpstreamFailed, format!("{path}: its answer is no result of a tool."))
            .with("tool", path)
            .caused_by(error.to_string())
    })?;
    if answer.result_type.as_deref() == Some("input_required") {
        let what = "it asks its user something in the middle of the call, which is not passed on";
        return Err(failed(path, Some("McpError"), what, Some("input_required")));
    }
    if answer.is_error {
        return Err(failure(path, &answer));
    }
    if let Some(structured) = answer.structured_content
        && structured.get() != "null"
    {
        return value::tagged(structured.get()).map_err(|error| {
            let message = format!("{path}: its structured content cannot be read ({error}).");
            Fault::new(Code::UpstreamFailed, message).with("tool", path)
        });
    }
    Ok(unstructured(&answer.content, limit).to_string())
}

fn failure(path: &str, answer: &Answer<'_>) -> Fault {
    let mut text = text_of(&answer.content);
    if text.is_empty()
        && let Some(structured) = answer.structured_content
    {
        structured.get().clone_into(&mut text);
    }
    let (text, _) = cut(&text, MAX_MESSAGE_BYTES);
    failed(path, Some("McpError"), text, None)
}

/// The message of an error stands in logs and on pages.
const MAX_MESSAGE_BYTES: usize = 16_384;

fn text_of(content: &[Value]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    texts.join("\n")
}

fn unstructured(content: &[Value], limit: u64) -> Value {
    // What stands around the text, and escapes of one byte in sixteen.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut room = limit.saturating_sub(limit.div_euclid(16)).saturating_sub(1_024);
    let mut is_cut = false;
    let whole = text_of(content);
    let (text, left_out) = cut(&whole, room.min(fitting(&whole, room)));
    is_cut |= left_out;
    room = room.saturating_sub(text.len());
    let mut value = Map::new();
    value.insert("text".to_owned(), json!(text));
    let only_text = |block: &Value| block.get("type").and_then(Value::as_str) == Some("text");
    if !content.iter().all(only_text) {
        let mut blocks = Vec::new();
        for block in content {
            let shown = block_of(block);
            let bytes = shown.to_string().len();
            if let Some(left) = room.checked_sub(bytes) {
                room = left;
                blocks.push(shown);
            } else {
                is_cut = true;
                let kind = block.get("type").cloned().unwrap_or_default();
                blocks.push(json!({ "type": kind, "cut": true, "bytes": bytes }));
            }
        }
        value.insert("content".to_owned(), Value::Array(blocks));
    }
    if is_cut {
        value.insert("cut".to_owned(), json!(true));
    }
    Value::Object(value)
}

/// How much of a text has room once it is written as JSON.
fn fitting(text: &str, room: usize) -> usize {
    let mut written = 0_usize;
    for (at, char) in text.char_indices() {
        let width = match char {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            char if char < ' ' => 6,
            char => char.len_utf8(),
        };
        written = written.saturating_add(width);
        if written > room {
            return at;
        }
    }
    text.len()
}

/// A text of at most `most` bytes, and whether something was left out.
fn cut(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    (text.get(..end).unwrap_or_default(), true)
}

fn block_of(block: &Value) -> Value {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut out = Map::new();
    out.insert("type".to_owned(), json!(kind));
    let from = match kind {
        "resource" => block.get("resource").unwrap_or(block),
        _ => block,
    };
    for name in ["text", "mimeType", "uri", "name", "title", "description", "size"] {
        if let Some(found) = from.get(name).filter(|found| found.is_string() || found.is_number()) {
            out.insert(name.to_owned(), found.clone());
        }
    }
    let encoded = from.get("data").or_else(|| from.get("blob")).and_then(Value::as_str);
    if let Some(encoded) = encoded {
        let data = value::decode_base64(encoded).map(|bytes| value::bytes(&bytes));
        out.insert("data".to_owned(), data.unwrap_or_else(|| json!(encoded)));
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    //! Nothing changes its type on the way; what does not fit says so.

    use super::*;

    fn value(result: &Value, limit: u64) -> Result<Value, Fault> {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        value_of("s.t", &raw, limit).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn structured_content_is_the_value() {
        let raw = RawValue::from_string(
            r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{"b":1,"a":{"$":2}}}"#
                .to_owned(),
        )
        .unwrap();
        let value = value_of("s.t", &raw, 1_000).unwrap();
        assert!(value.starts_with(r#"{"b":1,"a":{"$":"#), "{value}");
    }

    #[test]
    fn text_is_text_and_bytes_are_bytes() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let only = value(&json!({ "content": [text("{\"a\":1}"), text("b")] }), 10_000).unwrap();
        assert_eq!(only, json!({ "text": "{\"a\":1}\nb" }));
        let image = json!({ "type": "image", "data": "AQI=", "mimeType": "image/png" });
        let resource = json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "AQI=" } });
        let link = json!({ "type": "resource_link", "uri": "a:c", "name": "c" });
        let mixed =
            value(&json!({ "content": [text("x"), image, resource, link] }), 10_000).unwrap();
        assert_eq!(mixed["text"], "x");
        assert_eq!(mixed["content"][0], text("x"));
        assert_eq!(mixed["content"][1]["data"], json!({ "$": "bytes", "v": "AQI=" }));
        assert_eq!(mixed["content"][2]["uri"], "a:b");
        assert_eq!(mixed["content"][2]["data"], json!({ "$": "bytes", "v": "AQI=" }));
        assert_eq!(mixed["content"][3], link);
        assert_eq!(value(&json!({}), 10_000).unwrap(), json!({ "text": "" }));
    }

    #[test]
    fn a_tool_that_failed_says_why() {
        let content = json!([{ "type": "text", "text": "no such city" }]);
        let fault = value(&json!({ "isError": true, "content": content }), 100).unwrap_err();
        assert_eq!(fault.message, "s.t: no such city");
        assert_eq!(fault.code, Code::ToolFailed);
        let fault = value(&json!({ "resultType": "input_required" }), 100).unwrap_err();
        assert!(fault.message.contains("asks its user"), "{}", fault.message);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        let long = "\"é".repeat(20_000);
        let image =
            json!({ "type": "image", "data": "AQID".repeat(10_000), "mimeType": "image/png" });
        let result = json!({ "content": [{ "type": "text", "text": long }, image] });
        for limit in [2_000, 20_000, 60_000] {
            let value = value(&result, limit).unwrap();
            assert_eq!(value["cut"], true, "{limit}");
            let bytes = u64::try_from(value.to_string().len()).unwrap();
            assert!(bytes <= limit, "{limit}: {bytes}");
            assert!(long.starts_with(value["text"].as_str().unwrap()));
        }
        let whole = value(&result, 1_000_000).unwrap();
        assert!(whole.get("cut").is_none());
    }

    #[test]
    fn the_schema_of_a_plain_result_is_json() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        assert_eq!(schema["required"], json!(["text"]));
    }
}
