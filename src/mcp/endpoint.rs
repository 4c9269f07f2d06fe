//! The order of checks: from the head of a request to an answer or a call.
//!
//! A request that is wrong in several ways is answered by the first check that it fails, and the
//! order is part of the contract: method before token, so that a GET starts no OAuth flow; token
//! before body, so that strangers get nothing parsed; headers against body before anything acts
//! on either.

use super::{
    accept::Accept,
    access::Access,
    answer::Answer,
    ask::Responses,
    discover,
    envelope::{self, Malformed, Message, Request},
    era::{Era, LEGACY, MODERN},
    headers::Headers,
    initialize,
    list::List,
    mirror,
    origin::{Cors, Origins},
    params::{Capabilities, Members, Params, string},
    refusal::{refuse, refuse_with, shown},
    reply::Reply,
    result::CallResult,
    rpc_error::RpcError,
    state::{Refused, State, States, call_hash},
    tools::{NoCall, Tool},
};
use crate::error::{Code, Fault};
use serde_json::json;

const ALLOWED_METHODS: &str = "POST, OPTIONS";

/// The endpoint as it is configured.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The web pages that may speak to it.
    pub origins: Origins,
    /// Most bytes of one body.
    pub body_bytes: usize,
    /// The budget of autonomous compute of `execute`, in milliseconds: the most a call may name.
    pub budget_ms: u64,
}

/// What stands before the body of a request.
#[derive(Debug, Clone)]
pub struct Head<'a> {
    /// The method, as sent.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The headers.
    pub headers: Headers,
}

/// A POST from an allowed place. Next: who asks?
#[derive(Debug)]
pub struct Opened<'a> {
    endpoint: &'a Endpoint,
    headers: Headers,
    cors: Cors,
}

/// A request whose body may be read.
#[derive(Debug)]
pub struct Admitted<'a> {
    endpoint: &'a Endpoint,
    headers: Headers,
    cors: Cors,
    accept: Accept,
    states: Option<States>,
}

/// What a body asks for.
#[derive(Debug)]
pub enum Read {
    /// Nothing more: this is the answer.
    Answer(Answer),
    /// The list of tools.
    List(List),
    /// A tool to run.
    Call(Box<Call>),
}

/// A call of a tool that is in order.
#[derive(Debug)]
pub struct Call {
    /// The tool and its arguments.
    pub tool: Tool,
    /// The era of the request.
    pub era: Era,
    /// What the client can do.
    pub capabilities: Capabilities,
    /// Its hash, where the client can be asked to come back with a [`State`].
    pub hash: Option<String>,
    /// What it comes back with.
    pub returned: Option<Returned>,
    /// Where the outcome goes.
    pub reply: Reply,
}

/// What a call that goes on brings with it.
#[derive(Debug)]
pub struct Returned {
    /// The state, which is one of ours, whole, in time, and of this principal and call.
    pub state: State,
    /// What the client says of what it was asked to do.
    pub responses: Responses,
}

impl Endpoint {
    /// Whether the endpoint answers at this path. Both spellings are served as they are, since
    /// clients lose their token over a redirect.
    #[must_use]
    pub fn serves(path: &str) -> bool {
        matches!(path, "/mcp" | "/mcp/")
    }

    /// Checks path, `Host`, `Origin` and method, and answers preflights.
    ///
    /// # Errors
    ///
    /// The answer, when that is all there is to say.
    pub fn open<'a>(&'a self, head: Head<'_>) -> Result<Opened<'a>, Answer> {
        if !Self::serves(head.path) {
            let message = format!("There is nothing at {}.", shown(head.path));
            return Err(refuse(&Fault::new(Code::RouteNotFound, message)));
        }
        if !self.origins.serves_host(&head.headers) {
            let host = shown(head.headers.get("host").unwrap_or_default());
            let message = format!("Requests to the host {host} are not answered in development.");
            return Err(refuse_with(&Fault::new(Code::OriginNotAllowed, message), 421));
        }
        let Some(cors) = self.origins.check(&head.headers) else {
            let origin = shown(head.headers.get("origin").unwrap_or_default());
            let message = format!("Requests from the origin {origin} are not allowed.");
            return Err(refuse(&Fault::new(Code::OriginNotAllowed, message)).with("vary", "Origin"));
        };
        match head.method {
            "POST" => Ok(Opened { endpoint: self, headers: head.headers, cors }),
            "OPTIONS" => Err(Answer::empty(204)
                .with("allow", ALLOWED_METHODS)
                .with_all(&cors.headers())
                .with_all(&cors.preflight())),
            other => {
                let message =
                    format!("{} is not allowed here; {ALLOWED_METHODS} is.", shown(other));
                Err(refuse(&Fault::new(Code::MethodNotAllowed, message))
                    .with("allow", ALLOWED_METHODS)
                    .with_all(&cors.headers()))
            }
        }
    }
}

impl<'a> Opened<'a> {
    /// Checks the token, then what the headers say of body and answer.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn admit(self, access: &Access) -> Result<Admitted<'a>, Answer> {
        let cors = self.cors.headers();
        access.check().map_err(|refusal| refusal.with_all(&cors))?;
        let accept = self.accept().map_err(|refusal| refusal.with_all(&cors))?;
        let Self { endpoint, headers, cors } = self;
        Ok(Admitted { endpoint, headers, cors, accept, states: None })
    }

    fn accept(&self) -> Result<Accept, Answer> {
        let given = self.headers.get("content-type").unwrap_or("missing");
        let media_type = given.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            let message =
                format!("The content type is {}; application/json is read here.", shown(given));
            return Err(refuse(&Fault::new(Code::UnsupportedMediaType, message)));
        }
        let Some(accept) = Accept::read(self.headers.get("accept")) else {
            let message =
                "The Accept header admits neither application/json nor text/event-stream.";
            return Err(refuse(&Fault::new(Code::NotAcceptable, message)));
        };
        // A wrong or missing length is found when the body is read.
        let declared =
            self.headers.get("content-length").and_then(|length| length.parse::<usize>().ok());
        if declared.is_some_and(|bytes| bytes > self.endpoint.body_bytes) {
            return Err(self.endpoint.too_large());
        }
        Ok(accept)
    }
}

impl Endpoint {
    fn too_large(&self) -> Answer {
        let limit = self.body_bytes;
        let message = format!("The body is over {limit} bytes, the most that is read here.");
        refuse(&Fault::new(Code::BodyTooLarge, message).with("limit", limit))
    }
}

impl Admitted<'_> {
    /// The same; states of `states` are ours. Without them none is.
    #[must_use]
    pub fn knowing(self, states: Option<States>) -> Self {
        Self { states, ..self }
    }

    /// Most bytes of the body. The worker need not read on behind them: a body that is one byte
    /// longer is refused.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.endpoint.body_bytes
    }

    /// Reads the body and finds out what it asks for.
    #[must_use]
    pub fn read(&self, body: &[u8]) -> Read {
        let cors = self.cors.headers();
        if body.len() > self.endpoint.body_bytes {
            return Read::Answer(self.endpoint.too_large().with_all(&cors));
        }
        match envelope::read(body) {
            Err(Malformed { id, error }) => Read::Answer(error.answer(id.as_ref()).with_all(&cors)),
            Ok(Message::Unanswered) => Read::Answer(Answer::empty(202).with_all(&cors)),
            Ok(Message::Request(request)) => self.request(&request),
        }
    }

    fn request(&self, request: &Request<'_>) -> Read {
        let header = self.headers.get("mcp-protocol-version");
        let era = Era::choose(request.params.claims(), &request.method, header);
        let reply = Reply {
            id: request.id.clone(),
            era,
            accept: self.accept,
            cors: self.cors.headers(),
            progress_token: request.params.progress_token(),
        };
        let asked = match era {
            Era::Legacy => self.legacy(request, &reply),
            Era::Modern => self.modern(request, &reply),
        };
        asked.unwrap_or_else(|error| Read::Answer(reply.error(&error)))
    }

    fn legacy(&self, request: &Request<'_>, reply: &Reply) -> Result<Read, RpcError> {
        if request.method == "initialize" {
            let result = initialize::result(members(&request.params)?);
            return Ok(Read::Answer(reply.result(&result)));
        }
        // Without the header the client is taken to be of 2025-03-26, which is served.
        if let Some(version) = self.headers.get("mcp-protocol-version")
            && !LEGACY.contains(&version)
        {
            return Err(RpcError::legacy_version(version));
        }
        match &*request.method {
            "ping" => Ok(Read::Answer(reply.result(&json!({})))),
            "tools/list" => list(request, reply),
            "tools/call" => self.call(request, reply, Capabilities::default(), None),
            other => Err(RpcError::method(Era::Legacy, other)),
        }
    }

    fn modern(&self, request: &Request<'_>, reply: &Reply) -> Result<Read, RpcError> {
        let capabilities = self.modern_head(request)?;
        match &*request.method {
            "server/discover" => {
                members(&request.params)?;
                Ok(Read::Answer(reply.result(&discover::result())))
            }
            "tools/list" => list(request, reply),
            "tools/call" => {
                let returned = self.returned(members(&request.params)?)?;
                self.call(request, reply, capabilities, returned)
            }
            other => Err(RpcError::method(Era::Modern, other)),
        }
    }

    /// What a call that goes on brings. A state is looked at wherever there is one.
    fn returned(&self, members: &Members<'_>) -> Result<Option<Returned>, RpcError> {
        let Some(raw) = members.request_state else { return Ok(None) };
        let text = string(raw).unwrap_or_default();
        let name = members.name.and_then(string).unwrap_or_default();
        let hash = call_hash(&name, members.arguments);
        let read = self.states.as_ref().map(|states| states.read(&text, &hash));
        match read.unwrap_or(Err(Refused::Unknown)) {
            Ok(state) => {
                let responses = Responses::read(members.input_responses);
                Ok(Some(Returned { state, responses }))
            }
            Err(refused) => Err(RpcError::state(&refused.fault())),
        }
    }

    /// What every modern request must say, in body and headers.
    fn modern_head(&self, request: &Request<'_>) -> Result<Capabilities, RpcError> {
        let meta = request.params.meta().ok_or_else(|| {
            RpcError::meta("params._meta is missing; every request of this era carries it.")
        })?;
        let version = meta.protocol_version.and_then(string).ok_or_else(|| {
            RpcError::meta("params._meta needs io.modelcontextprotocol/protocolVersion, a string.")
        })?;
        let capabilities =
            meta.client_capabilities.and_then(Capabilities::read).ok_or_else(|| {
                RpcError::meta(
                    "params._meta needs io.modelcontextprotocol/clientCapabilities, an object.",
                )
            })?;
        let header = self.headers.get("mcp-protocol-version");
        if let Some(header) = header.filter(|header| *header != version) {
            return Err(RpcError::header(format!(
                "MCP-Protocol-Version '{}' does not match _meta '{}'.",
                shown(header),
                shown(&version)
            )));
        }
        if version != MODERN {
            return Err(RpcError::version(&version));
        }
        if header.is_none() {
            return Err(RpcError::header("The header MCP-Protocol-Version is missing."));
        }
        mirror::check(&self.headers, request)?;
        Ok(capabilities)
    }

    fn call(
        &self,
        request: &Request<'_>,
        reply: &Reply,
        capabilities: Capabilities,
        returned: Option<Returned>,
    ) -> Result<Read, RpcError> {
        let members = members(&request.params)?;
        let name = members
            .name
            .and_then(string)
            .ok_or_else(|| RpcError::params("params.name must be a string: the tool to call."))?;
        match Tool::read(&name, members.arguments, self.endpoint.budget_ms) {
            Ok(tool) => {
                let era = reply.era;
                let reply = reply.clone();
                let hash =
                    capabilities.elicitation_url.then(|| call_hash(&name, members.arguments));
                let call = Call { tool, era, capabilities, hash, returned, reply };
                Ok(Read::Call(Box::new(call)))
            }
            Err(NoCall::Unknown(error)) => Err(error),
            Err(NoCall::Arguments(fault)) => {
                Ok(Read::Answer(reply.result(&CallResult::of_fault(&fault)?)))
            }
        }
    }
}

/// The list has one page, so no cursor is one that we gave out.
fn list(request: &Request<'_>, reply: &Reply) -> Result<Read, RpcError> {
    match members(&request.params)?.cursor.map(serde_json::value::RawValue::get) {
        None | Some("null") => Ok(Read::List(List { reply: reply.clone() })),
        Some(_) => Err(RpcError::params("params.cursor is not one of this server.")),
    }
}

/// The members of the parameters, which must be an object.
fn members<'p, 'a>(params: &'p Params<'a>) -> Result<&'p Members<'a>, RpcError> {
    match params {
        Params::Object(members) => Ok(members),
        Params::Other => Err(RpcError::params("params must be an object.")),
    }
}
