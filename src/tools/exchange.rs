//! A request to a service and its answer, as data: what a plan makes and what it reads. Pure; the
//! gateway sends.

use crate::run::value;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

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

impl Request {
    /// Puts a secret in its place, in front of whatever the program put there.
    ///
    /// # Errors
    ///
    /// Why the secret cannot go there; never the secret.
    pub fn put(&mut self, place: &Place, secret: &str) -> Result<(), &'static str> {
        let header = |name: &str, value: String| {
            if value.chars().any(char::is_control) {
                return Err("the secret has a line break or another control character");
            }
            Ok((name.to_ascii_lowercase(), value))
        };
        match place {
            Place::Header { name, before } => {
                let (name, value) = header(name, format!("{before}{secret}"))?;
                self.headers.retain(|(other, _)| *other != name);
                self.headers.push((name, value));
            }
            Place::Basic => {
                if !secret.contains(':') {
                    return Err("the secret must be of the form user:password");
                }
                let value = format!("Basic {}", value::encode_base64(secret.as_bytes()));
                self.headers.retain(|(other, _)| other != "authorization");
                self.headers.push(("authorization".into(), value));
            }
            Place::Cookie { name } => {
                let (_, value) = header("cookie", secret.to_owned())?;
                if value.contains([';', ',', '"', '\\']) || value.contains(char::is_whitespace) {
                    return Err("the secret has a character that no cookie can have");
                }
                let before = self.headers.iter().position(|(other, _)| other == "cookie");
                let others = before.map(|at| self.headers.remove(at).1).unwrap_or_default();
                let others = others
                    .split("; ")
                    .filter(|one| !one.is_empty() && one.split('=').next() != Some(name.as_str()));
                let own = format!("{name}={value}");
                let all: Vec<&str> = others.chain([own.as_str()]).collect();
                self.headers.push(("cookie".into(), all.join("; ")));
            }
            Place::Query { name } => {
                let mut url = Url::parse(&self.url).map_err(|_| "the request has no URL")?;
                let others: Vec<(String, String)> = url
                    .query_pairs()
                    .filter(|(other, _)| other != name)
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect();
                if url.query_pairs().any(|(other, _)| other == *name) {
                    url.query_pairs_mut().clear().extend_pairs(others);
                }
                url.query_pairs_mut().append_pair(name, secret);
                self.url = url.into();
            }
        }
        Ok(())
    }
}

impl Response<'_> {
    /// The first header of a name, given in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as tagged JSON, by its media type: JSON as what it says, text as text, anything else
    /// as bytes; `null` where there is none. JSON that is none is text.
    #[must_use]
    pub fn value(&self) -> String {
        if self.body.is_empty() {
            return "null".to_owned();
        }
        let media = self.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let media = media.split(';').next().unwrap_or_default().trim();
        let bytes = || value::bytes(self.body).to_string();
        let Ok(text) = std::str::from_utf8(self.body) else { return bytes() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let as_text = || Value::from(text).to_string();
        if is_json(media) || media.is_empty() {
            return value::tagged(text).unwrap_or_else(|_| as_text());
        }
        if is_text(media) { as_text() } else { bytes() }
    }

    /// The same, cut where it is very long: what an error shows.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.body.len() <= MAX_SHOWN_BYTES {
            return self.value();
        }
        let text = String::from_utf8_lossy(self.body.get(..MAX_SHOWN_BYTES).unwrap_or_default());
        let rest = self.body.len().saturating_sub(MAX_SHOWN_BYTES);
        Value::from(format!("{text}… ({rest} bytes more)")).to_string()
    }
}

/// Bytes of a body that an error shows.
const MAX_SHOWN_BYTES: usize = 32_768;

/// Whether a media type, without its parameters, is one of JSON.
#[must_use]
pub fn is_json(media: &str) -> bool {
    media == "application/json" || media == "text/json" || media.ends_with("+json")
}

/// Whether a media type, without its parameters, is one of text.
#[must_use]
pub fn is_text(media: &str) -> bool {
    const TEXTS: &[&str] = &[
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    ];
    media.starts_with("text/")
        || media.ends_with("+xml")
        || media.ends_with("+yaml")
        || TEXTS.contains(&media)
}

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

#[cfg(test)]
mod tests {
    //! A secret goes where it should and nowhere else; a body is read as what it says it is.

    use super::*;

    fn request() -> Request {
        Request {
            method: "GET".into(),
            url: "https://example.com/a?key=mine&b=%20c".into(),
            headers: vec![
                ("authorization".into(), "of the program".into()),
                ("cookie".into(), "a=1; sid=mine".into()),
            ],
            body: None,
        }
    }

    #[test]
    fn a_secret_goes_in_front_of_what_the_program_put_there() {
        let bearer = Place::Header { name: "Authorization".into(), before: "Bearer ".into() };
        let mut sent = request();
        sent.put(&bearer, "s3cret").unwrap();
        assert_eq!(sent.headers.iter().filter(|(name, _)| name == "authorization").count(), 1);
        assert!(sent.headers.contains(&("authorization".into(), "Bearer s3cret".into())));
        sent.put(&Place::Basic, "user:pass").unwrap();
        assert!(sent.headers.contains(&("authorization".into(), "Basic dXNlcjpwYXNz".into())));
        sent.put(&Place::Cookie { name: "sid".into() }, "x1").unwrap();
        assert!(sent.headers.contains(&("cookie".into(), "a=1; sid=x1".into())));
        sent.put(&Place::Query { name: "key".into() }, "a&b").unwrap();
        assert_eq!(sent.url, "https://example.com/a?b=+c&key=a%26b");
    }

    #[test]
    fn a_secret_that_cannot_go_there_is_refused_without_being_told() {
        let bearer = Place::Header { name: "x".into(), before: String::new() };
        let cases = [
            (bearer, "a\r\nevil: 1"),
            (Place::Basic, "nocolon"),
            (Place::Cookie { name: "a".into() }, "a; b=c"),
        ];
        for (place, secret) in cases {
            let why = request().put(&place, secret).unwrap_err();
            assert!(!why.contains(secret), "{why}");
        }
    }

    #[test]
    fn a_body_is_read_as_what_it_says_it_is() {
        let cases: &[(&str, &[u8], &str)] = &[
            ("application/json; charset=utf-8", b"{\"a\":1.0}", "{\"a\":1.0}"),
            ("application/problem+json", b"[1]", "[1]"),
            ("application/json", b"\xef\xbb\xbf1", "1"),
            ("application/json", b"{oops", "\"{oops\""),
            ("application/json", b"{\"$\":1}", "{\"$\":\"object\",\"v\":{\"$\":1}}"),
            ("application/json", b"", "null"),
            ("text/plain", b"1", "\"1\""),
            ("application/xml", b"<a/>", "\"<a/>\""),
            ("image/png", b"\x89P", "{\"$\":\"bytes\",\"v\":\"iVA=\"}"),
            ("text/plain", b"\xff", "{\"$\":\"bytes\",\"v\":\"/w==\"}"),
            ("", b"[]", "[]"),
            ("", b"hello", "\"hello\""),
        ];
        for (media, body, expected) in cases {
            let headers = [("Content-Type".to_owned(), (*media).to_owned())];
            let response = Response { status: 200, headers: &headers, body };
            assert_eq!(&response.value(), expected, "{media}");
        }
        let body = vec![b'x'; 40_000];
        let long = Response { status: 500, headers: &[], body: &body };
        assert!(long.shown().contains("7232 bytes more"));
    }
}
