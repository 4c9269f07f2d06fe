//! Redaction: the one place that text passes before it reaches Sentry, D1 or a log.
//!
//! What is taken out:
//!
//! - every secret that the redactor was given, as it is, percent-encoded and JSON-escaped;
//! - user info in URLs (`https://user:password@host`);
//! - what follows `Bearer` and `Basic`, and the values of authorization and cookie headers;
//! - values with a name that says secret (`password=…`, `"apiKey": "…"`, `?key=…`);
//! - JSON web tokens, private keys in PEM, and tokens with a well-known beginning (`ghp_…`).
//!
//! Each becomes `[redacted]`; names and everything around stay, so that a message still reads.
//! Redacting twice is redacting once. It is pure, looks at each byte about once, and returns the
//! text itself where there is nothing to take out.
//!
//! What it cannot do: know a secret that it was not given and that looks like any other word.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde_json::Value;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Bytes of the shortest secret that is looked for by its text: a shorter one is in every word.
const MIN_SECRET_BYTES: usize = 6;

/// Takes secrets out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret within a secret leaves nothing of the longer one.
    secrets: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish()
    }
}

impl Redactor {
    /// A redactor that also knows `secrets` by their text.
    #[must_use]
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut known: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < MIN_SECRET_BYTES {
                continue;
            }
            for spelling in [secret.to_owned(), percent_encoded(secret), json_escaped(secret)] {
                if !known.contains(&spelling) {
                    let place = known.partition_point(|other| other.len() > spelling.len());
                    known.insert(place, spelling);
                }
            }
        }
        Self { secrets: known }
    }

    /// `text` without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), REDACTED));
            }
        }
        match text {
            Cow::Borrowed(text) => redact(text),
            Cow::Owned(text) => Cow::Owned(redact(&text).into_owned()),
        }
    }

    /// Takes the secrets out of every string in `value`, and every value whose name says secret.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if names_secret(name) && !matches!(value, Value::Null | Value::Bool(_)) {
                        *value = Value::String(REDACTED.to_owned());
                    } else {
                        self.json(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Ends of names whose values are secret, without `-` and `_`, in lower case.
const SECRET_NAMES: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "signingkey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "signature",
    "sessionid",
    "jwt",
];

/// Beginnings of tokens and how many bytes a whole one has at least.
const TOKENS: [(&str, usize); 20] = [
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("gho_", 20),
    ("ghp_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("rk_live_", 20),
    ("sk-", 20),
    ("sk_live_", 20),
    ("sk_test_", 20),
    ("sntrys_", 20),
    ("xoxa-", 15),
    ("xoxb-", 15),
    ("xoxp-", 15),
];

/// Whether a value of this name is secret, whatever it looks like.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_NAMES.iter().any(|secret| plain.ends_with(secret))
}

/// A place in a text: what is before `secret.0` is kept, what is up to `secret.1` goes.
type Found = (usize, usize);

fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = String::new();
    let mut kept_to = 0;
    let mut at = 0;
    while at < text.len() {
        if let Some((from, to)) = find_at(text, at) {
            redacted.push_str(text.get(kept_to..from).unwrap_or_default());
            redacted.push_str(REDACTED);
            kept_to = to;
            at = to.max(at.saturating_add(1));
        } else {
            at = next_start(text, at);
        }
    }
    if redacted.is_empty() {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(kept_to..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// The next place after `at` where something may begin: the first byte of a word, `://`, or `-----`.
fn next_start(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut in_word = bytes.get(at).is_some_and(|byte| is_word(*byte));
    let mut next = at.saturating_add(1);
    while let Some(byte) = bytes.get(next) {
        match (in_word, is_word(*byte)) {
            (false, true) => return next,
            (_, word) => in_word = word,
        }
        if *byte == b':' || (*byte == b'-' && bytes.get(next.saturating_sub(1)) != Some(&b'-')) {
            return next;
        }
        next = next.saturating_add(1);
    }
    text.len()
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find_at(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    match rest.as_bytes().first()? {
        b':' => find_user_info(rest),
        b'-' => find_private_key(rest),
        byte if is_word(*byte) => find_web_token(rest)
            .or_else(|| find_token(rest))
            .or_else(|| find_scheme(rest))
            .or_else(|| find_named(text, at, rest)),
        _ => None,
    }
    .and_then(|(from, to)| Some((at.checked_add(from)?, at.checked_add(to)?)))
    .filter(|(from, to)| from < to && !text.get(*from..).is_some_and(|t| t.starts_with(REDACTED)))
}

/// `://user:password@`.
fn find_user_info(rest: &str) -> Option<Found> {
    let authority = rest.strip_prefix("://")?;
    let ends = |c: char| c.is_whitespace() || "/?#\\\"'<>()[]{},;".contains(c);
    let authority = authority.split(ends).next()?;
    let user = authority.rfind('@')?;
    Some((3, user.checked_add(3)?))
}

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
fn find_private_key(rest: &str) -> Option<Found> {
    let head = rest.strip_prefix("-----BEGIN ")?;
    let (label, body) = head.split_once("-----")?;
    if !label.ends_with("PRIVATE KEY") || label.len() > 40 {
        return None;
    }
    let end = body.find("-----END ").and_then(|end| {
        let tail = body.get(end..)?.strip_prefix("-----END ")?;
        tail.find("-----").and_then(|close| end.checked_add(close)?.checked_add(14))
    });
    let before = rest.len().saturating_sub(body.len());
    Some((0, end.map_or(rest.len(), |end| before.saturating_add(end).min(rest.len()))))
}

/// `eyJ….….…`.
fn find_web_token(rest: &str) -> Option<Found> {
    let token = rest.strip_prefix("eyJ")?;
    let end = token.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.=".contains(c)));
    let token = end.map_or(token, |end| token.get(..end).unwrap_or_default());
    let parts: Vec<&str> = token.split('.').collect();
    let whole = parts.len() >= 3 && parts.iter().take(2).all(|part| part.len() >= 5);
    whole.then_some((0, token.len().saturating_add(3)))
}

/// `ghp_…` and its like.
fn find_token(rest: &str) -> Option<Found> {
    let (_, least) = TOKENS.iter().find(|(prefix, _)| rest.starts_with(prefix))?;
    let length = rest.bytes().take_while(|byte| is_word(*byte) || *byte == b'-').count();
    (length >= *least).then_some((0, length))
}

/// `Bearer …`, `Basic …`.
fn find_scheme(rest: &str) -> Option<Found> {
    let scheme = rest.bytes().take_while(|byte| is_word(*byte)).count();
    let name = rest.get(..scheme)?;
    if !["bearer", "basic"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return None;
    }
    let spaces = rest.get(scheme..)?.bytes().take_while(|byte| *byte == b' ').count();
    let from = scheme.checked_add(spaces)?;
    let is_credential = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=%:".contains(byte);
    let length = rest.get(from..)?.bytes().take_while(is_credential).count();
    let to = from.checked_add(length)?;
    // "Bearer authentication failed" is prose: one word of small letters.
    let prose = rest.get(from..to)?.bytes().all(|b| b.is_ascii_lowercase() || b".:".contains(&b));
    (spaces > 0 && length >= 8 && !(prose && length < 20)).then_some((from, to))
}

/// `password=…`, `"apiKey": "…"`, `Cookie: …`.
fn find_named(text: &str, at: usize, rest: &str) -> Option<Found> {
    let is_name = |byte: &u8| is_word(*byte) || *byte == b'-';
    let length = rest.bytes().take_while(is_name).count();
    let name = rest.get(..length)?;
    // In a URL any `key` is one; elsewhere it is the word for much else.
    let is_key = name.eq_ignore_ascii_case("key");
    if !is_key && !names_secret(name) {
        return None;
    }
    let (separator, after) = skip_separator(rest.get(length..)?)?;
    let before = text.get(..at).unwrap_or_default().trim_end();
    if is_key && separator != '=' || before.to_ascii_lowercase().ends_with("unexpected") {
        return None;
    }
    let from = rest.len().checked_sub(after.len())?;
    let (skipped, value) = value_at(name, separator, after);
    let plain = after.get(skipped..)?.get(..value)?;
    let from = from.checked_add(skipped)?;
    let nothing = ["null", "true", "false", "undefined", "none"];
    if nothing.iter().any(|word| plain.eq_ignore_ascii_case(word)) || is_key && value < 8 {
        return None;
    }
    Some((from, from.checked_add(value)?))
}

/// Skips `=`, `:`, `=>` or `%3D` with quotes and spaces around; quotes may be escaped.
fn skip_separator(rest: &str) -> Option<(char, &str)> {
    let quote = |c: char| matches!(c, '"' | '\'' | '`' | '\\');
    let rest = rest.trim_start_matches(quote).trim_start_matches(' ');
    let (separator, after) = if let Some(after) = rest.strip_prefix("=>") {
        (':', after)
    } else if let Some(after) = rest.strip_prefix("%3D").or_else(|| rest.strip_prefix("%3d")) {
        ('=', after)
    } else {
        (rest.chars().next().filter(|c| matches!(c, '=' | ':'))?, rest.get(1..)?)
    };
    Some((separator, after.trim_start_matches(' ')))
}

/// Where in `after` the value begins, behind its quote if it has one, and its bytes.
fn value_at(name: &str, separator: char, after: &str) -> (usize, usize) {
    let escapes = after.bytes().take_while(|byte| *byte == b'\\').count();
    let opening = after.get(escapes..).and_then(|rest| rest.chars().next());
    if let Some(quote) = opening.filter(|c| matches!(c, '"' | '\'' | '`')) {
        let close = after.get(..escapes).unwrap_or_default().to_owned() + &quote.to_string();
        let from = close.len();
        let mut search = from;
        while let Some(found) = after.get(search..).and_then(|rest| rest.find(&close)) {
            let place = search.saturating_add(found);
            let before = after.get(from..place).unwrap_or_default();
            // A quote behind more backslashes than the opening one is part of the value.
            if !before.ends_with('\\') {
                return (from, before.len());
            }
            search = place.saturating_add(close.len());
        }
        return (from, after.len().saturating_sub(from));
    }
    // A header's value runs to the end of its line; it may be several words.
    let lower = name.to_ascii_lowercase();
    let is_header =
        separator == ':' && (lower.ends_with("authorization") || lower.ends_with("cookie"));
    let ends = |c: char| match c {
        '\n' | '\r' | '"' | '\'' | '`' => true,
        _ if is_header => false,
        '&' | ',' | ';' | ')' | '}' | ']' | '<' | '>' | '\\' => true,
        other => other.is_whitespace(),
    };
    (0, after.find(ends).unwrap_or(after.len()))
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    //! What says secret goes; what only sounds like it stays.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn secrets_go_and_the_sentence_stays() {
        let cases = [
            ("GET https://user:pw@host/x failed", "GET https://[redacted]@host/x failed"),
            ("https://key@o1.ingest.example/1", "https://[redacted]@o1.ingest.example/1"),
            ("postgres://a:b@c@h:5/x?y", "postgres://[redacted]@h:5/x?y"),
            (
                "Authorization: Bearer abc.def-123 was refused\nnext",
                "Authorization: [redacted]\nnext",
            ),
            (r#"{"authorization":"Bearer x y"}"#, r#"{"authorization":"[redacted]"}"#),
            ("sent Bearer abcd1234efgh to it", "sent Bearer [redacted] to it"),
            ("basic dXNlcjpwYXNz", "basic [redacted]"),
            ("Cookie: a=b; c=d", "Cookie: [redacted]"),
            ("set-cookie: a=b", "set-cookie: [redacted]"),
            ("password=hunter2&user=me", "password=[redacted]&user=me"),
            ("?key=AbCdEfGh12&x=1", "?key=[redacted]&x=1"),
            ("?token%3Dabcdef%26", "?token%3D[redacted]"),
            ("client_secret: s3cr3t, x", "client_secret: [redacted], x"),
            ("X-Api-Key: 12345", "X-Api-Key: [redacted]"),
            (r#"{"apiKey": "a\"b", "n": 1}"#, r#"{"apiKey": "[redacted]", "n": 1}"#),
            (r#"{\"token\":\"abc\",\"n\":1}"#, r#"{\"token\":\"[redacted]\",\"n\":1}"#),
            ("{ password: 'a b' }", "{ password: '[redacted]' }"),
            ("AWS_SECRET_ACCESS_KEY=abc/def+g", "AWS_SECRET_ACCESS_KEY=[redacted]"),
            ("jwt eyJhbGciOi.eyJzdWIiOi.c2ln end", "jwt [redacted] end"),
            ("with ghp_0123456789abcdefghij.", "with [redacted]."),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- b",
                "a [redacted] b",
            ),
            ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
            ("pä password=ü✓, x", "pä password=[redacted], x"),
        ];
        let redactor = Redactor::default();
        for (text, expected) in cases {
            assert_eq!(redactor.text(text), expected);
        }
    }

    #[test]
    fn what_only_sounds_secret_stays() {
        let cases = [
            "",
            "D1 write failed",
            "Unexpected token: '}' at 1:2",
            "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
            "Bearer authentication failed",
            "Basic tier",
            "the token expired",
            "token: null, password: undefined",
            "max_tokens: 4096, tokens=12",
            "key=5, primary key: abcdefghijkl",
            "https://host/a@b",
            "a://b",
            "run 9680658abdf7413ef2a746458761c60d at commit 0123456789abcdef0123456789abcdef01234567",
            "eyJust a word. And. More",
            "----- a rule -----",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "mail me@host: hello",
            "Execution timed out after 90s: Holdfast stopped watching the sandbox.",
        ];
        let redactor = Redactor::default();
        for text in cases {
            assert!(matches!(redactor.text(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn a_given_secret_goes_in_every_spelling() {
        let redactor = Redactor::new(["s\"cret/önly", "s\"cret/önly-and-more", "short", ""]);
        assert_eq!(redactor.text("a s\"cret/önly b"), "a [redacted] b");
        assert_eq!(redactor.text("a s\"cret/önly-and-more b"), "a [redacted] b");
        assert_eq!(redactor.text("?q=s%22cret%2F%C3%B6nly&x"), "?q=[redacted]&x");
        assert_eq!(redactor.text(r#"{"a":"s\"cret/önly"}"#), r#"{"a":"[redacted]"}"#);
        assert_eq!(redactor.text("short"), "short");
        assert!(!format!("{redactor:?}").contains("cret/"));
    }

    #[test]
    fn json_is_redacted_by_name_and_by_text() {
        let mut value = json!({
            "url": "https://u:p@h/", "key": "kept", "password": 7, "nested": [{ "accessToken": ["x"] }],
            "token": null, "secret": true, "note": "Bearer abcd1234efgh",
        });
        Redactor::default().json(&mut value);
        assert_eq!(
            value,
            json!({
                "url": "https://[redacted]@h/", "key": "kept", "password": REDACTED,
                "nested": [{ "accessToken": REDACTED }], "token": null, "secret": true,
                "note": "Bearer [redacted]",
            })
        );
    }

    proptest! {
        #[test]
        fn redacting_twice_is_redacting_once(
            parts in prop::collection::vec(prop::sample::select(vec![
                "password", "=", ":", " ", "\"", "'", "\\", "Bearer ", "abcd1234efgh", "https://", "@", "/",
                "eyJhbGciOi.eyJzdWIiOi.c2ln", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
                "ü", "\n", "key", "[redacted]", "x", "%3D", "&", ",", "ghp_0123456789abcdefghij", "secret1",
            ]), 0..14),
        ) {
            let text = parts.concat();
            let redactor = Redactor::new(["secret1"]);
            let once = redactor.text(&text).into_owned();
            prop_assert_eq!(redactor.text(&once).into_owned(), once.clone());
            prop_assert!(!once.contains("secret1"));
        }

        #[test]
        fn any_text_is_redacted_without_a_panic(text in ".{0,200}") {
            let redactor = Redactor::new(["secret1"]);
            let _ = redactor.text(&text);
        }

        #[test]
        fn a_password_never_survives(
            before in "[a-z ]{0,20}[ \"'{&?]", name in "(password|api_key|X-Auth-Token|clientSecret)",
            separator in "(=|: |\":\"|=>|%3D)", secret in "[A-Z0-9+/]{12,40}",
        ) {
            let text = format!("{before}{name}{separator}{secret} after");
            prop_assert!(!Redactor::default().text(&text).contains(&secret), "{}", text);
        }
    }
}
