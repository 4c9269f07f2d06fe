//! The line to a server: how it is spoken to, and what it is told that nobody waits for.

use super::super::Reach;
use super::wire::{self, Era};
use crate::error::Fault;
use crate::tools::exchange::Request;
use crate::tools::gateway::Incoming;
use futures_util::future::FutureExt as _;
use serde_json::json;
use serde_json::value::RawValue;

/// How a server is spoken to.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) era: Era,
    pub(super) version: String,
    /// Of the session, where there is one.
    pub(super) id: Option<String>,
}

impl Line {
    pub(super) async fn post(
        &self,
        reach: &Reach,
        method: &str,
        name: Option<&str>,
        mirrored: &[(String, String)],
        text: String,
        repeatable: bool,
    ) -> Result<Incoming, Fault> {
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        match self.era {
            Era::Modern => {
                headers.push(("mcp-protocol-version".to_owned(), self.version.clone()));
                headers.push(("mcp-method".to_owned(), method.to_owned()));
                if let Some(name) = name {
                    headers.push(("mcp-name".to_owned(), wire::header(name)));
                }
                headers.extend_from_slice(mirrored);
            }
            Era::Legacy => {
                if method != "initialize" {
                    headers.push(("mcp-protocol-version".to_owned(), self.version.clone()));
                }
                if let Some(id) = &self.id {
                    headers.push(("mcp-session-id".to_owned(), id.clone()));
                }
            }
        }
        let request = Request {
            method: "POST".to_owned(),
            url: reach.url()?.to_owned(),
            headers,
            body: Some(text.into_bytes()),
        };
        reach.send(request, &reach.auth(), repeatable).await
    }

    pub(super) async fn resumed(&self, reach: &Reach, from: String) -> Result<Incoming, Fault> {
        let mut headers = vec![
            ("accept".to_owned(), "text/event-stream".to_owned()),
            ("mcp-protocol-version".to_owned(), self.version.clone()),
            ("last-event-id".to_owned(), from),
        ];
        headers.extend(self.id.clone().map(|id| ("mcp-session-id".to_owned(), id)));
        let url = reach.url()?.to_owned();
        let request = Request { method: "GET".to_owned(), url, headers, body: None };
        reach.send(request, &reach.auth(), true).await
    }

    /// Answers a request of the server's, so that it does not wait.
    pub(super) fn refuse(&self, reach: &Reach, id: &RawValue, method: &str) {
        self.tell(reach, wire::answer(id, method), "response");
    }

    /// Tells the server something that nobody waits for.
    fn tell(&self, reach: &Reach, text: String, method: &'static str) {
        let (line, own) = (self.clone(), reach.clone());
        let told = async move {
            // Nothing follows from a failure: the server ends by itself what nobody hears.
            let _ = line.post(&own, method, None, &[], text, false).await;
        };
        reach.later.spawn(told.boxed_local());
    }

    /// Ends the session.
    pub(super) async fn end(self, reach: Reach) {
        let Ok(url) = reach.url().map(str::to_owned) else { return };
        let mut headers = vec![("mcp-protocol-version".to_owned(), self.version)];
        headers.extend(self.id.map(|id| ("mcp-session-id".to_owned(), id)));
        let request = Request { method: "DELETE".to_owned(), url, headers, body: None };
        // Nothing follows from a failure: a server ends idle sessions by itself.
        let _ = reach.send(request, &reach.auth(), false).await;
    }
}

/// Tells a server with sessions that nobody waits for a call any more: there, a connection that
/// closes means nothing. In the stateless era it is the word itself.
pub(super) struct Cancel(Option<(Line, Reach, u64)>);

impl Cancel {
    pub(super) fn of(line: &Line, reach: &Reach, id: u64, method: &str) -> Self {
        let needed = line.era == Era::Legacy && method == "tools/call";
        Self(needed.then(|| (line.clone(), reach.clone(), id)))
    }

    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let Some((line, reach, id)) = self.0.take() else { return };
        let params = json!({ "requestId": id, "reason": "nobody waits for it any more" });
        let text = wire::notification("notifications/cancelled", Some(params));
        line.tell(&reach, text, "notifications/cancelled");
    }
}
