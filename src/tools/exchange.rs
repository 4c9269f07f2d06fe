//! A request to a service and its answer, as data: what a plan makes and what it reads. Pure; the
//! gateway sends.

use serde::{Deserialize, Serialize};

/// A request, whole but for its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Names in small letters, in order; a name may be there twice.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// An answer that has come in whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The status.
    pub status: u16,
    /// Names in any letters.
    pub headers: &'a [(String, String)],
    /// The body, its transfer and content encodings undone.
    pub body: &'a [u8],
}

/// Where in a request a secret goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Place {
    /// A header.
    Header {
        /// The header's name.
        name: String,
        /// What stands before the secret: `Bearer `.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        before: String,
    },
    /// A parameter of the URL.
    Query {
        /// The parameter's name.
        name: String,
    },
    /// A cookie.
    Cookie {
        /// The cookie's name.
        name: String,
    },
    /// `Authorization: Basic`; the secret is `user:password`.
    Basic,
}

/// A secret that cannot go where it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfitting(&'static str);

impl std::fmt::Display for Unfitting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unfitting {}

/// What a tool failed with, as the program sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// The error's name: `HttpError`, `GraphqlError`.
    pub name: &'static str,
    /// What happened, as a sentence.
    pub message: String,
    /// The service's own word for it, or its status.
    pub code: Option<String>,
    /// What the service said, as tagged JSON: `{"status": …, "body": …}`.
    pub data: String,
}
