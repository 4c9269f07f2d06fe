//! A session: what a server agreed to, and the requests that are made in it.

use super::super::Reach;
use super::events::Events;
use super::line::{Cancel, Line};
use super::wire::{self, Era, Message, Note, RpcError};
use crate::error::{Code, Fault};
use crate::platform::clock::sleep_ms;
use crate::tools::gateway::Incoming;
use futures_util::future::FutureExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};

/// Bytes of one page of the list, and of a handshake's answer.
const PAGE_BYTES: u64 = 8_388_608;

/// Bytes of one message beside what the answer itself may have: the protocol's frame.
const FRAME_BYTES: u64 = 65_536;

/// How often one stream is taken up again when the server ended it before its answer.
const MAX_RESUMES: u32 = 100;

/// How long a stream that ended early is left alone, where the server does not say, and at most.
const RESUME_MS: u64 = 500;
const MAX_RESUME_MS: u64 = 10_000;

/// What a server agreed to. Dropped, the server is told that it is over.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) line: Line,
    /// What the server says of itself: the result of `initialize` or `server/discover`.
    pub(super) said: Said,
    pub(super) next: Cell<u64>,
    pub(super) reach: Reach,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Said {
    pub(super) protocol_version: Option<String>,
    pub(super) supported_versions: Vec<String>,
    pub(super) server_info: Option<Value>,
    pub(super) instructions: Option<String>,
    #[serde(rename = "_meta")]
    pub(super) meta: Option<Value>,
}

/// A request of the protocol.
pub(super) struct Ask<'a> {
    pub(super) method: &'a str,
    /// What `Mcp-Name` mirrors.
    pub(super) name: Option<&'a str>,
    /// Further headers that mirror arguments.
    pub(super) mirrored: Vec<(String, String)>,
    /// The message.
    pub(super) text: String,
    pub(super) id: u64,
    pub(super) limit: u64,
    pub(super) repeatable: bool,
}

/// How a request came to no result.
pub(super) enum Unanswered {
    /// The server refused it.
    Refused(RpcError),
    /// The session is gone.
    Gone,
    /// An answer of HTTP that is no answer of the protocol.
    Status(u16),
    /// Anything else.
    Failed(Fault),
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl Unanswered {
    pub(super) fn fault(self, reach: &Reach) -> Fault {
        match self {
            Self::Refused(error) => reach.failed(format!(
                "the server refuses: {} ({})",
                error.message.trim_end_matches('.'),
                error.code
            )),
            Self::Gone => reach.failed("the server ends each session at once"),
            Self::Status(status) => reach.status(status),
            Self::Failed(fault) => fault,
        }
    }
}

impl Session {
    fn new(reach: &Reach, era: Era, version: &str) -> Self {
        Self {
            line: Line { era, version: version.to_owned(), id: None },
            said: Said::default(),
            next: Cell::new(1),
            reach: reach.clone(),
        }
    }

    /// The stateless era, as it is known from before.
    pub(super) fn assumed(reach: &Reach) -> Self {
        Self::new(reach, Era::Modern, wire::MODERN)
    }

    /// Whichever era the server speaks.
    pub(super) async fn found(reach: &Reach) -> Result<Self, Fault> {
        let mut modern = Self::assumed(reach);
        let ask = modern.ask("server/discover", json!({}), true);
        match modern.exchange(reach, ask, &|_| {}).await {
            Ok(said) => {
                modern.said = read(reach, &said)?;
                let speaks =
                    modern.said.supported_versions.iter().any(|known| known == wire::MODERN);
                if speaks {
                    return Ok(modern);
                }
                Self::initialized(reach).await
            }
            Err(Unanswered::Failed(fault)) if fault.code != Code::UpstreamFailed => Err(fault),
            // A server that cannot be reached is not reached by a handshake either.
            Err(Unanswered::Failed(fault)) if fault.cause.is_some() => Err(fault),
            Err(Unanswered::Status(status @ (401 | 403))) => Err(reach.status(status)),
            Err(_) => Self::initialized(reach).await,
        }
    }

    /// The era with a handshake.
    pub(super) async fn initialized(reach: &Reach) -> Result<Self, Fault> {
        let mut session = Self::new(reach, Era::Legacy, wire::LEGACY);
        let ask = session.ask("initialize", wire::initialize(), true);
        let given = RefCell::new(None);
        let answered = session.exchange_with(reach, ask, &|_| {}, &given).await;
        let said = answered.map_err(|unanswered| unanswered.fault(reach))?;
        session.said = read(reach, &said)?;
        let version = session.said.protocol_version.clone().unwrap_or_default();
        if !wire::LEGACY_KNOWN.contains(&version.as_str()) {
            let known = wire::LEGACY_KNOWN.join(", ");
            let what = format!(
                "the server speaks the revision {version:?}; spoken here are {}, {known}",
                wire::MODERN
            );
            return Err(reach.failed(what));
        }
        session.line.version = version;
        session.line.id = given.into_inner();
        let note = wire::notification("notifications/initialized", None);
        let method = "notifications/initialized";
        let sent = session.line.post(reach, method, None, &[], note, true).await?;
        if sent.status >= 400 {
            return Err(reach.status(sent.status));
        }
        Ok(session)
    }

    pub(super) fn take_id(&self) -> u64 {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        id
    }

    pub(super) fn ask<'a>(&self, method: &'a str, params: Value, repeatable: bool) -> Ask<'a> {
        let id = self.take_id();
        let text = wire::request(self.line.era, id, method, params, false);
        Ask { method, name: None, mirrored: Vec::new(), text, id, limit: PAGE_BYTES, repeatable }
    }

    pub(super) async fn exchange(
        &self,
        reach: &Reach,
        ask: Ask<'_>,
        told: &dyn Fn(Note),
    ) -> Result<Box<RawValue>, Unanswered> {
        self.exchange_with(reach, ask, told, &RefCell::new(None)).await
    }

    /// Sends a request and waits for its result. `given` takes the session's id.
    async fn exchange_with(
        &self,
        reach: &Reach,
        ask: Ask<'_>,
        told: &dyn Fn(Note),
        given: &RefCell<Option<String>>,
    ) -> Result<Box<RawValue>, Unanswered> {
        let Ask { method, name, mirrored, text, id, limit, repeatable } = ask;
        let line = &self.line;
        let cancel = Cancel::of(line, reach, id, method);
        let mut answer = match line.post(reach, method, name, &mirrored, text, repeatable).await {
            Ok(answer) => answer,
            Err(fault) => {
                cancel.disarm();
                return Err(fault.into());
            }
        };
        *given.borrow_mut() = answer.header("mcp-session-id").map(str::to_owned);
        let limit = limit.saturating_add(FRAME_BYTES);
        let result = match answer.media().as_str() {
            "text/event-stream" if answer.status < 300 => {
                self.streamed(reach, answer, id, limit, told).await
            }
            _ => {
                let status = answer.status;
                let body = answer.bytes(limit).await?;
                self.whole(reach, status, &body, id, told)
            }
        };
        cancel.disarm();
        result
    }

    /// An answer in one piece.
    fn whole(
        &self,
        reach: &Reach,
        status: u16,
        body: &[u8],
        id: u64,
        told: &dyn Fn(Note),
    ) -> Result<Box<RawValue>, Unanswered> {
        if status == 404 && self.line.id.is_some() {
            return Err(Unanswered::Gone);
        }
        let text = String::from_utf8_lossy(body);
        let read = wire::read(&text, id);
        let messages = match (read, status) {
            (Ok(messages), _) => messages,
            (Err(_), 300..) => return Err(Unanswered::Status(status)),
            (Err(error), _) => {
                let fault = reach.failed("the server's answer is no JSON-RPC");
                return Err(fault.caused_by(error.to_string()).into());
            }
        };
        for message in messages {
            match message {
                Message::Result(result) => return Ok(result.to_owned()),
                Message::Refused(error) => return Err(Unanswered::Refused(error)),
                Message::Note(note) => told(note),
                Message::Asks { .. } | Message::Other => {}
            }
        }
        if status >= 300 {
            return Err(Unanswered::Status(status));
        }
        Err(reach.failed("the server's answer is to another request").into())
    }

    /// An answer in events; a stream that ends early is taken up again where the server left off.
    async fn streamed(
        &self,
        reach: &Reach,
        mut answer: Incoming,
        id: u64,
        limit: u64,
        told: &dyn Fn(Note),
    ) -> Result<Box<RawValue>, Unanswered> {
        let mut events = Events::new(usize::try_from(limit).unwrap_or(usize::MAX));
        let mut resumes = 0_u32;
        loop {
            while let Some(piece) = answer.chunk().await? {
                let texts = events.push(&piece).map_err(|_| {
                    let what = format!("{}: a message", reach.label);
                    Fault::limit("answerBytes", &what, None, limit, "bytes")
                        .with("tool", &*reach.label)
                })?;
                for text in texts {
                    let text = answer.scrubber().text(&text);
                    let Ok(messages) = wire::read(&text, id) else { continue };
                    for message in messages {
                        match message {
                            Message::Result(result) => return Ok(result.to_owned()),
                            Message::Refused(error) => return Err(Unanswered::Refused(error)),
                            Message::Note(note) => told(note),
                            Message::Asks { id, method } => self.line.refuse(reach, id, &method),
                            Message::Other => {}
                        }
                    }
                }
            }
            let broken = || Unanswered::from(reach.failed("the server ended its answer early"));
            let from = events.last_id().map(str::to_owned).ok_or_else(broken)?;
            if self.line.era == Era::Modern || resumes >= MAX_RESUMES {
                return Err(broken());
            }
            resumes = resumes.saturating_add(1);
            sleep_ms(events.retry_ms().unwrap_or(RESUME_MS).min(MAX_RESUME_MS)).await;
            answer = self.line.resumed(reach, from).await?;
            if answer.status >= 300 || answer.media() != "text/event-stream" {
                return Err(broken());
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.line.id.is_some() {
            let ended = self.line.clone().end(self.reach.clone());
            self.reach.later.spawn(ended.boxed_local());
        }
    }
}

fn read<T: for<'a> Deserialize<'a>>(reach: &Reach, raw: &RawValue) -> Result<T, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| {
        reach.failed("the server says of itself what cannot be read").caused_by(error.to_string())
    })
}
