//! What an operator says about Sentry, checked once.

use std::fmt;

use super::dsn::Dsn;
use crate::error::{Code, Fault};

/// Where events go, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct SentryConfig {
    /// Where to; `None` switches reports and tunnel off.
    pub dsn: Option<Dsn>,
    /// Name of this deployment's environment.
    pub environment: String,
    /// The commit that is running; empty if not known.
    pub release: String,
    /// Of our own events, this part is sent: 0 to 1.
    pub sample_rate: f64,
    /// The tunnel tells the server the client's address.
    pub forward_address: bool,
    /// Errors and panics can be raised on request, to see that they arrive.
    pub probe: bool,
    /// The longest that the tunnel waits for the server, in milliseconds.
    pub upstream_timeout_ms: u32,
}

/// 10 s: longer than any answer of a healthy server, short enough for a client that flushes
/// before it ends.
const UPSTREAM_TIMEOUT_MS: u32 = 10_000;

/// A variable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidVariable {
    /// Its name.
    pub variable: &'static str,
    /// What is wrong with it; never its value.
    pub what: String,
}

impl fmt::Display for InvalidVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variable, self.what)
    }
}

impl std::error::Error for InvalidVariable {}

impl From<InvalidVariable> for Fault {
    fn from(invalid: InvalidVariable) -> Self {
        Self::new(Code::ConfigurationInvalid, invalid.to_string())
            .with("variable", invalid.variable)
    }
}

impl SentryConfig {
    /// Nothing is reported, and there is no tunnel.
    #[must_use]
    pub fn off() -> Self {
        Self {
            dsn: None,
            environment: "production".to_owned(),
            release: String::new(),
            sample_rate: 1.0,
            forward_address: false,
            probe: false,
            upstream_timeout_ms: UPSTREAM_TIMEOUT_MS,
        }
    }

    /// Reads the variables; `variable` returns the value of one that is set.
    ///
    /// | variable | |
    /// |---|---|
    /// | `SENTRY_DSN` | where to; unset or empty: off |
    /// | `SENTRY_ENVIRONMENT` | `production` unless set; no `/`, at most 64 characters |
    /// | `COMMIT_SHA` | the release |
    /// | `SENTRY_SAMPLE_RATE` | the part of our own events that is sent, 0 to 1; 1 unless set |
    /// | `SENTRY_FORWARD_ADDRESS` | `true`: the tunnel tells the server the client's address |
    /// | `SENTRY_PROBE` | `true`: `/sentry-probe/…` raises errors and panics; for trying out only |
    /// | `SENTRY_TIMEOUT_MS` | the longest that the tunnel waits for the server; 10000 unless set |
    ///
    /// # Errors
    ///
    /// The first variable that cannot be used.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidVariable> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut config = Self::off();
        if let Some(text) = set("SENTRY_DSN") {
            config.dsn = Some(read_dsn(&text).map_err(|what| InvalidVariable {
                variable: "SENTRY_DSN",
                what: format!("is not a DSN (https://key@host/project): {what}."),
            })?);
        }
        if let Some(environment) = set("SENTRY_ENVIRONMENT") {
            if environment.len() > 64 || environment.contains(['/', '\n', '\r', ' ']) {
                return Err(InvalidVariable {
                    variable: "SENTRY_ENVIRONMENT",
                    what: "is over 64 bytes, or has a slash, a space or a line break.".to_owned(),
                });
            }
            config.environment = environment;
        }
        if let Some(release) = set("COMMIT_SHA") {
            if release.len() > 200 || release.contains(['/', '\\', '\n', '\r']) {
                return Err(InvalidVariable {
                    variable: "COMMIT_SHA",
                    what: "is over 200 bytes, or has a slash or a line break.".to_owned(),
                });
            }
            config.release = release;
        }
        if let Some(rate) = set("SENTRY_SAMPLE_RATE") {
            config.sample_rate =
                rate.parse().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(|| {
                    InvalidVariable {
                        variable: "SENTRY_SAMPLE_RATE",
                        what: "is not a number from 0 to 1.".to_owned(),
                    }
                })?;
        }
        for (name, switch) in [
            ("SENTRY_FORWARD_ADDRESS", &mut config.forward_address),
            ("SENTRY_PROBE", &mut config.probe),
        ] {
            if let Some(text) = set(name) {
                *switch = text.parse().map_err(|_| InvalidVariable {
                    variable: name,
                    what: "is neither true nor false.".to_owned(),
                })?;
            }
        }
        if let Some(timeout) = set("SENTRY_TIMEOUT_MS") {
            config.upstream_timeout_ms =
                timeout.parse().ok().filter(|ms| (1..=60_000).contains(ms)).ok_or_else(|| {
                    InvalidVariable {
                        variable: "SENTRY_TIMEOUT_MS",
                        what: "is not a number from 1 to 60000.".to_owned(),
                    }
                })?;
        }
        Ok(config)
    }
}

fn read_dsn(text: &str) -> Result<Dsn, &'static str> {
    let dsn = Dsn::parse(text)?;
    if !dsn.project().bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("its project is not a number");
    }
    // A tunnel that forwards to a tunnel can forward to itself.
    if dsn.path().split('/').any(|part| part == "sentry-tunnel") {
        return Err("it names a tunnel; the server's own address is wanted");
    }
    Ok(dsn)
}

#[cfg(test)]
mod tests {
    //! What cannot be used is said by its name, and not quoted.

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<SentryConfig, String> {
        let value = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        SentryConfig::read(value).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn nothing_set_is_off() {
        assert_eq!(read(&[]), Ok(SentryConfig::off()));
        assert_eq!(read(&[("SENTRY_DSN", "")]), Ok(SentryConfig::off()));
    }

    #[test]
    fn what_is_set_is_used() {
        let config = read(&[
            ("SENTRY_DSN", "https://key@sentry.example/1"),
            ("SENTRY_ENVIRONMENT", "preview"),
            ("COMMIT_SHA", "0123abc"),
            ("SENTRY_SAMPLE_RATE", "0.25"),
            ("SENTRY_FORWARD_ADDRESS", "true"),
            ("SENTRY_TIMEOUT_MS", "500"),
        ])
        .unwrap();
        assert_eq!(config.dsn.unwrap().endpoint(), "https://sentry.example/api/1/envelope/");
        assert_eq!((config.environment.as_str(), config.release.as_str()), ("preview", "0123abc"));
        assert!((config.sample_rate - 0.25).abs() < f64::EPSILON);
        assert!(config.forward_address);
        assert_eq!(config.upstream_timeout_ms, 500);
    }

    #[test]
    fn what_cannot_be_used_is_named_and_not_quoted() {
        let cases = [
            ("SENTRY_DSN", "https://sekrit@"),
            ("SENTRY_DSN", "https://sekrit@host/12abc"),
            ("SENTRY_DSN", "https://sekrit@host/sentry-tunnel/1"),
            ("SENTRY_ENVIRONMENT", "sekrit/a"),
            ("COMMIT_SHA", "sekrit\n"),
            ("SENTRY_SAMPLE_RATE", "1.1"),
            ("SENTRY_SAMPLE_RATE", "NaN"),
            ("SENTRY_SAMPLE_RATE", "-0.1"),
            ("SENTRY_FORWARD_ADDRESS", "sekrit"),
            ("SENTRY_PROBE", "sekrit"),
            ("SENTRY_TIMEOUT_MS", "0"),
            ("SENTRY_TIMEOUT_MS", "60001"),
        ];
        for (name, value) in cases {
            let problem = read(&[(name, value)]).unwrap_err();
            assert!(problem.starts_with(name), "{problem}");
            assert!(!problem.contains("sekrit"), "{problem}");
        }
    }
}
