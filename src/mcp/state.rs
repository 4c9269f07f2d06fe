//! `requestState`: what a client carries from a call that waits for people to the call that goes on.
//!
//! It passes through the client, so it says nothing that is not signed, and it holds for the
//! principal that it was made for, the call that it was made in, and a time. That it counts once is
//! its user's matter ([`State::nonce`]).

use crate::error::{Code, Fault};
use crate::ledger::request;
use crate::signing::SigningKey;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// What it is signed for.
const PURPOSE: &str = "requestState v1";

/// How often one call is asked to go on before it is answered as it stands: a client of the
/// TypeScript SDK gives a call up after ten rounds.
pub const MAX_ROUNDS: u32 = 8;

/// Approvals of one state at most; others are asked about in a later round.
pub const MAX_ASKED: usize = 16;

/// The longest state that is read: that of [`MAX_ASKED`] approvals has less than half.
const MAX_BYTES: usize = 4_096;

/// What a state says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The run that goes on.
    pub run: String,
    /// The approvals that were shown.
    pub approvals: Vec<String>,
    /// Hash of the call that it was made in.
    pub call: String,
    /// Past it, Unix ms, it is refused.
    pub expires_at: u64,
    /// Its own name.
    pub nonce: String,
    /// How many were made for this call, with this one.
    pub round: u32,
}

/// Why a state is not taken. Whatever does not verify is one reason: which part was wrong is
/// nobody's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It is not one that we made for this principal and this call.
    Unknown,
    /// Its time has passed.
    Expired {
        /// Its run.
        run: String,
    },
    /// It was taken before.
    Used {
        /// Its run.
        run: String,
    },
}

impl Refused {
    /// The fault, which names the run only to whom the state was made for.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let (reason, what, run) = match self {
            Self::Unknown => ("unknown", "is not one of this server for this call", None),
            Self::Expired { run } => ("expired", "has expired", Some(run)),
            Self::Used { run } => ("used", "was used before, and counts once", Some(run)),
        };
        let message = format!("requestState {what}.");
        let fault = Fault::new(Code::StateRefused, message).with("reason", reason);
        match run {
            Some(run) => fault.with("runId", run.as_str()),
            None => fault,
        }
    }
}

/// Whose states are read and made, and when.
#[derive(Debug, Clone)]
pub struct States {
    /// The key of this deployment.
    pub key: SigningKey,
    /// The principal.
    pub principal: String,
    /// Now, Unix ms.
    pub now: u64,
}

impl States {
    /// A state as the client carries it.
    #[must_use]
    pub fn write(&self, state: &State) -> String {
        let text = format!(
            "v1.{}.{}.{}.{}.{}.{}",
            state.expires_at,
            state.round,
            state.nonce,
            state.call,
            state.run,
            state.approvals.join("+")
        );
        let signature = self.signature(&text);
        format!("{text}.{signature}")
    }

    /// Reads what a client brought to the call with the hash `call`.
    ///
    /// # Errors
    ///
    /// Why it is not taken.
    pub fn read(&self, text: &str, call: &str) -> Result<State, Refused> {
        if text.len() > MAX_BYTES {
            return Err(Refused::Unknown);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Refused::Unknown)?;
        if !self.key.holds(PURPOSE, &self.bound(signed), signature) {
            return Err(Refused::Unknown);
        }
        let mut parts = signed.split('.');
        let mut next = || parts.next().ok_or(Refused::Unknown);
        if next()? != "v1" {
            return Err(Refused::Unknown);
        }
        let expires_at = next()?.parse().map_err(|_| Refused::Unknown)?;
        let round = next()?.parse().map_err(|_| Refused::Unknown)?;
        let (nonce, of, run) = (next()?.to_owned(), next()?.to_owned(), next()?.to_owned());
        let approvals = next()?.split('+').map(str::to_owned).collect();
        if of != call {
            return Err(Refused::Unknown);
        }
        if expires_at <= self.now {
            return Err(Refused::Expired { run });
        }
        Ok(State { run, approvals, call: of, expires_at, nonce, round })
    }

    fn signature(&self, text: &str) -> String {
        self.key.sign(PURPOSE, &self.bound(text))
    }

    /// The principal is part of what is signed, and not of what is sent.
    fn bound(&self, text: &str) -> String {
        format!("{}\n{text}", self.principal)
    }
}

/// The hash of a call: of the tool and its arguments, however their JSON is written, for a client
/// may write it anew.
#[must_use]
pub(super) fn call_hash(name: &str, arguments: Option<&RawValue>) -> String {
    let arguments = request::canonical(&request::part(arguments));
    let mut hash = Sha256::new();
    hash.update(name.as_bytes());
    hash.update(b"\n");
    hash.update(arguments.as_bytes());
    crate::hex::encode(&hash.finalize())
}

#[cfg(test)]
mod tests {
    //! A state is taken from the one who got it, for the call in which it did, until its time.

    use super::*;

    fn states(principal: &str, now: u64) -> States {
        States { key: SigningKey::new(b"key"), principal: principal.to_owned(), now }
    }

    fn state() -> State {
        State {
            run: "run_1".to_owned(),
            approvals: vec!["apr_1".to_owned(), "apr_2".to_owned()],
            call: "ab".to_owned(),
            expires_at: 1_000,
            nonce: "n".to_owned(),
            round: 2,
        }
    }

    #[test]
    fn what_was_made_is_read_again_until_its_time() {
        let text = states("ada", 0).write(&state());
        assert_eq!(states("ada", 999).read(&text, "ab"), Ok(state()));
        let expired = Refused::Expired { run: "run_1".to_owned() };
        assert_eq!(states("ada", 1_000).read(&text, "ab"), Err(expired));
    }

    #[test]
    fn anything_else_is_unknown() {
        let ours = states("ada", 0);
        let text = ours.write(&state());
        let later = text.replacen("1000", "9000", 1);
        let other_run = text.replacen("run_1", "run_2", 1);
        let appended = format!("{text}x");
        let long = format!("{}{text}", "v1.".repeat(MAX_BYTES));
        for forged in ["", ".", "v1", "v1.a.b", &later, &other_run, &appended, &text[1..], &long] {
            assert_eq!(ours.read(forged, "ab"), Err(Refused::Unknown), "{forged}");
        }
        assert_eq!(ours.read(&text, "cd"), Err(Refused::Unknown), "another call");
        assert_eq!(states("eve", 0).read(&text, "ab"), Err(Refused::Unknown), "somebody else");
        let other = States { key: SigningKey::new(b"other"), ..ours };
        assert_eq!(other.read(&text, "ab"), Err(Refused::Unknown), "another deployment");
    }

    #[test]
    fn the_hash_of_a_call_does_not_depend_on_how_it_is_written() {
        let hash = |name: &str, text: &str| {
            call_hash(name, Some(&RawValue::from_string(text.to_owned()).unwrap()))
        };
        assert_eq!(hash("a", r#"{"x":1,"y":2}"#), hash("a", r#"{ "y": 2.0, "x": 1 }"#));
        assert_ne!(hash("a", r#"{"x":1}"#), hash("a", r#"{"x":2}"#));
        assert_ne!(hash("a", r#"{"x":1}"#), hash("b", r#"{"x":1}"#));
    }

    #[test]
    fn the_largest_state_is_read() {
        let id = format!("apr_{}", "0".repeat(32));
        let large = State {
            approvals: vec![id; MAX_ASKED],
            call: "0".repeat(64),
            run: format!("run_{}", "0".repeat(32)),
            ..state()
        };
        let text = states("ada", 0).write(&large);
        assert!(text.len().saturating_mul(2) < MAX_BYTES, "{}", text.len());
        assert_eq!(states("ada", 0).read(&text, &large.call), Ok(large));
    }
}
