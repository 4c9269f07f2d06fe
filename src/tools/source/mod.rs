//! Sources: where tools come from that principals connect. One trait, one file a kind.
//!
//! A kind knows how its upstream is asked for what it has, and how one of its tools is called. It
//! knows no table and no policy: [`super::connect`] keeps what it imported, [`super::calls`] decides
//! when it is called.

pub mod graphql;
pub mod mcp;
pub mod openapi;
pub mod service;

use super::compensation::Declaration;
use super::exchange::{Place, Request};
use super::gateway::{self, Incoming, Passage};
use super::import::{Imported, Plan};
use super::secret::Opened;
use super::{cut, egress::HostRules, too_large, vault};
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::store::db::Db;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;
use url::Url;

/// Which kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// An MCP server, over Streamable HTTP.
    Mcp,
    /// An HTTP API that an `OpenAPI` document describes.
    Openapi,
    /// A GraphQL API that can be asked for its schema.
    Graphql,
    /// Another Worker, by a service binding.
    Service,
}

impl SourceKind {
    /// The word in tables and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Openapi => "openapi",
            Self::Graphql => "graphql",
            Self::Service => "service",
        }
    }
}

/// What a principal says of a source. It is stored without the document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Its kind.
    pub kind: SourceKind,
    /// Where it is reached; of `OpenAPI`, where the document is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `OpenAPI`: the document itself, JSON or a text of YAML, in place of `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// `OpenAPI`: where the operations are reached, if not where the document says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `OpenAPI`: values of the variables of the server's URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// `service`: the binding, one of those that the deployment lets sources have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// `service`: the methods that are tools, of a Worker that does not tell them itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Headers of every request. Nothing secret: they are shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Secrets, and where each goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auth: Vec<Auth>,
    /// How often its tools are read again, in milliseconds; an hour without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_ms: Option<u64>,
    /// Calls of one run at once; 8 without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// Calls of all runs at once; as many as come without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u64>,
    /// By which of its tools what another of them did is undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensations: Vec<Declaration>,
}

/// A secret, and where it goes. Only `secret` is needed: it then goes as a bearer token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Auth {
    /// The secret's name.
    pub secret: String,
    /// `header` (without: this), `query`, `cookie` or `basic`, for which the secret is `user:password`.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub place: Option<In>,
    /// The header's, parameter's or cookie's name; `authorization` without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What stands before it in the header; `Bearer ` for `authorization`, else nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// `OpenAPI`: the security scheme that it is for; without one it goes with every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
}

/// Where in a request a secret goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum In {
    /// A header.
    Header,
    /// A parameter of the URL.
    Query,
    /// A cookie.
    Cookie,
    /// `Authorization: Basic`.
    Basic,
}

impl Auth {
    /// Where it goes.
    #[must_use]
    pub fn place(&self) -> Place {
        let name = || self.name.clone().unwrap_or_else(|| "authorization".to_owned());
        match self.place.unwrap_or(In::Header) {
            In::Header => {
                let name = name();
                let usual = if name.eq_ignore_ascii_case("authorization") { "Bearer " } else { "" };
                let before = self.before.clone().unwrap_or_else(|| usual.to_owned());
                Place::Header { name, before }
            }
            In::Query => Place::Query { name: name() },
            In::Cookie => Place::Cookie { name: name() },
            In::Basic => Place::Basic,
        }
    }
}

/// An hour.
const REFRESH_MS: u64 = 3_600_000;

/// The least and the most that a source may be left alone, in milliseconds: a minute, thirty days.
const REFRESH_RANGE: std::ops::RangeInclusive<u64> = 60_000..=2_592_000_000;

/// Calls of one run at once.
const CONCURRENCY: usize = 8;

/// Headers that a source's settings cannot have: they are the protocol's, or secret.
const FORBIDDEN_HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authorization",
    "transfer-encoding",
];

impl Settings {
    /// Checks what was put.
    ///
    /// # Errors
    ///
    /// `invalid_request` naming the field.
    pub fn check(&self, config: &Config) -> Result<(), Fault> {
        let hosts = &config.source_hosts;
        let is_service = self.kind == SourceKind::Service;
        if !is_service && (self.binding.is_some() || !self.methods.is_empty()) {
            return Err(Fault::invalid("binding", "and methods are for the kind service"));
        }
        let of_http = self.url.is_some() || !self.headers.is_empty() || !self.auth.is_empty();
        if is_service && of_http {
            let what =
                "headers and auth are not for the kind service, which is reached by a binding";
            return Err(Fault::invalid("url", what));
        }
        match (self.kind, &self.url, &self.document) {
            (SourceKind::Openapi, None, None) => {
                return Err(Fault::invalid("url", "is missing; give url or document"));
            }
            (SourceKind::Openapi, Some(_), Some(_)) => {
                return Err(Fault::invalid("document", "stands beside url; give one of them"));
            }
            (SourceKind::Mcp | SourceKind::Graphql, None, _) => {
                return Err(Fault::invalid("url", "is missing"));
            }
            (SourceKind::Service, _, _) => service::check(self, &config.services)?,
            (SourceKind::Mcp | SourceKind::Graphql, _, Some(_)) => {
                return Err(Fault::invalid("document", "is for the kind openapi"));
            }
            _ => {}
        }
        if self.kind != SourceKind::Openapi && (self.server.is_some() || !self.variables.is_empty())
        {
            return Err(Fault::invalid("server", "is for the kind openapi"));
        }
        for (field, text) in [("url", &self.url), ("server", &self.server)] {
            if let Some(text) = text {
                check_url(field, text, hosts)?;
            }
        }
        for (name, value) in &self.headers {
            let field = format!("headers.{name}");
            if FORBIDDEN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                let what = "cannot be set here; what is secret goes into auth";
                return Err(Fault::invalid(&field, what));
            }
            let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if name.is_empty() || !name.chars().all(token) || value.chars().any(char::is_control) {
                return Err(Fault::invalid(&field, "is not a valid header"));
            }
        }
        if self.headers.len() > 20 || self.auth.len() > 20 {
            return Err(Fault::invalid("headers", "and auth may have 20 entries each at most"));
        }
        for auth in &self.auth {
            if auth.name.is_none() && matches!(auth.place, Some(In::Query | In::Cookie)) {
                return Err(Fault::invalid("auth.name", "is needed for query and cookie"));
            }
            if auth.scheme.is_some() && self.kind != SourceKind::Openapi {
                return Err(Fault::invalid("auth.scheme", "is for the kind openapi"));
            }
        }
        if self.refresh_ms.is_some_and(|ms| !REFRESH_RANGE.contains(&ms)) {
            let (least, most) = (REFRESH_RANGE.start(), REFRESH_RANGE.end());
            return Err(Fault::invalid("refreshMs", format!("must be from {least} to {most}")));
        }
        if self.concurrency.is_some_and(|count| !(1..=32).contains(&count)) {
            return Err(Fault::invalid("concurrency", "must be from 1 to 32"));
        }
        if self.at_once.is_some_and(|count| !(1..=1_000).contains(&count)) {
            return Err(Fault::invalid("atOnce", "must be from 1 to 1000"));
        }
        Ok(())
    }

    /// Whether what was put is all there is of it: nothing can be asked.
    #[must_use]
    pub fn is_uploaded(&self) -> bool {
        self.kind == SourceKind::Openapi && self.url.is_none()
    }

    /// How often its tools are read again.
    #[must_use]
    pub fn refresh_ms(&self) -> u64 {
        self.refresh_ms.unwrap_or(REFRESH_MS)
    }

    /// Calls of one run at once.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.concurrency.unwrap_or(CONCURRENCY)
    }
}

fn check_url(field: &str, text: &str, hosts: &HostRules) -> Result<(), Fault> {
    let url = Url::parse(text)
        .map_err(|error| Fault::invalid(field, format!("is not a URL ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::invalid(
            field,
            "must not carry credentials; put a secret and name it in auth",
        ));
    }
    hosts.admit(&url).map_err(|reason| {
        let host = gateway::host_of(&url);
        Fault::new(Code::HostNotAllowed, format!("{host} may not be called: {reason}."))
            .with("host", host)
            .with("field", field)
            .with_next_step(
                "Use an https URL of a public host. Whoever runs this deployment can allow another by \
                 HOLDFAST_SOURCE_HOSTS.",
            )
    })
}

/// Work that goes on when nobody waits for it any more.
#[derive(Clone)]
pub struct Later(Rc<worker::Context>);

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Later")
    }
}

impl Later {
    /// In a request's `waitUntil`.
    #[must_use]
    pub fn of(ctx: Rc<worker::Context>) -> Self {
        Self(ctx)
    }

    /// Does the work.
    pub fn spawn(&self, work: LocalBoxFuture<'static, ()>) {
        self.0.wait_until(work);
    }
}

/// A source, and what reaching it takes. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Where bindings are.
    pub env: worker::Env,
    /// Where secrets are.
    pub db: Rc<Db>,
    /// Where sources may be, and what opens secrets.
    pub config: Rc<Config>,
    /// Whose source it is.
    pub principal: Rc<str>,
    /// The source's name.
    pub source: Rc<str>,
    /// Its settings.
    pub settings: Rc<Settings>,
    /// What is done when nobody waits any more.
    pub later: Later,
    /// For whom, in messages: a tool's path, or the source's name.
    pub label: Rc<str>,
    /// The most bytes of an answer.
    pub answer_bytes: u64,
}

impl Reach {
    /// The same on behalf of a tool.
    #[must_use]
    pub fn of_tool(&self, path: &str, answer_bytes: u64) -> Self {
        Self { label: path.into(), answer_bytes, ..self.clone() }
    }

    /// Sends a request with the source's headers, and with the secrets at `auth`.
    ///
    /// # Errors
    ///
    /// As [`gateway::send`] and [`vault::open`].
    pub async fn send(
        &self,
        mut request: Request,
        auth: &[(Place, String)],
        repeatable: bool,
    ) -> Result<Incoming, Fault> {
        for (name, value) in &self.settings.headers {
            let name = name.to_ascii_lowercase();
            if !request.headers.iter().any(|(known, _)| *known == name) {
                request.headers.push((name, value.clone()));
            }
        }
        let secrets = self.opened(auth).await.map_err(|fault| fault.with("tool", &*self.label))?;
        let passage = Passage {
            hosts: &self.config.source_hosts,
            tool: &self.label,
            secrets: &secrets,
            repeatable,
        };
        gateway::send(passage, &request).await
    }

    async fn opened(&self, auth: &[(Place, String)]) -> Result<Vec<(Place, Opened)>, Fault> {
        let keys = &self.config.secrets_keys;
        vault::open(&self.db, keys, &self.principal, &self.source, auth).await
    }

    /// The secrets that go with every request.
    #[must_use]
    pub fn auth(&self) -> Vec<(Place, String)> {
        let always = self.settings.auth.iter().filter(|auth| auth.scheme.is_none());
        always.map(|auth| (auth.place(), auth.secret.clone())).collect()
    }

    /// The source's own URL.
    ///
    /// # Errors
    ///
    /// When it has none.
    pub fn url(&self) -> Result<&str, Fault> {
        let url = self.settings.url.as_deref();
        url.ok_or_else(|| Fault::invalid("url", "is missing"))
    }

    /// An upstream that answered, but not what it should have; `what` reads after its name.
    #[must_use]
    pub fn failed(&self, what: impl std::fmt::Display) -> Fault {
        Fault::new(Code::UpstreamFailed, format!("{}: {what}.", self.label))
            .with("tool", &*self.label)
            .with("source", &*self.source)
    }

    /// An answer that is no success: what to do about it, as far as its status says.
    #[must_use]
    pub fn status(&self, status: u16) -> Fault {
        let fault = match status {
            401 | 403 if self.settings.auth.is_empty() => self
                .failed(format!("the service wants credentials (status {status})"))
                .with_next_step(
                    "Put a secret with PUT /v1/secrets/{name} and name it in the auth of the source.",
                ),
            401 | 403 => self
                .failed(format!("the service refuses the credentials (status {status})"))
                .with_next_step("Put the secret again, or let the source use another."),
            404 => self.failed("there is nothing at the URL (status 404)"),
            _ => self.failed(format!("the service answered with status {status}")),
        };
        fault.with("status", status)
    }
}

/// The body of an answer; one that is too large is cut by [`cut`], which is told.
///
/// # Errors
///
/// `limit_exceeded` for one that cannot be cut; when the service breaks off.
pub(super) async fn body_of(
    answer: &mut Incoming,
    reach: &Reach,
    told: Listener<'_>,
) -> Result<Vec<u8>, Fault> {
    let limit = reach.answer_bytes;
    let (body, over) = answer.beginning(limit).await?;
    if !over || answer.status >= 300 {
        return Ok(body);
    }
    let room = usize::try_from(limit).unwrap_or(usize::MAX);
    let Some(beginning) = cut::body(&answer.with_body(&body), room) else {
        return Err(too_large(&reach.label, None, limit));
    };
    told(Told::Cut(beginning.at));
    Ok(beginning.value.into_bytes())
}

/// What an upstream has, and what it says of itself.
#[derive(Debug, Clone, Default)]
pub struct Brought {
    /// What was imported.
    pub imported: Imported,
    /// For people: a protocol, a version, a name. JSON.
    pub facts: Value,
    /// How long the upstream says that this holds, in milliseconds.
    pub ttl_ms: Option<u64>,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's path.
    pub path: &'a str,
    /// How it is called.
    pub plan: &'a Plan,
    /// JSON Schema of the argument.
    pub parameters: &'a str,
    /// The argument, tagged.
    pub arguments: &'a str,
    /// Whether it may be made again.
    pub repeatable: bool,
}

/// What an upstream tells beside its answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// How far a call is, in words.
    Progress(String),
    /// Its tools are others now.
    Changed,
    /// The answer was too large and ends there, a path in it.
    Cut(String),
}

/// Takes what an upstream tells.
pub type Listener<'a> = &'a dyn Fn(Told);

/// A kind of source, connected: it may keep a session.
pub trait Source {
    /// Asks the upstream for all that it has.
    ///
    /// # Errors
    ///
    /// When it cannot be reached, or says what cannot be read.
    fn import(&self, reach: &Reach) -> impl Future<Output = Result<Brought, Fault>>;

    /// Calls a tool; its answer, tagged. Dropping the future cancels the call upstream, as far as
    /// the protocol has a way.
    ///
    /// # Errors
    ///
    /// What the tool failed with.
    fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        told: Listener<'_>,
    ) -> impl Future<Output = Result<String, Fault>>;
}

/// A source of any kind.
#[derive(Debug)]
pub enum Connected {
    /// An MCP server.
    Mcp(mcp::Mcp),
    /// An API that a document describes.
    Openapi(openapi::Openapi),
    /// A GraphQL API.
    Graphql(graphql::Graphql),
    /// Another Worker.
    Service(service::Service),
}

impl Connected {
    /// A source by its settings, and by what it said of itself before.
    #[must_use]
    pub fn of(settings: &Settings, facts: &Value) -> Self {
        match settings.kind {
            SourceKind::Mcp => Self::Mcp(mcp::Mcp::knowing(facts)),
            SourceKind::Openapi => Self::Openapi(openapi::Openapi::knowing(facts)),
            SourceKind::Graphql => Self::Graphql(graphql::Graphql),
            SourceKind::Service => Self::Service(service::Service),
        }
    }
}

impl Source for Connected {
    async fn import(&self, reach: &Reach) -> Result<Brought, Fault> {
        match self {
            Self::Mcp(source) => source.import(reach).await,
            Self::Openapi(source) => source.import(reach).await,
            Self::Graphql(source) => source.import(reach).await,
            Self::Service(source) => source.import(reach).await,
        }
    }

    async fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        told: Listener<'_>,
    ) -> Result<String, Fault> {
        match self {
            Self::Mcp(source) => source.call(reach, call, told).await,
            Self::Openapi(source) => source.call(reach, call, told).await,
            Self::Graphql(source) => source.call(reach, call, told).await,
            Self::Service(source) => source.call(reach, call, told).await,
        }
    }
}
