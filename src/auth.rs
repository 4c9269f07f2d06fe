//! Bearer tokens: their form, their hash, what they may. Pure.
//!
//! A token is `hf_<id>_<secret>`: the id finds its row, the SHA-256 of the secret decides. The
//! admin token of the environment is compared by its hash too, so that every comparison takes the
//! same time.

use sha2::{Digest as _, Sha256};

/// What a token may do (DESIGN §11), beside `invoke:name[/export]`.
pub const SCOPES: &[&str] =
    &["execute", "runs", "packages", "sources", "secrets", "policies", "tokens", "approve"];

/// Scopes that change what gates a program: a token that runs programs has one only if it is a
/// person's, who may decide.
const GATES: &[&str] = &["policies", "tokens", "secrets"];

/// What a token that runs programs may not have beside that; the two scopes that clash.
#[must_use]
pub fn clash(scopes: &[String]) -> Option<(&str, &str)> {
    if scopes.iter().any(|scope| scope == "approve") {
        return None;
    }
    let gates = |scope: &&String| GATES.contains(&scope.as_str());
    Some((scopes.iter().find(gates)?, scopes.iter().find(|scope| runs(scope))?))
}

/// Whether a scope has something run.
fn runs(scope: &String) -> bool {
    scope == "execute" || scope.starts_with("invoke:")
}

/// Who asks, and what it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its name: every row carries it.
    pub name: String,
    scopes: Scopes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scopes {
    /// The admin token's: everything but deciding in a person's place.
    AllButApprove,
    These(Vec<String>),
}

impl Principal {
    /// Whoever runs the deployment.
    #[must_use]
    pub fn admin() -> Self {
        Self { name: "admin".to_owned(), scopes: Scopes::AllButApprove }
    }

    /// The owner of a token with these scopes, separated by spaces.
    #[must_use]
    pub fn with_scopes(name: &str, scopes: &str) -> Self {
        let scopes = scopes.split_ascii_whitespace().map(str::to_owned).collect();
        Self { name: name.to_owned(), scopes: Scopes::These(scopes) }
    }

    /// Whether there is anything that it may have run.
    #[must_use]
    pub fn may_run_something(&self) -> bool {
        match &self.scopes {
            Scopes::AllButApprove => true,
            Scopes::These(scopes) => scopes.iter().any(runs),
        }
    }

    /// Whether it may.
    #[must_use]
    pub fn may(&self, scope: &str) -> bool {
        match &self.scopes {
            Scopes::AllButApprove => scope != "approve",
            Scopes::These(scopes) => scopes.iter().any(|own| own == scope || covers(own, scope)),
        }
    }
}

/// Whether a scope covers another: a package's its exports, and `execute` every invocation, for a
/// program may invoke what it likes.
fn covers(own: &str, scope: &str) -> bool {
    scope.starts_with("invoke:")
        && (own == "execute"
            || own.starts_with("invoke:")
                && scope.strip_prefix(own).is_some_and(|rest| rest.starts_with('/')))
}

/// Whether a text names a scope.
#[must_use]
pub fn is_scope(text: &str) -> bool {
    if let Some(target) = text.strip_prefix("invoke:") {
        let mut parts = target.split('/');
        let named = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        return parts.next().is_some_and(named)
            && parts.next().is_none_or(named)
            && parts.next().is_none();
    }
    SCOPES.contains(&text)
}

/// Takes the token out of an `Authorization` header; the scheme's case does not matter.
#[must_use]
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Splits a token of the database into its id and its secret.
#[must_use]
pub fn split(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.strip_prefix("hf_")?.split_once('_')?;
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    (id.len() == 16 && secret.len() == 64 && hex(id) && hex(secret)).then_some((id, secret))
}

/// Puts a token together.
#[must_use]
pub fn join(id: &str, secret: &str) -> String {
    format!("hf_{id}_{secret}")
}

/// SHA-256 of a secret, as hex.
#[must_use]
pub fn hash(secret: &str) -> String {
    crate::hex::encode(&Sha256::digest(secret.as_bytes()))
}

/// Compares two secrets in a time that does not depend on where they differ.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    let (a, b) = (Sha256::digest(a.as_bytes()), Sha256::digest(b.as_bytes()));
    a.iter().zip(b.iter()).fold(0_u8, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    //! Works when allowed, fails when absent, fails when not allowed.

    use super::*;

    #[test]
    fn the_admin_may_all_but_approve() {
        assert!(SCOPES.iter().all(|scope| Principal::admin().may(scope) == (*scope != "approve")));
    }

    #[test]
    fn what_runs_programs_does_not_change_what_gates_them() {
        let clash = |text: &str| {
            let scopes: Vec<String> = text.split(' ').map(str::to_owned).collect();
            super::clash(&scopes).map(|(gates, runs)| format!("{gates} {runs}"))
        };
        for gates in GATES {
            let expected = Some(format!("{gates} execute"));
            assert_eq!(clash(&format!("runs {gates} execute")), expected);
            assert_eq!(clash(&format!("invoke:a/b {gates}")), Some(format!("{gates} invoke:a/b")));
        }
        assert_eq!(clash("execute invoke:a runs packages sources"), None);
        assert_eq!(clash("policies tokens secrets runs packages sources"), None);
        assert_eq!(clash("approve execute policies tokens secrets"), None, "a person's");
    }

    #[test]
    fn a_token_may_what_its_scopes_say() {
        let principal = Principal::with_scopes("ada", "execute runs");
        assert!(principal.may("execute") && principal.may("runs"));
        assert!(!principal.may("tokens") && !principal.may("approve"));
        assert!(!Principal::with_scopes("ada", "").may("execute"));
    }

    #[test]
    fn a_scope_reaches_down_to_packages_and_exports() {
        let may = |scopes: &str, scope: &str| Principal::with_scopes("ada", scopes).may(scope);
        assert!(may("invoke:mail", "invoke:mail/send"));
        assert!(may("invoke:mail/send", "invoke:mail/send"));
        assert!(may("execute", "invoke:mail/send"));
        assert!(!may("invoke:mail/send", "invoke:mail"));
        assert!(!may("invoke:mail/send", "invoke:mail/sendmail"));
        assert!(!may("invoke:mail", "invoke:mailer/send"));
        assert!(!may("packages runs", "invoke:mail/send"));
        assert!(!may("invoke:mail", "execute"));
    }

    #[test]
    fn a_bearer_header_is_read() {
        let cases = [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer ", None),
            ("Bearer", None),
            ("", None),
        ];
        for (header, token) in cases {
            assert_eq!(bearer(header), token, "{header:?}");
        }
    }

    #[test]
    fn a_token_splits_into_id_and_secret() {
        let (id, secret) = ("0123456789abcdef", "a".repeat(64));
        assert_eq!(split(&join(id, &secret)), Some((id, secret.as_str())));
        for token in ["", "hf_", "hf_1_2", "xx_0123456789abcdef_aa", "hf_0123456789abcdef_zz"] {
            assert_eq!(split(token), None, "{token}");
        }
    }

    #[test]
    fn scopes_are_known_words_or_invocations() {
        for scope in ["execute", "approve", "invoke:mail", "invoke:mail/send"] {
            assert!(is_scope(scope), "{scope}");
        }
        for scope in ["", "all", "*", "invoke:", "invoke:a/b/c", "invoke:a/", "invoke:*"] {
            assert!(!is_scope(scope), "{scope}");
        }
    }

    #[test]
    fn secrets_compare_by_hash() {
        assert!(same("abc", "abc"));
        assert!(!same("abc", "abd") && !same("abc", "ab") && !same("", "a"));
        assert_eq!(hash("abc").len(), 64);
    }
}
