//! `initialize`: the handshake of the legacy era.

use super::{
    discover::{INSTRUCTIONS, capabilities, server_info},
    era::{LEGACY, NEWEST_LEGACY},
    params::{Members, string},
};
use serde_json::{Value, json};

/// The result. A version that is served is echoed; whatever else was asked for, the newest
/// legacy one is answered and the client decides. It is never an error and never the modern one.
pub(super) fn result(members: &Members<'_>) -> Value {
    let asked = members.protocol_version.and_then(string);
    let version =
        LEGACY.into_iter().find(|served| asked.as_deref() == Some(served)).unwrap_or(NEWEST_LEGACY);
    json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}
