//! The result `input_required`: a client that can open an address is asked to have a person decide
//! there, and to come back with the state. What the client says of it decides nothing.

use super::state::{MAX_ASKED, MAX_ROUNDS, State, States};
use crate::run::outcome::Status;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// How long a state holds behind the last window that it is about, in milliseconds: who comes back
/// when nobody decided is told so.
const GRACE_MS: u64 = 600_000;

/// A result that asks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    input_requests: Map<String, Value>,
    request_state: String,
}

/// What a run says of itself while it waits.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    id: String,
    status: String,
    #[serde(default)]
    approvals: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    id: String,
    tool: String,
    approve_url: String,
    expires_at: u64,
}

impl Ask {
    /// What to ask about the run `response`, in the call with the hash `call`; `round` counts from
    /// 1. `None` where the run waits for nobody, or the client was asked often enough.
    #[must_use]
    pub fn about(
        response: &str,
        states: &States,
        call: &str,
        round: u32,
        nonce: String,
    ) -> Option<Self> {
        if round > MAX_ROUNDS {
            return None;
        }
        let run: Waiting = serde_json::from_str(response).ok()?;
        if run.status != Status::WaitingApproval.as_str() || run.approvals.is_empty() {
            return None;
        }
        let asked = || run.approvals.iter().take(MAX_ASKED);
        let last = asked().map(|question| question.expires_at).max()?;
        let state = State {
            run: run.id.clone(),
            approvals: asked().map(|question| question.id.clone()).collect(),
            call: call.to_owned(),
            expires_at: last.saturating_add(GRACE_MS),
            nonce,
            round,
        };
        let requests = asked().map(|question| (question.id.clone(), request(question, &run.id)));
        Some(Self { input_requests: requests.collect(), request_state: states.write(&state) })
    }
}

fn request(question: &Question, run: &str) -> Value {
    let tool = &question.tool;
    let message =
        format!("{tool} waits for a person: look at the call and allow or decline it. Run {run}.");
    json!({
        "method": "elicitation/create",
        "params": { "mode": "url", "message": message, "url": question.approve_url },
    })
}

/// What a client says of what it was asked to do: by the key of each request, a word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Responses(Vec<(String, Action)>);

/// What a client says of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// The address was opened.
    Accept,
    /// The person would not, or put it off. It declines no call: only who signs in does.
    Not,
}

/// What comes of a client's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Somebody looks at it: the run is waited for.
    Opened,
    /// Nobody does: the run is answered as it stands.
    Refused,
    /// There is none that can be used: the client is asked again.
    None,
}

impl Responses {
    /// Reads `inputResponses`. What is no answer of the protocol is none.
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let read: Option<Map<String, Value>> =
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let action = |value: &Value| match value.get("action").and_then(Value::as_str) {
            Some("accept") => Some(Action::Accept),
            Some("decline" | "cancel") => Some(Action::Not),
            _ => None,
        };
        let known = read.unwrap_or_default().into_iter();
        Self(known.filter_map(|(key, value)| Some((key, action(&value)?))).collect())
    }

    /// What comes of them for the approvals of a state. Other keys are nobody's.
    #[must_use]
    pub fn word(&self, approvals: &[String]) -> Word {
        let mut of = self.0.iter().filter(|(key, _)| approvals.contains(key)).peekable();
        if of.peek().is_none() {
            return Word::None;
        }
        if of.any(|(_, action)| *action == Action::Accept) { Word::Opened } else { Word::Refused }
    }
}

#[cfg(test)]
mod tests {
    //! A run that waits is asked about, a bounded number of times; a client's word decides nothing.

    use super::*;
    use crate::signing::SigningKey;

    fn states() -> States {
        States { key: SigningKey::new(b"key"), principal: "ada".to_owned(), now: 0 }
    }

    fn waiting(questions: usize) -> String {
        let question = |n: usize| {
            json!({ "id": format!("apr_{n}"), "tool": "mail.send", "expiresAt": n,
                    "approveUrl": format!("https://h.example/approvals/apr_{n}") })
        };
        let approvals: Vec<Value> = (0..questions).map(question).collect();
        json!({ "id": "run_1", "status": "waiting_approval", "approvals": approvals }).to_string()
    }

    fn about(response: &str, round: u32) -> Option<Value> {
        let ask = Ask::about(response, &states(), "ab", round, "n".to_owned())?;
        serde_json::to_value(ask).ok()
    }

    #[test]
    fn each_question_is_an_address_to_open() {
        let ask = about(&waiting(2), 1).unwrap();
        let params = &ask["inputRequests"]["apr_1"]["params"];
        assert_eq!(ask["inputRequests"]["apr_1"]["method"], "elicitation/create");
        assert_eq!(params["mode"], "url");
        assert_eq!(params["url"], "https://h.example/approvals/apr_1");
        assert!(params["message"].as_str().is_some_and(|text| text.contains("mail.send")));
        let state = states().read(ask["requestState"].as_str().unwrap(), "ab").unwrap();
        assert_eq!((state.run.as_str(), state.round), ("run_1", 1));
        assert_eq!(state.approvals, ["apr_0", "apr_1"]);
        assert_eq!(state.expires_at, 1 + GRACE_MS);
    }

    #[test]
    fn a_client_is_asked_about_so_many_questions_so_often() {
        let ask = about(&waiting(MAX_ASKED + 1), MAX_ROUNDS).unwrap();
        assert_eq!(ask["inputRequests"].as_object().map(Map::len), Some(MAX_ASKED));
        assert_eq!(about(&waiting(1), MAX_ROUNDS + 1), None);
        assert_eq!(about(&waiting(0), 1), None);
        assert_eq!(about(r#"{"id":"run_1","status":"completed"}"#, 1), None);
        assert_eq!(about("", 1), None);
    }

    #[test]
    fn a_word_of_the_client_opens_or_refuses_an_address_and_no_more() {
        let approvals = ["apr_1".to_owned(), "apr_2".to_owned()];
        for (text, expected) in [
            (r#"{"apr_1":{"action":"accept"}}"#, Word::Opened),
            (r#"{"apr_1":{"action":"decline"},"apr_2":{"action":"accept"}}"#, Word::Opened),
            (r#"{"apr_1":{"action":"decline"}}"#, Word::Refused),
            (r#"{"apr_2":{"action":"cancel"}}"#, Word::Refused),
            (r#"{"apr_3":{"action":"accept"}}"#, Word::None),
            (r#"{"apr_1":{"action":"allow"}}"#, Word::None),
            (r#"{"apr_1":"accept"}"#, Word::None),
            ("{}", Word::None),
            ("[]", Word::None),
            ("null", Word::None),
        ] {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(Responses::read(Some(&raw)).word(&approvals), expected, "{text}");
        }
        assert_eq!(Responses::read(None).word(&approvals), Word::None);
    }
}
