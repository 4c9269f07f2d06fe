//! What the worker found out about the token, and the challenge when it does not do.
//!
//! Bearer tokens only. `resource_metadata` would send clients looking for an authorisation server
//! that is not there, so no challenge has it.

use super::{answer::Answer, refusal::refuse};
use crate::error::{Code, Fault};

/// Whether the request may go on. The token itself never comes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The token is valid. Whether it has the scope of a tool is asked once the tool is known.
    Authenticated,
    /// There is no `Authorization` header, or it is not a bearer token.
    Missing,
    /// The token is unknown, expired or revoked.
    Bad,
    /// The token is valid and lacks this scope.
    MissingScope(String),
}

impl Access {
    /// The refusal, unless the request may go on.
    pub(super) fn check(&self) -> Result<(), Answer> {
        let (fault, challenge) = match self {
            Self::Authenticated => return Ok(()),
            Self::Missing => (
                Fault::new(Code::TokenMissing, "The MCP endpoint wants a token."),
                r#"Bearer realm="holdfast""#.to_owned(),
            ),
            Self::Bad => (
                Fault::new(Code::TokenInvalid, "The token is unknown, expired or revoked."),
                r#"Bearer realm="holdfast", error="invalid_token""#.to_owned(),
            ),
            Self::MissingScope(scope) => (
                Fault::new(Code::ScopeMissing, format!("This needs the scope {scope}."))
                    .with("scope", scope.as_str()),
                format!(
                    r#"Bearer realm="holdfast", error="insufficient_scope", scope="{}""#,
                    quotable(scope)
                ),
            ),
        };
        Err(refuse(&fault).with("www-authenticate", challenge))
    }
}

/// The scope without what would end the quoted string, or the header.
fn quotable(scope: &str) -> String {
    scope.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect()
}
