//! Which web pages may speak to the endpoint, and the CORS headers that tell them.
//!
//! The allowed origins come from configuration, never from `Host`: in a DNS rebinding attack
//! both are the attacker's. Clients that are no browser send no `Origin` and are not concerned.

use super::headers::Headers;

/// Request headers a page may send. `*` would not cover `authorization`, so each is named.
const ALLOWED_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, \
     mcp-method, mcp-name, mcp-session-id, last-event-id";

/// The origins that may speak to the endpoint.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Origins as browsers send them: scheme, host and, where it is not the usual one, port.
    pub allowed: Vec<String>,
    /// Development only: pages of this machine are allowed whatever their port, and `Host` must
    /// name this machine.
    pub loopback: bool,
}

/// What the origin of a request is allowed.
#[derive(Debug, Clone, Default)]
pub(super) struct Cors {
    /// The allowed origin; `None` when the request did not come from a page.
    origin: Option<String>,
}

impl Origins {
    /// Reads a list as configuration has it: origins, separated by commas or white space, and the
    /// word `loopback` for development.
    ///
    /// # Errors
    ///
    /// The entry that is no origin. `*` is none: it would open the endpoint to every page.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut origins = Self::default();
        for entry in list.split([',', ' ', '\t', '\n', '\r']).filter(|entry| !entry.is_empty()) {
            if entry == "loopback" {
                origins.loopback = true;
            } else if is_origin(entry) {
                origins.allowed.push(entry.to_owned());
            } else {
                return Err(entry.to_owned());
            }
        }
        Ok(origins)
    }

    /// The CORS state of a request, or `None` when its origin is refused. `null`, a joined pair
    /// and anything else that is not an allowed origin is refused.
    pub(super) fn check(&self, headers: &Headers) -> Option<Cors> {
        let Some(origin) = headers.get("origin") else { return Some(Cors::default()) };
        let listed = self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin));
        (listed || (self.loopback && is_loopback_origin(origin)))
            .then(|| Cors { origin: Some(origin.to_owned()) })
    }

    /// Whether `Host` is one to answer to. Only development looks: there, a foreign name that
    /// leads to this machine is a DNS rebinding attack. In production the platform routes by it.
    pub(super) fn serves_host(&self, headers: &Headers) -> bool {
        !self.loopback || headers.get("host").is_none_or(is_loopback_authority)
    }
}

impl Cors {
    /// The headers of every answer, errors included, so that the page can read it.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(origin) = &self.origin else { return Vec::new() };
        vec![
            ("access-control-allow-origin", origin.clone()),
            (
                "access-control-expose-headers",
                "WWW-Authenticate, Mcp-Session-Id, X-Holdfast-Code".to_owned(),
            ),
            ("vary", "Origin".to_owned()),
        ]
    }

    /// What the answer to a preflight has besides. GET and DELETE are named so that the page
    /// can read the 405.
    pub(super) fn preflight(&self) -> Vec<(&'static str, String)> {
        if self.origin.is_none() {
            return Vec::new();
        }
        vec![
            ("access-control-allow-methods", "POST, GET, DELETE, OPTIONS".to_owned()),
            ("access-control-allow-headers", ALLOWED_HEADERS.to_owned()),
            ("access-control-max-age", "7200".to_owned()), // seconds; more than browsers keep
        ]
    }
}

/// Whether `text` is scheme, host and perhaps port: what a browser can send. A path, even `/`,
/// would never match.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, authority)| {
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let is_host = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | '@' | '?' | '#' | '*');
        !scheme.is_empty()
            && scheme.chars().all(is_scheme)
            && !authority.is_empty()
            && authority.chars().all(is_host)
    })
}

/// Whether `origin` is a page of this machine.
fn is_loopback_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(is_loopback_authority)
}

/// Whether `host[:port]` names this machine.
fn is_loopback_authority(authority: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        authority.strip_prefix(name).is_some_and(|rest| match rest.strip_prefix(':') {
            Some(port) => !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()),
            None => rest.is_empty(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Headers, Origins};

    fn allowed(origins: &Origins, origin: &str) -> bool {
        origins.check(&Headers::from_iter([("Origin", origin)])).is_some()
    }

    #[test]
    fn only_named_origins_pass() {
        let origins = Origins { allowed: vec!["https://app.example".to_owned()], loopback: false };
        let cases = [
            ("https://app.example", true),
            ("https://APP.example", true),
            ("https://app.example:8443", false),
            ("http://app.example", false),
            ("https://app.example.evil.example", false),
            ("https://app.example, https://app.example", false),
            ("http://localhost:8787", false),
            ("null", false),
            ("", false),
        ];
        for (origin, expected) in cases {
            assert_eq!(allowed(&origins, origin), expected, "{origin}");
        }
    }

    #[test]
    fn a_list_is_read_and_what_is_no_origin_is_named() {
        let read = Origins::parse(" https://a.example,loopback\nvscode-webview://x1 ").unwrap();
        assert_eq!(read.allowed, ["https://a.example", "vscode-webview://x1"]);
        assert!(read.loopback);
        assert!(Origins::parse("").is_ok_and(|none| none.allowed.is_empty() && !none.loopback));
        for wrong in ["*", "null", "a.example", "https://a.example/", "https://*.a", "://x", "x://"]
        {
            let list = format!("https://a.example {wrong}");
            assert_eq!(Origins::parse(&list).unwrap_err(), wrong);
        }
    }

    #[test]
    fn development_allows_pages_of_this_machine_on_any_port() {
        let origins = Origins { allowed: Vec::new(), loopback: true };
        let cases = [
            ("http://localhost:8787", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:1", true),
            ("http://localhost.evil.example", false),
            ("http://localhost:80@evil.example", false),
            ("http://localhost:", false),
            ("http://127.0.0.10", false),
            ("file://localhost", false),
            ("null", false),
        ];
        for (origin, expected) in cases {
            assert_eq!(allowed(&origins, origin), expected, "{origin}");
        }
    }

    #[test]
    fn a_foreign_host_is_refused_in_development_only() {
        let foreign = Headers::from_iter([("Host", "evil.example:8787")]);
        let own = Headers::from_iter([("Host", "localhost:8787")]);
        let development = Origins { allowed: Vec::new(), loopback: true };
        assert!(!development.serves_host(&foreign));
        assert!(development.serves_host(&own));
        assert!(development.serves_host(&Headers::default()));
        assert!(Origins::default().serves_host(&foreign));
    }
}
