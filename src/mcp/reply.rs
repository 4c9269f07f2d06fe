//! Whom and how to answer: what of a request its response needs.

use super::{
    accept::Accept,
    access::Access,
    answer::{Answer, json_text},
    ask::Ask,
    era::Era,
    id::Id,
    result::{CallResult, Framed, ToolAnswer},
    rpc_error::RpcError,
    sse,
    state::Refused,
    stream::Stream,
};
use serde::Serialize;
use serde_json::value::RawValue;

/// The address of one response: id, era, answer type, CORS.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) id: Id,
    pub(super) era: Era,
    pub(super) accept: Accept,
    pub(super) cors: Vec<(&'static str, String)>,
    pub(super) progress_token: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: Framed<'a, T>,
}

impl Reply {
    /// The whole answer to a call that ended before it had to be streamed.
    #[must_use]
    pub fn answer(&self, outcome: &ToolAnswer) -> Answer {
        self.dispatched(self.body(outcome, self.accept == Accept::Sse))
    }

    /// The answer that asks the client to have a person decide, and to come back.
    #[must_use]
    pub fn ask(&self, ask: &Ask) -> Answer {
        self.dispatched(self.asking(ask))
    }

    pub(super) fn asking(&self, ask: &Ask) -> String {
        let result = Framed::asking(ask);
        json_text(&Response { jsonrpc: "2.0", id: &self.id, result })
    }

    /// The answer to a call that goes on with a state that is not taken.
    #[must_use]
    pub fn refuse_state(&self, refused: &Refused) -> Answer {
        self.error(&RpcError::state(&refused.fault()))
    }

    /// Whether the client wants to hear how far the call is.
    #[must_use]
    pub fn takes_progress(&self) -> bool {
        self.progress_token.is_some() && self.accept != Accept::Json
    }

    /// Turns the answer into a stream.
    #[must_use]
    pub fn stream(self) -> Stream {
        Stream::new(self)
    }

    /// The answer when the token lacks the scope of the tool that is called.
    #[must_use]
    pub fn missing_scope(&self, scope: &str) -> Answer {
        match Access::MissingScope(scope.to_owned()).check() {
            Ok(()) => Answer::empty(403),
            Err(refusal) => refusal,
        }
        .with_all(&self.cors)
    }

    /// The JSON-RPC response to a call, as text. As an event it leaves out the copy of the JSON
    /// where that would make it larger than every client reads.
    pub(super) fn body(&self, outcome: &ToolAnswer, is_event: bool) -> String {
        match CallResult::of(outcome) {
            Ok(result) => {
                let body = self.text(&result, result.replayed());
                if !is_event || body.len() <= sse::EVENT_BYTES {
                    return body;
                }
                let result = result.without_copy();
                self.text(&result, result.replayed())
            }
            Err(error) => error.body(Some(&self.id)),
        }
    }

    /// The answer with this result, which is written as an object.
    pub(super) fn result(&self, result: &impl Serialize) -> Answer {
        self.dispatched(self.text(result, false))
    }

    /// The answer with this error.
    pub(super) fn error(&self, error: &RpcError) -> Answer {
        if error.is_dispatched() {
            self.dispatched(error.body(Some(&self.id)))
        } else {
            error.answer(Some(&self.id)).with_all(&self.cors)
        }
    }

    fn text(&self, result: &impl Serialize, replayed: bool) -> String {
        let result = Framed::new(self.era, result, replayed);
        json_text(&Response { jsonrpc: "2.0", id: &self.id, result })
    }

    /// 200, in the type that the client takes.
    fn dispatched(&self, body: String) -> Answer {
        match self.accept {
            Accept::Both | Accept::Json => Answer::json(200, body.into_bytes()),
            Accept::Sse => Answer { status: 200, headers: sse::headers(), body: sse::event(&body) },
        }
        .with_all(&self.cors)
    }
}
