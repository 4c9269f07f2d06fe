//! What is said to an MCP server and what it says, as data, in both wire eras. Pure.

use crate::run::value::encode_base64;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The revision of the stateless era that is spoken.
pub const MODERN: &str = "2026-07-28";

/// The newest revision of the era with sessions.
pub const LEGACY: &str = "2025-11-25";

/// The revisions of that era that are spoken: all that have Streamable HTTP.
pub const LEGACY_KNOWN: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26"];

/// Which wire a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Every request stands alone.
    Modern,
    /// A handshake, and maybe a session.
    Legacy,
}

impl Era {
    /// The word in a source's facts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "modern" => Some(Self::Modern),
            "legacy" => Some(Self::Legacy),
            _ => None,
        }
    }
}

/// Who asks, as servers are told.
fn client_info() -> Value {
    json!({ "name": "holdfast", "version": env!("CARGO_PKG_VERSION") })
}

/// A request: JSON text. `params` is an object.
#[must_use]
pub fn request(era: Era, id: u64, method: &str, params: Value, progress: bool) -> String {
    let mut meta = Map::new();
    if era == Era::Modern {
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(MODERN));
        meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), json!({}));
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
    }
    if progress {
        meta.insert("progressToken".to_owned(), json!(id));
    }
    let mut params = params;
    if !meta.is_empty()
        && let Some(members) = params.as_object_mut()
    {
        members.insert("_meta".to_owned(), Value::Object(meta));
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// The request `tools/call`, the arguments as they were written.
#[must_use]
pub fn call(era: Era, id: u64, tool: &str, arguments: &str) -> String {
    // Put in as text: a tree would change the order of the keys, and large digits.
    let text = request(era, id, "tools/call", json!({ "arguments": null, "name": tool }), true);
    text.replacen("\"arguments\":null", &format!("\"arguments\":{arguments}"), 1)
}

/// The parameters of `initialize`.
#[must_use]
pub fn initialize() -> Value {
    json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info() })
}

/// A notification: JSON text.
#[must_use]
pub fn notification(method: &str, params: Option<Value>) -> String {
    match params {
        Some(params) => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "method": method }),
    }
    .to_string()
}

/// What is answered to a request of the server's: nothing is offered to it but `ping`.
#[must_use]
pub fn answer(id: &RawValue, method: &str) -> String {
    let rest = if method == "ping" {
        r#""result":{}"#.to_owned()
    } else {
        format!(r#""error":{}"#, json!({ "code": -32601, "message": "not offered here" }))
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#)
}

/// The value of a header: as it is, or in Base64 where a header could not carry it.
#[must_use]
pub fn header(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    if plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", encode_base64(text.as_bytes()))
}

/// A message of a server.
#[derive(Debug)]
pub enum Message<'a> {
    /// The answer to a request of ours.
    Result(&'a RawValue),
    /// The refusal of a request of ours.
    Refused(RpcError),
    /// A notification.
    Note(Note),
    /// A request of the server's.
    Asks {
        /// Its id.
        id: &'a RawValue,
        /// Its method.
        method: String,
    },
    /// What is none of these, or about something else.
    Other,
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// What it says.
    #[serde(default)]
    pub message: String,
}

/// What a server tells beside its answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// How far a call is.
    Progress {
        /// So far.
        progress: f64,
        /// Of so much.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// Its list of tools has changed.
    ListChanged,
    /// Anything else.
    Other,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Progress {
    #[serde(rename = "progress")]
    so_far: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// Reads a text as messages; a batch, which only the revision 2025-03-26 has, is several. `id` is that
/// of our request.
///
/// # Errors
///
/// When it is no JSON-RPC.
pub fn read(text: &str, id: u64) -> Result<Vec<Message<'_>>, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        let envelopes: Vec<Envelope<'_>> = serde_json::from_str(text)?;
        return Ok(envelopes.into_iter().map(|envelope| message(envelope, id)).collect());
    }
    Ok(vec![message(serde_json::from_str(text)?, id)])
}

fn message(envelope: Envelope<'_>, id: u64) -> Message<'_> {
    let Envelope { id: given, method, result, error, params } = envelope;
    let own = id.to_string();
    // An id that was sent as a number and came back as a text is still ours.
    let is_ours = given.is_some_and(|given| given.get().trim_matches('"') == own);
    match (method, given) {
        (Some(method), Some(id)) if id.get() != "null" => Message::Asks { id, method },
        (Some(method), _) => Message::Note(match method.as_str() {
            "notifications/tools/list_changed" => Note::ListChanged,
            "notifications/progress" => params
                .and_then(|params| serde_json::from_str::<Progress>(params.get()).ok())
                .map_or(Note::Other, |Progress { so_far, total, message }| Note::Progress {
                    progress: so_far,
                    total,
                    message,
                }),
            _ => Note::Other,
        }),
        // A server that could not read the request does not know its id.
        (None, given) => match (result, error) {
            (_, Some(error)) if is_ours || given.is_none_or(|id| id.get() == "null") => {
                Message::Refused(error)
            }
            (Some(result), None) if is_ours => Message::Result(result),
            _ => Message::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    //! Both eras say what they have to, and no more.

    use super::*;

    #[test]
    fn a_modern_request_stands_alone_and_a_legacy_one_does_not() {
        let modern: Value =
            serde_json::from_str(&request(Era::Modern, 3, "tools/list", json!({}), false)).unwrap();
        let meta = &modern["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], MODERN);
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        let legacy = request(Era::Legacy, 3, "tools/list", json!({}), false);
        assert_eq!(legacy, r#"{"id":3,"jsonrpc":"2.0","method":"tools/list","params":{}}"#);
    }

    #[test]
    fn arguments_go_as_they_were_written() {
        let text =
            call(Era::Legacy, 1, "\"arguments\":null", r#"{"z":1.0,"a":12345678901234567890}"#);
        assert!(text.contains(r#""arguments":{"z":1.0,"a":12345678901234567890}"#), "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["params"]["name"], "\"arguments\":null");
        assert_eq!(read["params"]["_meta"]["progressToken"], 1);
    }

    #[test]
    fn messages_are_told_apart() {
        let one = |text: &str| format!("{:?}", read(text, 5).unwrap());
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":5,"result":{"a":1}}"#, "Result"),
            (r#"{"jsonrpc":"2.0","id":"5","result":{}}"#, "Result"),
            (r#"{"jsonrpc":"2.0","id":6,"result":{}}"#, "Other"),
            (r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"m"}}"#, "Refused"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#, "Refused"),
            (r#"{"jsonrpc":"2.0","id":6,"error":{"code":-1,"message":"m"}}"#, "Other"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "Asks"),
            (r#"{"method":"notifications/tools/list_changed"}"#, "ListChanged"),
            (
                r#"{"method":"notifications/progress","params":{"progress":1,"total":2}}"#,
                "Progress",
            ),
            (r#"{"method":"notifications/message"}"#, "Note(Other)"),
            (r#"[{"jsonrpc":"2.0","id":5,"result":{}}]"#, "Result"),
        ] {
            assert!(one(text).contains(expected), "{text}: {}", one(text));
        }
        assert!(read("<html>", 5).is_err());
    }

    #[test]
    fn a_header_carries_any_text() {
        for (text, expected) in [
            ("list-issues", "list-issues"),
            ("größe", "=?base64?Z3LDtsOfZQ==?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            assert_eq!(header(text), expected, "{text}");
        }
    }
}
