//! Secrets: where each may go, the keys that seal them, and what takes them out of answers. Pure.
//!
//! The value of a secret leaves this module in one direction only: into a request that the gateway
//! is about to make. It has no `Display`, and its `Debug` shows the name.

use super::egress::HostRules;
use super::exchange::Place;
use crate::error::{Code, Fault};
use crate::run::value::encode_base64;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use url::Url;

/// Bytes of the shortest secret. A shorter one would be in every other word of an answer, from which
/// it is taken out.
pub const MIN_BYTES: usize = 8;

/// Bytes of the longest secret: a header of that length still passes.
pub const MAX_BYTES: usize = 8_192;

/// Where a secret may go. Each list says all that is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grants {
    /// Names of the sources that may use it; `*` for every one.
    pub sources: Vec<String>,
    /// Hosts that it may be shown to, written like the rules of `HOLDFAST_HTTP_HOSTS`.
    pub hosts: Vec<String>,
    /// Headers that it may stand in.
    #[serde(default = "authorization")]
    pub headers: Vec<String>,
    /// Parameters of the URL that it may stand in.
    #[serde(default)]
    pub query: Vec<String>,
    /// Cookies that it may be.
    #[serde(default)]
    pub cookies: Vec<String>,
}

fn authorization() -> Vec<String> {
    vec!["authorization".to_owned()]
}

impl Grants {
    /// Checks what was put.
    ///
    /// # Errors
    ///
    /// `invalid_request` naming the list.
    pub fn check(&self) -> Result<(), Fault> {
        if self.sources.is_empty() {
            let what = "must name the sources that may use it; write [\"*\"] for every one";
            return Err(Fault::invalid("sources", what));
        }
        if self.hosts.is_empty() {
            let what = "must name the hosts that it may be shown to, such as api.example.com";
            return Err(Fault::invalid("hosts", what));
        }
        HostRules::parse(&self.hosts.join(",")).map_err(|what| Fault::invalid("hosts", what))?;
        let lists = [&self.sources, &self.hosts, &self.headers, &self.query, &self.cookies];
        if lists.iter().any(|list| list.len() > 50 || list.iter().any(|text| text.len() > 253)) {
            let what = "may have 50 entries of 253 bytes each at most";
            return Err(Fault::invalid("grants", what));
        }
        Ok(())
    }

    /// Whether a source may use it.
    #[must_use]
    pub fn source(&self, name: &str) -> bool {
        self.sources.iter().any(|known| known == "*" || known == name)
    }

    /// Whether the secret `name` may stand at `place` of a request to `url`.
    ///
    /// # Errors
    ///
    /// `policy_blocked` naming the secret and what it lacks.
    pub fn admit(&self, name: &str, place: &Place, url: &Url) -> Result<(), Fault> {
        let refused = |what: String| {
            Err(Fault::new(Code::SecretNotAllowed, format!("The secret {name} {what}."))
                .with("secret", name))
        };
        let hosts = HostRules::parse(&self.hosts.join(",")).unwrap_or_default();
        if !hosts.cover(url) {
            let host = url.host_str().unwrap_or_default();
            return refused(format!("may not be shown to {host}"));
        }
        let (list, wanted, what) = match place {
            Place::Header { name, .. } => (&self.headers, name.as_str(), "header"),
            Place::Basic => (&self.headers, "authorization", "header"),
            Place::Query { name } => (&self.query, name.as_str(), "query parameter"),
            Place::Cookie { name } => (&self.cookies, name.as_str(), "cookie"),
        };
        let folds = !matches!(place, Place::Query { .. } | Place::Cookie { .. });
        let is = |known: &String| known == wanted || folds && known.eq_ignore_ascii_case(wanted);
        if list.iter().any(is) {
            return Ok(());
        }
        refused(format!("may not stand in the {what} {wanted}"))
    }
}

/// A secret, opened for one request.
#[derive(Clone)]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// Where it may go.
    pub grants: Grants,
    text: String,
}

impl Opened {
    /// A secret and its value.
    #[must_use]
    pub fn new(name: String, grants: Grants, text: String) -> Self {
        Self { name, grants, text }
    }

    /// The value.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What stands where a secret was.
const TAKEN_OUT: &str = "[secret]";

/// Takes secrets out of what a service answers: a service may send back what it was shown.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that a part of one spelling leaves nothing of another.
    spellings: Vec<String>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scrubber").field("spellings", &self.spellings.len()).finish()
    }
}

impl Scrubber {
    /// Looks for a secret from now on: as it is, and as it is written in URLs, JSON and `Basic`.
    pub fn learn(&mut self, secret: &str) {
        let mut spellings = vec![secret.to_owned(), encode_base64(secret.as_bytes())];
        if let Some((_, password)) = secret.split_once(':')
            && password.len() >= MIN_BYTES
        {
            spellings.push(password.to_owned());
        }
        let quoted = serde_json::Value::from(secret).to_string();
        spellings.extend(
            quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map(str::to_owned),
        );
        let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        spellings.extend([form.replace('+', "%20"), form, percent(secret)]);
        for spelling in spellings {
            if !self.spellings.contains(&spelling) {
                self.spellings.push(spelling);
            }
        }
        self.spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    }

    /// A text without them.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for spelling in &self.spellings {
            if text.contains(spelling.as_str()) {
                text = text.replace(spelling.as_str(), TAKEN_OUT);
            }
        }
        text
    }

    /// Bytes without them, be they text or not.
    #[must_use]
    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = bytes;
        for spelling in &self.spellings {
            let wanted = spelling.as_bytes();
            let Some(first) = wanted.first() else { continue };
            let mut out = Vec::new();
            let mut rest = bytes.as_slice();
            while let Some(at) = rest.iter().position(|byte| byte == first) {
                let (before, found) = rest.split_at(at);
                out.extend_from_slice(before);
                if let Some(after) = found.strip_prefix(wanted) {
                    out.extend_from_slice(TAKEN_OUT.as_bytes());
                    rest = after;
                } else {
                    out.push(*first);
                    rest = found.get(1..).unwrap_or_default();
                }
            }
            out.extend_from_slice(rest);
            bytes = out;
        }
        bytes
    }
}

/// Everything but letters, digits and `-._~` percent-encoded, in small letters: the other spelling
/// of what `form_urlencoded` writes.
fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

/// The keys of `HOLDFAST_SECRETS_KEY`: the first one seals, all of them open.
#[derive(Clone, Default)]
pub struct Keyring {
    keys: Vec<(String, [u8; 32])>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<&str> = self.keys.iter().map(|(id, _)| id.as_str()).collect();
        f.debug_struct("Keyring").field("ids", &ids).finish()
    }
}

impl Keyring {
    /// Reads keys of 64 hex digits, separated by commas, the newest first.
    ///
    /// # Errors
    ///
    /// What is wrong, without the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut keys = Vec::new();
        for (place, part) in text.split(',').map(str::trim).enumerate() {
            let key = crate::hex::decode(part).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let Some(key) = key else {
                let place = place.saturating_add(1);
                return Err(format!(
                    "key {place} must be 64 hex digits; several are separated by commas, the newest first"
                ));
            };
            // An id tells keys apart and nothing of the key: the hash of 256 random bits.
            let id = crate::hex::encode(&Sha256::digest(key)).chars().take(16).collect();
            keys.push((id, key));
        }
        Ok(Self { keys })
    }

    /// The key that seals, and its id.
    #[must_use]
    pub fn newest(&self) -> Option<(&str, &[u8; 32])> {
        self.keys.first().map(|(id, key)| (id.as_str(), key))
    }

    /// The key of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&[u8; 32]> {
        self.keys.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

/// Whether a text can be the name of a secret or of a source.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && text.len() <= 64
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    //! Works when allowed, fails when absent, fails when not allowed; and nothing shows a value.

    use super::*;

    fn grants() -> Grants {
        Grants {
            sources: vec!["github".to_owned()],
            hosts: vec!["api.example.com".to_owned(), "*.example.org".to_owned()],
            headers: vec!["Authorization".to_owned()],
            query: vec!["key".to_owned()],
            cookies: vec![],
        }
    }

    #[test]
    fn a_secret_goes_only_where_it_was_granted() {
        let header = |name: &str| Place::Header { name: name.to_owned(), before: String::new() };
        let query = |name: &str| Place::Query { name: name.to_owned() };
        for (place, url, allowed) in [
            (header("authorization"), "https://api.example.com/a", true),
            (Place::Basic, "https://x.example.org/", true),
            (query("key"), "https://api.example.com/", true),
            (query("KEY"), "https://api.example.com/", false),
            (query("other"), "https://api.example.com/", false),
            (header("x-key"), "https://api.example.com/", false),
            (header("authorization"), "https://evil.example.com/", false),
            (header("authorization"), "http://api.example.com/", false),
            (header("authorization"), "https://api.example.com:8443/", false),
            (Place::Cookie { name: "key".to_owned() }, "https://api.example.com/", false),
        ] {
            let admitted = grants().admit("s", &place, &Url::parse(url).unwrap());
            assert_eq!(admitted.is_ok(), allowed, "{place:?} {url}");
        }
        assert!(grants().source("github") && !grants().source("gitlab"));
        assert!(Grants { sources: vec!["*".to_owned()], ..grants() }.source("gitlab"));
    }

    #[test]
    fn grants_that_say_nothing_are_refused() {
        assert!(grants().check().is_ok());
        assert!(Grants { sources: vec![], ..grants() }.check().is_err());
        assert!(Grants { hosts: vec![], ..grants() }.check().is_err());
        assert!(Grants { hosts: vec!["*".to_owned()], ..grants() }.check().is_err());
    }

    #[test]
    fn an_answer_that_repeats_a_secret_loses_it_in_every_spelling() {
        let secret = "user:s3cr\"t /+ü-value";
        let mut scrubber = Scrubber::default();
        scrubber.learn(secret);
        let spelled = [
            secret.to_owned(),
            "s3cr\"t /+ü-value".to_owned(),
            serde_json::json!({ "echo": secret }).to_string(),
            encode_base64(secret.as_bytes()),
            percent(secret),
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        ];
        for text in spelled {
            let text = format!("before {text} after");
            let out = scrubber.text(&text);
            assert!(out.contains("before") && out.contains("after"), "{out}");
            assert!(!out.contains("s3cr"), "{out}");
            assert!(!out.contains(&encode_base64(secret.as_bytes())), "{out}");
            assert_eq!(scrubber.bytes(text.into_bytes()), out.into_bytes());
        }
        let mut bytes = vec![0xff, b'u', b'u'];
        bytes.extend_from_slice(secret.as_bytes());
        bytes.push(0xfe);
        assert_eq!(
            scrubber.bytes(bytes),
            [&[0xff, b'u', b'u'], TAKEN_OUT.as_bytes(), &[0xfe]].concat()
        );
    }

    #[test]
    fn a_secret_is_not_shown() {
        let opened = Opened::new("s".to_owned(), grants(), "the-value-itself".to_owned());
        assert!(!format!("{opened:?}").contains("the-value-itself"));
        let key = "ab".repeat(32);
        assert!(!format!("{:?}", Keyring::parse(&key).unwrap()).contains(&key));
        assert!(!Keyring::parse("abcd").unwrap_err().contains("abcd"));
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let keys = format!("{}, {}", "01".repeat(32), "02".repeat(32));
        let ring = Keyring::parse(&keys).unwrap();
        let (id, key) = ring.newest().unwrap();
        assert_eq!(key, &[1; 32]);
        assert_eq!(ring.get(id), Some(&[1; 32]));
        let old = Keyring::parse(&"02".repeat(32)).unwrap();
        assert_eq!(ring.get(old.newest().unwrap().0), Some(&[2; 32]));
        assert!(ring.get("unknown").is_none());
    }

    #[test]
    fn a_name_is_a_word() {
        for name in ["github", "git-hub_2", "a"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "Git", "2fa", "a.b", "a b", "-a", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
