//! MCP servers over Streamable HTTP, of both wire eras.
//!
//! A server is first asked in the stateless era; one that does not answer in it is met with the
//! handshake. Which era it was is kept with the source, so that a later call asks once. A session is
//! one attempt's: it begins with the first call and is ended with the attempt. Nothing is offered to
//! the server: no sampling, no roots, no elicitation.

pub mod events;
mod line;
pub(super) mod listing;
mod mirror;
pub mod result;
mod session;
pub mod wire;

use super::{Brought, Call, Listener, Reach, Source, Told};
use crate::error::Fault;
use crate::run::value;
use crate::tools::failed;
use crate::tools::import::{LeftOut, Plan};
use crate::tools::turns::Turns;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use session::{Ask, Session, Unanswered};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use wire::{Era, Note};

/// Tools of one server at most.
const MAX_TOOLS: usize = 10_000;

/// Pages of one list at most.
const MAX_PAGES: usize = 500;

/// A connected server.
#[derive(Debug)]
pub struct Mcp {
    era: Cell<Option<Era>>,
    session: RefCell<Option<Rc<Session>>>,
    connecting: Turns,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(default)]
    ttl_ms: Option<u64>,
}

impl Mcp {
    /// A server, with what was learnt of it before.
    #[must_use]
    pub fn knowing(facts: &Value) -> Self {
        let era = facts.get("era").and_then(Value::as_str).and_then(Era::parse);
        Self { era: Cell::new(era), session: RefCell::default(), connecting: Turns::new(1) }
    }

    /// The session, begun if there is none.
    async fn session(&self, reach: &Reach) -> Result<Rc<Session>, Fault> {
        let _turn = self.connecting.take().await;
        if let Some(session) = self.session.borrow().as_ref() {
            return Ok(Rc::clone(session));
        }
        let session = Rc::new(match self.era.get() {
            Some(Era::Modern) => Session::assumed(reach),
            Some(Era::Legacy) => match Session::initialized(reach).await {
                Ok(session) => session,
                // It may have been replaced by one that speaks the other era only.
                Err(_) => Session::found(reach).await?,
            },
            None => Session::found(reach).await?,
        });
        self.era.set(Some(session.line.era));
        *self.session.borrow_mut() = Some(Rc::clone(&session));
        Ok(session)
    }

    fn forget(&self, gone: &Rc<Session>) {
        let mut session = self.session.borrow_mut();
        if session.as_ref().is_some_and(|known| Rc::ptr_eq(known, gone)) {
            *session = None;
        }
    }
}

impl Source for Mcp {
    async fn import(&self, reach: &Reach) -> Result<Brought, Fault> {
        let session = self.session(reach).await?;
        let mut brought = Brought::default();
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut cursors: BTreeSet<String> = BTreeSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let params =
                cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let ask = session.ask("tools/list", params, true);
            let page = session.exchange(reach, ask, &|_| {}).await;
            let page = match page {
                Ok(page) => page,
                // It has no tools to list.
                Err(Unanswered::Refused(error)) if error.code == -32601 => break,
                Err(unanswered) => return Err(unanswered.fault(reach)),
            };
            let page: Page<'_> = serde_json::from_str(page.get()).map_err(|error| {
                reach
                    .failed("the server's list of tools cannot be read")
                    .caused_by(error.to_string())
            })?;
            for tool in page.tools {
                let usual = Some(result::SCHEMA);
                listing::take(tool, &mut brought.imported, &mut known, usual, |tool| Plan::Mcp {
                    tool,
                });
            }
            brought.ttl_ms = brought.ttl_ms.or(page.ttl_ms);
            cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
            let Some(next) = &cursor else { break };
            let over = known.len() >= MAX_TOOLS || cursors.len() >= MAX_PAGES;
            if over || !cursors.insert(next.clone()) {
                let why = if over {
                    format!("a source may have {MAX_TOOLS} tools on {MAX_PAGES} pages")
                } else {
                    "the server gives the same page again and again".to_owned()
                };
                let what = "the rest of the list".to_owned();
                brought.imported.left_out.push(LeftOut { what, why, whole: true });
                break;
            }
        }
        let said = &session.said;
        let info = said
            .server_info
            .clone()
            .or_else(|| said.meta.as_ref()?.get("io.modelcontextprotocol/serverInfo").cloned());
        let text = |name: &str| {
            info.as_ref().and_then(|info| info.get(name)).and_then(Value::as_str).map(str::to_owned)
        };
        brought.imported.title = text("title").or_else(|| text("name"));
        brought.imported.description.clone_from(&said.instructions);
        brought.facts = json!({
            "era": session.line.era.as_str(),
            "protocolVersion": session.line.version,
            "server": text("name"),
            "serverVersion": text("version"),
        });
        Ok(brought)
    }

    async fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        told: Listener<'_>,
    ) -> Result<String, Fault> {
        let Plan::Mcp { tool } = call.plan else {
            return Err(Fault::internal("plan", "a tool of another kind"));
        };
        let (arguments, _) =
            value::plain(call.arguments).map_err(|error| crate::tools::unfit(call.path, error))?;
        let mirrored = mirror::mirrored(call.parameters, &arguments);
        let mut begun_again = false;
        loop {
            let session = self.session(reach).await?;
            let id = session.take_id();
            let ask = Ask {
                method: "tools/call",
                name: Some(tool),
                mirrored: mirrored.clone(),
                text: wire::call(session.line.era, id, tool, &arguments),
                id,
                // Escapes and Base64 take more than what they stand for.
                limit: reach.answer_bytes.saturating_mul(2),
                repeatable: call.repeatable,
            };
            let hear = |note: Note| match note {
                Note::ListChanged => told(Told::Changed),
                Note::Progress { progress, total, message } => {
                    told(Told::Progress(in_words(progress, total, message.as_deref())));
                }
                Note::Other => {}
            };
            match session.exchange(reach, ask, &hear).await {
                Ok(result) => return result::value_of(call.path, &result, reach.answer_bytes),
                // A session that is gone did nothing with the call.
                Err(Unanswered::Gone) if !begun_again => {
                    begun_again = true;
                    self.forget(&session);
                }
                Err(Unanswered::Refused(error)) => {
                    if error.code == -32602 {
                        told(Told::Changed);
                    }
                    let code = error.code.to_string();
                    return Err(failed(call.path, Some("McpError"), &error.message, Some(&code)));
                }
                Err(unanswered) => return Err(unanswered.fault(reach)),
            }
        }
    }
}

/// Characters of an upstream's own words on how far it is.
const MAX_TOLD_CHARS: usize = 200;

/// `2 of 5: copying`.
fn in_words(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let mut text = progress.to_string();
    if let Some(total) = total {
        text = format!("{text} of {total}");
    }
    match message {
        Some(message) if !message.is_empty() => {
            let short: String = message.chars().take(MAX_TOLD_CHARS).collect();
            format!("{text}: {short}")
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    //! How far a call is.

    use super::*;

    #[test]
    fn progress_is_told_in_words() {
        assert_eq!(in_words(2.0, Some(5.0), Some("copying")), "2 of 5: copying");
        assert_eq!(in_words(0.5, None, None), "0.5");
    }
}
