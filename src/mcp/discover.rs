//! `server/discover`: what this server is and can do.

use super::era::MODERN;
use serde_json::{Value, json};

/// How long a client may keep the answer. It changes with a deployment only.
const TTL_MS: u64 = 5 * 60 * 1_000;

/// What a model is told about the server as a whole.
pub(super) const INSTRUCTIONS: &str = "Run programs with execute; its description says how a \
     program must look. Every run is stored: look one up with run_get, list them with run_list. \
     After an error read its next step before trying again.";

/// Who answers.
pub(super) fn server_info() -> Value {
    json!({ "name": "holdfast", "version": env!("CARGO_PKG_VERSION") })
}

/// What is served, in both eras: tools whose list tells nobody when it changes.
pub(super) fn capabilities() -> Value {
    json!({ "tools": {} })
}

/// The members of the result; [`Reply`](super::Reply) adds what every modern result has. Legacy
/// versions are reached by `initialize` and not listed.
pub(super) fn result() -> Value {
    json!({
        "supportedVersions": [MODERN],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "ttlMs": TTL_MS,
        "cacheScope": "private",
    })
}
