//! Assertions of Cloudflare Access: who somebody is, as a team's keys sign it. Pure: whether the
//! signature is right is the platform's to say.
//!
//! The algorithm is RS256 and nothing else, whatever an assertion says of itself. The e-mail of an
//! assertion is nobody here until an admin has bound a token to it.

use crate::run::value::decode_base64;
use serde::Deserialize;
use serde_json::Value;

/// The longest assertion, in bytes: headers are not much longer.
const MAX_BYTES: usize = 16_384;

/// Keys that are taken of a team: it has two, or three while they change.
const MAX_KEYS: usize = 16;

/// How far the clock of whoever signed may be off ours, in seconds.
const SKEW_S: u64 = 60;

/// The longest e-mail, in bytes.
const MAX_EMAIL_BYTES: usize = 254;

/// The team whose assertions count, and for which applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who signs: `https://team.cloudflareaccess.com`.
    pub issuer: String,
    audiences: Vec<String>,
}

impl Access {
    /// Reads the two variables. A team is a host name, or an origin; one over plain HTTP is of this
    /// machine only, for tests.
    ///
    /// # Errors
    ///
    /// Which of them is wrong, and how.
    pub fn parse(team: &str, audience: &str) -> Result<Self, (&'static str, &'static str)> {
        let team = team.trim().trim_end_matches('/');
        let origin = if team.contains("://") { team.to_owned() } else { format!("https://{team}") };
        let url = url::Url::parse(&origin).ok();
        let fits = url.is_some_and(|url| {
            let local = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
            url.origin().ascii_serialization() == origin
                && (url.scheme() == "https" || url.scheme() == "http" && local)
        });
        if !fits {
            let what = "must be the team's domain, such as acme.cloudflareaccess.com";
            return Err(("HOLDFAST_ACCESS_TEAM", what));
        }
        let audiences: Vec<String> = audience.split(',').map(|one| one.trim().to_owned()).collect();
        let is_tag = |tag: &String| {
            (16..=128).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        if !audiences.iter().all(is_tag) {
            let what = "must be the application's audience tag; several are separated by commas";
            return Err(("HOLDFAST_ACCESS_AUDIENCE", what));
        }
        Ok(Self { issuer: origin, audiences })
    }

    /// Where the team's keys are.
    #[must_use]
    pub fn keys_at(&self) -> String {
        format!("{}/cdn-cgi/access/certs", self.issuer)
    }

    /// The e-mail of an assertion that is for us and holds now.
    ///
    /// # Errors
    ///
    /// Why it does not; reads after "The assertion".
    pub fn email(&self, claims: &Claims, now_ms: u64) -> Result<String, &'static str> {
        let now = now_ms.div_euclid(1_000);
        let later = now.saturating_add(SKEW_S);
        let is_ours = |audience: &Value| {
            audience.as_str().is_some_and(|audience| self.audiences.iter().any(|a| a == audience))
        };
        let for_us = match &claims.aud {
            Value::Array(all) => all.iter().any(is_ours),
            one => is_ours(one),
        };
        if claims.iss != self.issuer {
            return Err("is of another team");
        }
        if !for_us {
            return Err("is for another application");
        }
        if claims.exp.saturating_add(SKEW_S) <= now {
            return Err("has expired");
        }
        if claims.nbf.is_some_and(|at| at > later) || claims.iat.is_some_and(|at| at > later) {
            return Err("does not hold yet");
        }
        claims.email.as_deref().and_then(email).ok_or("names no e-mail")
    }
}

/// An e-mail as it is compared: in small letters. `None`: it is none.
#[must_use]
pub fn email(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, host) = text.split_once('@')?;
    let fits = !name.is_empty()
        && !host.is_empty()
        && !host.contains('@')
        && text.len() <= MAX_EMAIL_BYTES
        && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_ascii_lowercase())
}

/// What an assertion says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Claims {
    iss: String,
    aud: Value,
    exp: u64,
    nbf: Option<u64>,
    iat: Option<u64>,
    email: Option<String>,
}

/// An assertion whose signature is still to be verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion<'a> {
    /// The key that is said to have signed it.
    pub kid: String,
    /// What was signed.
    pub signed: &'a str,
    /// The signature.
    pub signature: Vec<u8>,
    /// What it says.
    pub claims: Claims,
}

impl<'a> Assertion<'a> {
    /// Reads an assertion: three parts, signed by RS256.
    ///
    /// # Errors
    ///
    /// What is wrong; reads after "The assertion".
    pub fn read(token: &'a str) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Head {
            alg: String,
            kid: String,
            crit: Option<Value>,
        }
        const NONE: &str = "is none";
        if token.len() > MAX_BYTES {
            return Err("is too long");
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(NONE)?;
        let (head, claims) = signed.split_once('.').ok_or(NONE)?;
        let text = |part| bytes(part).and_then(|bytes| String::from_utf8(bytes).ok());
        let head: Head = serde_json::from_str(&text(head).ok_or(NONE)?).map_err(|_| NONE)?;
        if head.alg != "RS256" || head.crit.is_some() {
            return Err("is not signed by RS256");
        }
        let claims: Claims = serde_json::from_str(&text(claims).ok_or(NONE)?).map_err(|_| NONE)?;
        let signature = bytes(signature).ok_or(NONE)?;
        Ok(Self { kid: head.kid, signed, signature, claims })
    }
}

/// Reads base64url without padding.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if text.contains(['+', '/', '=']) {
        return None;
    }
    let mut plain = text.replace('-', "+").replace('_', "/");
    while !plain.len().is_multiple_of(4) {
        plain.push('=');
    }
    decode_base64(&plain)
}

/// A key of a team, as its numbers stand in base64url.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Key {
    /// Its name.
    pub kid: String,
    kty: String,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    /// The modulus.
    pub n: String,
    /// The exponent.
    pub e: String,
}

/// The keys of a team that RS256 may be verified by; `None`: these are none.
#[must_use]
pub fn keys(text: &str) -> Option<Vec<Key>> {
    #[derive(Deserialize)]
    struct Told {
        keys: Vec<Value>,
    }
    // 2,048 bits are 342 letters.
    let fits = |key: &Key| {
        key.kty == "RSA"
            && key.alg.as_deref().is_none_or(|alg| alg == "RS256")
            && key.usage.as_deref().is_none_or(|usage| usage == "sig")
            && key.n.len() >= 342
    };
    let told: Told = serde_json::from_str(text).ok()?;
    // Keys of other kinds are none of ours.
    let read = |key| serde_json::from_value::<Key>(key).ok();
    Some(told.keys.into_iter().filter_map(read).filter(fits).take(MAX_KEYS).collect())
}

#[cfg(test)]
mod tests {
    //! An assertion counts when all of it is right, and when nothing of it is wrong.

    use super::*;
    use crate::run::value::encode_base64;
    use serde_json::json;

    const TAG: &str = "0123456789abcdef0123456789abcdef";
    const NOW_MS: u64 = 1_796_000_000_000;
    const NOW: u64 = NOW_MS / 1_000;

    fn part(value: &str) -> String {
        encode_base64(value.as_bytes()).replace('+', "-").replace('/', "_").replace('=', "")
    }

    fn token(head: &Value, claims: &Value) -> String {
        format!("{}.{}.c2ln", part(&head.to_string()), part(&claims.to_string()))
    }

    fn told(change: impl Fn(&mut Value)) -> Result<String, &'static str> {
        let mut claims = json!({
            "iss": "https://acme.cloudflareaccess.com",
            "aud": [TAG],
            "exp": NOW + 10,
            "nbf": NOW - 10,
            "iat": NOW - 10,
            "email": "Ada@Example.com",
            "type": "app",
        });
        change(&mut claims);
        let access = Access::parse("acme.cloudflareaccess.com", TAG).unwrap();
        let token = token(&json!({ "alg": "RS256", "kid": "k" }), &claims);
        access.email(&Assertion::read(&token)?.claims, NOW_MS)
    }

    #[test]
    fn an_assertion_that_holds_names_an_email() {
        assert_eq!(told(|_| {}), Ok("ada@example.com".to_owned()));
        assert_eq!(told(|claims| claims["aud"] = json!(TAG)), Ok("ada@example.com".to_owned()));
    }

    #[test]
    fn each_claim_is_held_against_us_and_the_clock() {
        let cases: [(&str, Value, &str); 13] = [
            ("iss", json!("https://evil.cloudflareaccess.com"), "is of another team"),
            ("iss", json!("https://acme.cloudflareaccess.com/"), "is of another team"),
            ("aud", json!(["other"]), "is for another application"),
            ("aud", json!([]), "is for another application"),
            ("aud", Value::Null, "is for another application"),
            ("exp", json!(NOW - SKEW_S), "has expired"),
            ("exp", Value::Null, "is none"),
            ("exp", json!("9999999999"), "is none"),
            ("nbf", json!(NOW + SKEW_S + 1), "does not hold yet"),
            ("iat", json!(NOW + SKEW_S + 1), "does not hold yet"),
            ("email", Value::Null, "names no e-mail"),
            ("email", json!(""), "names no e-mail"),
            ("email", json!("ada@example.com@evil.example"), "names no e-mail"),
        ];
        for (claim, value, why) in cases {
            assert_eq!(told(|claims| claims[claim] = value.clone()), Err(why), "{claim} {value}");
        }
        assert!(told(|claims| claims["exp"] = json!(NOW - SKEW_S + 1)).is_ok());
        assert!(told(|claims| claims["nbf"] = json!(NOW + SKEW_S)).is_ok());
    }

    #[test]
    fn the_algorithm_is_not_the_assertions_to_choose() {
        let claims = json!({ "iss": "i", "aud": "a", "exp": 1 });
        let read = |head: Value| Assertion::read(&token(&head, &claims)).map(|told| told.kid);
        assert_eq!(read(json!({ "alg": "RS256", "kid": "k" })), Ok("k".to_owned()));
        for alg in ["none", "None", "HS256", "RS384", "ES256", "PS256", "rs256", ""] {
            assert_eq!(read(json!({ "alg": alg, "kid": "k" })), Err("is not signed by RS256"));
        }
        let odd = json!({ "alg": "RS256", "kid": "k", "crit": ["exp"] });
        assert_eq!(read(odd), Err("is not signed by RS256"));
        assert_eq!(read(json!({ "alg": "RS256" })), Err("is none"));
        let twice = format!("{}.e30.c2ln", part(r#"{"alg":"none","alg":"RS256","kid":"k"}"#));
        assert_eq!(Assertion::read(&twice), Err("is none"));
        for token in ["", ".", "..", "a.b.c", "e30.e30", "e30.e30.e30.e30", &"a".repeat(20_000)] {
            assert!(Assertion::read(token).is_err(), "{}", token.len());
        }
    }

    #[test]
    fn only_keys_of_rs256_are_taken() {
        let n = "n".repeat(342);
        let key = |change: &dyn Fn(&mut Value)| {
            let mut key = json!({ "kid": "k", "kty": "RSA", "alg": "RS256", "use": "sig", "n": n, "e": "AQAB" });
            change(&mut key);
            keys(&json!({ "keys": [key, { "kty": "EC" }] }).to_string()).unwrap().len()
        };
        assert_eq!(key(&|_| {}), 1);
        assert_eq!(key(&|key| key["alg"] = json!("HS256")), 0);
        assert_eq!(key(&|key| key["kty"] = json!("oct")), 0);
        assert_eq!(key(&|key| key["use"] = json!("enc")), 0);
        assert_eq!(key(&|key| key["n"] = json!("n".repeat(341))), 0);
        assert_eq!(keys("[]"), None);
        assert_eq!(keys("<html>"), None);
    }

    #[test]
    fn a_team_is_a_domain_and_plain_http_is_of_this_machine() {
        let team = |team: &str| Access::parse(team, TAG).map(|access| access.issuer);
        for given in ["acme.cloudflareaccess.com", "https://acme.cloudflareaccess.com/"] {
            assert_eq!(team(given), Ok("https://acme.cloudflareaccess.com".to_owned()));
        }
        assert!(team("http://127.0.0.1:8080").is_ok());
        for wrong in [
            "http://acme.cloudflareaccess.com",
            "http://127.0.0.1.example.com",
            "https://a@b.example",
            "acme.example/path",
            "ftp://acme.example",
            "",
        ] {
            assert_eq!(
                team(wrong).map_err(|(name, _)| name),
                Err("HOLDFAST_ACCESS_TEAM"),
                "{wrong}"
            );
        }
        for wrong in ["", "short", &format!("{TAG},"), "with space and more"] {
            let read = Access::parse("acme.cloudflareaccess.com", wrong);
            assert_eq!(read.map_err(|(name, _)| name), Err("HOLDFAST_ACCESS_AUDIENCE"), "{wrong}");
        }
    }
}
