//! The addresses at which clients look for OAuth, which is not there.

use super::{answer::Answer, refusal::with_code};
use crate::error::{Code, Fault};
use serde_json::json;

/// The answer to a request for OAuth metadata or registration; `None` for any other path.
///
/// It must be 404, and JSON: some clients take `{}` or a page for metadata and then forget the
/// token they were configured with, others fail on a body that is not JSON. The body is that of
/// an OAuth error, since that is what the caller parses; our code stands in the header.
#[must_use]
pub fn well_known(path: &str) -> Option<Answer> {
    let path = path.trim_end_matches('/');
    let document = path.strip_suffix("/mcp").unwrap_or(path);
    let document = document.strip_prefix("/mcp").unwrap_or(document);
    matches!(
        document,
        "/.well-known/oauth-protected-resource"
            | "/.well-known/oauth-authorization-server"
            | "/.well-known/openid-configuration"
            | "/register"
    )
    .then(|| {
        let message = "There is no OAuth here: send a bearer token.";
        let body = json!({ "error": "not_found", "error_description": message });
        with_code(404, &body, &Fault::new(Code::RouteNotFound, message))
            .with("access-control-allow-origin", "*")
    })
}
