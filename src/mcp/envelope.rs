//! The JSON-RPC envelope: from bytes to one request.
//!
//! In stages, so that each fault can be named and the id of a broken request is still echoed:
//! UTF-8, JSON, one object, its members, then their types. An untagged enum could only say that
//! nothing fitted.

use super::{
    id::Id,
    params::{Params, present, string},
    rpc_error::RpcError,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What was posted.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// Something that wants an answer.
    Request(Request<'a>),
    /// A notification, or a response to a request that we never made: both are taken in and
    /// answered by nothing.
    Unanswered,
}

/// One request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) id: Id,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Params<'a>,
}

/// A body that is no message, and the id if that much could be read.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) id: Option<Id>,
    pub(super) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Result<Message<'_>, Malformed> {
    let anonymous = |error| Malformed { id: None, error };
    let text = std::str::from_utf8(body).map_err(|e| anonymous(RpcError::not_json(e)))?;
    let json: &RawValue =
        serde_json::from_str(text).map_err(|e| anonymous(RpcError::not_json(e)))?;
    match json.get().as_bytes().first() {
        Some(b'{') => {}
        // A batch is a way around whatever is checked once a request, and no client sends them.
        Some(b'[') => {
            return Err(anonymous(RpcError::shape(
                "Batches are not taken: send one JSON-RPC message in each POST.",
            )));
        }
        _ => return Err(anonymous(RpcError::shape("The body must be one JSON object."))),
    }
    let envelope: Envelope<'_> = serde_json::from_str(json.get())
        .map_err(|e| anonymous(RpcError::shape(format!("The message cannot be read: {e}."))))?;
    let id = envelope.id.and_then(Id::read);
    let refuse = |message: &str| Malformed { id: id.clone(), error: RpcError::shape(message) };

    if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return Err(refuse(r#"jsonrpc must be "2.0"."#));
    }
    let Some(method) = envelope.method else {
        if envelope.result.is_some() || envelope.error.is_some() {
            return Ok(Message::Unanswered);
        }
        return Err(refuse("method is missing."));
    };
    let Some(method) = string(method) else {
        return Err(refuse("method must be a string."));
    };
    if envelope.id.is_none() {
        return Ok(Message::Unanswered);
    }
    let Some(id) = id.clone() else {
        return Err(refuse("id must be a string or an integer."));
    };
    match Params::read(envelope.params) {
        Ok(params) => Ok(Message::Request(Request { id, method, params })),
        Err(fault) => Err(refuse(&format!("params cannot be read: {fault}."))),
    }
}
