//! MCP servers over Streamable HTTP, of both wire eras.
//!
//! A server is first asked in the stateless era; one that does not answer in it is met with the
//! handshake. Which era it was is kept with the source, so that a later call asks once. A session is
//! one attempt's: it begins with the first call and is ended with the attempt. Nothing is offered to
//! the server: no sampling, no roots, no elicitation.

pub mod events;
pub mod result;
pub mod wire;

use super::{Brought, Call, Listener, Reach, Source, Told};
use crate::error::{Code, Fault};
use crate::platform::clock::sleep_ms;
use crate::run::value;
use crate::tools::exchange::Request;
use crate::tools::failed;
use crate::tools::gateway::Incoming;
use crate::tools::import::{Hints, Imported, LeftOut, Listed, Plan};
use crate::tools::schema;
use crate::tools::turns::Turns;
use events::Events;
use futures_util::future::FutureExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use wire::{Era, Message, Note, RpcError};

/// Tools of one server at most.
const MAX_TOOLS: usize = 10_000;

/// Pages of one list at most.
const MAX_PAGES: usize = 500;

/// Bytes of one page of the list, and of a handshake's answer.
const PAGE_BYTES: u64 = 8_388_608;

/// Bytes of one message beside what the answer itself may have: the protocol's frame.
const FRAME_BYTES: u64 = 65_536;

/// How often one stream is taken up again when the server ended it before its answer.
const MAX_RESUMES: u32 = 100;

/// How long a stream that ended early is left alone, where the server does not say, and at most.
const RESUME_MS: u64 = 500;
const MAX_RESUME_MS: u64 = 10_000;

/// A connected server.
#[derive(Debug)]
pub struct Mcp {
    era: Cell<Option<Era>>,
    session: RefCell<Option<Rc<Session>>>,
    connecting: Turns,
}

/// How a server is spoken to.
#[derive(Debug, Clone)]
struct Line {
    era: Era,
    version: String,
    /// Of the session, where there is one.
    id: Option<String>,
}

/// What a server agreed to. Dropped, the server is told that it is over.
#[derive(Debug)]
struct Session {
    line: Line,
    /// What the server says of itself: the result of `initialize` or `server/discover`.
    said: Said,
    next: Cell<u64>,
    reach: Reach,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Said {
    protocol_version: Option<String>,
    supported_versions: Vec<String>,
    server_info: Option<Value>,
    instructions: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Value>,
    #[serde(default)]
    output_schema: Option<Value>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// A request of the protocol.
struct Ask<'a> {
    method: &'a str,
    /// What `Mcp-Name` mirrors.
    name: Option<&'a str>,
    /// Further headers that mirror arguments.
    mirrored: Vec<(String, String)>,
    /// The message.
    text: String,
    id: u64,
    limit: u64,
    repeatable: bool,
}

/// How a request came to no result.
enum Unanswered {
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
    fn fault(self, reach: &Reach) -> Fault {
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
    fn assumed(reach: &Reach) -> Self {
        Self::new(reach, Era::Modern, wire::MODERN)
    }

    /// Whichever era the server speaks.
    async fn found(reach: &Reach) -> Result<Self, Fault> {
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
    async fn initialized(reach: &Reach) -> Result<Self, Fault> {
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

    fn take_id(&self) -> u64 {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        id
    }

    fn ask<'a>(&self, method: &'a str, params: Value, repeatable: bool) -> Ask<'a> {
        let id = self.take_id();
        let text = wire::request(self.line.era, id, method, params, false);
        Ask { method, name: None, mirrored: Vec::new(), text, id, limit: PAGE_BYTES, repeatable }
    }

    async fn exchange(
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

impl Line {
    async fn post(
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

    async fn resumed(&self, reach: &Reach, from: String) -> Result<Incoming, Fault> {
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
    fn refuse(&self, reach: &Reach, id: &RawValue, method: &str) {
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
    async fn end(self, reach: Reach) {
        let Ok(url) = reach.url().map(str::to_owned) else { return };
        let mut headers = vec![("mcp-protocol-version".to_owned(), self.version)];
        headers.extend(self.id.map(|id| ("mcp-session-id".to_owned(), id)));
        let request = Request { method: "DELETE".to_owned(), url, headers, body: None };
        // Nothing follows from a failure: a server ends idle sessions by itself.
        let _ = reach.send(request, &reach.auth(), false).await;
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

/// Tells a server with sessions that nobody waits for a call any more: there, a connection that
/// closes means nothing. In the stateless era it is the word itself.
struct Cancel(Option<(Line, Reach, u64)>);

impl Cancel {
    fn of(line: &Line, reach: &Reach, id: u64, method: &str) -> Self {
        let needed = line.era == Era::Legacy && method == "tools/call";
        Self(needed.then(|| (line.clone(), reach.clone(), id)))
    }

    fn disarm(mut self) {
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

fn read<T: for<'a> Deserialize<'a>>(reach: &Reach, raw: &RawValue) -> Result<T, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| {
        reach.failed("the server says of itself what cannot be read").caused_by(error.to_string())
    })
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
                take(tool, &mut brought.imported, &mut known);
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
        let mirrored = mirrored(call.parameters, &arguments);
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

/// Takes a tool of the list in, or says why not.
fn take(raw: &RawValue, imported: &mut Imported, known: &mut BTreeSet<String>) {
    let tool: Tool = match serde_json::from_str(raw.get()) {
        Ok(tool) => tool,
        Err(error) => {
            let name = serde_json::from_str::<Value>(raw.get()).ok();
            let name = name.as_ref().and_then(|tool| tool.get("name")).and_then(Value::as_str);
            let what = name.unwrap_or("a tool without a name").to_owned();
            imported.left_out.push(LeftOut { what, why: error.to_string(), whole: true });
            return;
        }
    };
    if !known.insert(tool.name.clone()) {
        let why = "the server lists it twice".to_owned();
        imported.left_out.push(LeftOut { what: tool.name, why, whole: true });
        return;
    }
    let mut schema = |given: Option<Value>, usual: &str, of: &str| {
        let Some(given) = given.filter(Value::is_object) else {
            return RawValue::from_string(usual.to_owned()).ok();
        };
        let adopted = schema::adopt(&given, of);
        let what = format!("{}, {of}", tool.name);
        imported.left_out.extend(adopted.notes.into_iter().map(|why| LeftOut {
            what: what.clone(),
            why,
            whole: false,
        }));
        RawValue::from_string(adopted.schema.to_string()).ok()
    };
    let usual = r#"{"type":"object"}"#;
    let Some(parameters) = schema(tool.input_schema, usual, "arguments") else { return };
    let result = schema(tool.output_schema, result::SCHEMA, "result");
    let annotations = tool.annotations;
    let title = tool.title.or(annotations.title).filter(|title| *title != tool.name);
    let description = match (title, tool.description) {
        (Some(title), Some(text)) if !text.contains(&title) => format!("{title}. {text}"),
        (_, Some(text)) => text,
        (title, None) => title.unwrap_or_default(),
    };
    imported.tools.push(Listed {
        key: tool.name.clone(),
        group: None,
        name: tool.name.clone(),
        description,
        parameters,
        result,
        hints: Hints {
            reads: annotations.read_only_hint,
            destructive: annotations.destructive_hint,
            idempotent: annotations.idempotent_hint,
        },
        plan: Plan::Mcp { tool: tool.name },
    });
}

/// The arguments that the server wants to see in headers, too: those that its schema marks.
fn mirrored(parameters: &str, arguments: &str) -> Vec<(String, String)> {
    if !parameters.contains("x-mcp-header") {
        return Vec::new();
    }
    let (Ok(schema), Ok(arguments)) =
        (serde_json::from_str::<Value>(parameters), serde_json::from_str::<Value>(arguments))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    mirror(&schema, &arguments, 0, &mut found);
    found
}

fn mirror(schema: &Value, arguments: &Value, depth: u32, found: &mut Vec<(String, String)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let Some(argument) = arguments.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match argument {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) if !number.is_f64() => number.to_string(),
                _ => continue,
            };
            found.push((format!("mcp-param-{}", header.to_ascii_lowercase()), wire::header(&text)));
        } else if depth < 8 {
            mirror(property, argument, depth.saturating_add(1), found);
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
    //! What a server lists is taken in as it is, or its name is told.

    use super::*;

    fn taken(tools: &Value) -> Imported {
        let mut imported = Imported::default();
        let mut known = BTreeSet::new();
        let tools: Vec<Box<RawValue>> = serde_json::from_str(&tools.to_string()).unwrap();
        for tool in tools {
            take(&tool, &mut imported, &mut known);
        }
        imported
    }

    #[test]
    fn tools_are_taken_in_with_what_they_say_of_themselves() {
        let imported = taken(&json!([
            {
                "name": "get-sum", "title": "Sum", "description": "Adds.",
                "inputSchema": { "type": "object", "properties": { "a": { "type": "number" } } },
                "annotations": { "readOnlyHint": true },
            },
            { "name": "wipe", "annotations": { "title": "Wipe all", "destructiveHint": true } },
            { "name": "wipe" },
            { "description": "no name" },
        ]));
        let [sum, wipe] = imported.tools.as_slice() else { panic!("{imported:?}") };
        assert_eq!(sum.description, "Sum. Adds.");
        assert_eq!(sum.hints.reads, Some(true));
        assert_eq!(
            sum.parameters.get(),
            r#"{"properties":{"a":{"type":"number"}},"type":"object"}"#
        );
        assert_eq!(wipe.description, "Wipe all");
        assert_eq!(wipe.hints.destructive, Some(true));
        assert_eq!(wipe.parameters.get(), r#"{"type":"object"}"#);
        let left: Vec<&str> = imported.left_out.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(left, ["wipe", "a tool without a name"]);
    }

    #[test]
    fn marked_arguments_are_mirrored() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "x-mcp-header": "N" } } },
            "plain": { "type": "string" },
        } });
        let found = |arguments: &Value| mirrored(&schema.to_string(), &arguments.to_string());
        assert_eq!(
            found(&json!({ "region": "eu", "deep": { "n": 3 }, "plain": "x" })),
            [("mcp-param-n".into(), "3".into()), ("mcp-param-region".into(), "eu".into())]
        );
        assert_eq!(found(&json!({ "region": null })), []);
        assert_eq!(mirrored(r#"{"type":"object"}"#, "{}"), []);
    }

    #[test]
    fn progress_is_told_in_words() {
        assert_eq!(in_words(2.0, Some(5.0), Some("copying")), "2 of 5: copying");
        assert_eq!(in_words(0.5, None, None), "0.5");
    }
}
