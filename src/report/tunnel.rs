//! The tunnel: SDKs post their envelopes here, and what is not noise goes on to the server.
//!
//! `POST /sentry-tunnel`, and `POST /sentry-tunnel/api/{project}/envelope/` for SDKs that know
//! no tunnels and are given a DSN with that path. This file decides and does nothing: it is told
//! the head of a request and then its bytes. `answer` beside it does what is decided.
//!
//! | step | check | else |
//! |---|---|---|
//! | 1 | a DSN is configured and the path is ours | 404, as if there were no such route |
//! | 2 | the method is POST | 405 |
//! | 3 | at most one content-encoding, of those that can be undone | 415 |
//! | 4 | what is received is at most 25 MiB | 413 |
//! | 5 | it inflates, to at most 25 MiB | 400, 413 |
//! | 6 | the envelope's header line | 400 |
//! | 7 | every project that the request names is ours | 400 if `dsn` is not a string, else 403 |
//! | 8 | the items | 400 |
//! | 9 | the filter | |
//!
//! An earlier step's answer is given even where a later step's is known first, which is why
//! bytes are still counted after an envelope has been found malformed.
//!
//! Public keys are public: step 7 keeps other projects' events out and gives honest answers. It
//! is no login, and the tunnel has none.

use std::borrow::Cow;
use std::ops::Range;

use super::config::SentryConfig;
use super::dsn::Dsn;
use super::envelope::{Items, NamedDsn, Splitter};
use super::filter::EventId;
use super::losses::Losses;

pub mod answer;

/// Bytes of a body, as received and inflated. A replay, the largest that a browser sends, is at
/// most 10 MiB; the isolate has 128 MB for everything that it does at once.
pub const MAX_BODY_BYTES: usize = 25 * 1024 * 1024;

/// What the first checks look at.
#[derive(Debug, Clone, Default)]
pub struct Head<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The path of its URL.
    pub path: &'a str,
    /// Every `sentry_key` of its query.
    pub query_keys: Vec<String>,
    /// `content-encoding`.
    pub content_encoding: Option<String>,
    /// `content-length`.
    pub content_length: Option<String>,
    /// `x-sentry-auth`.
    pub auth: Option<String>,
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`, which is the zlib format.
    Deflate,
    /// `br`.
    Brotli,
}

impl Encoding {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
        }
    }

    fn read(header: Option<&str>) -> Option<Self> {
        match header.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip") => Some(Self::Gzip),
            Some("deflate") => Some(Self::Deflate),
            Some("br") => Some(Self::Brotli),
            Some(_) => None,
        }
    }
}

/// Why a request is refused. Nothing of it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 415.
    Encoding,
    /// 413.
    TooLarge,
    /// 400, and what was wrong, without a word of the input.
    Malformed(Cow<'static, str>),
    /// 403, and what named another project.
    OtherProject(&'static str),
}

impl Refusal {
    /// HTTP status of the answer.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Encoding => 415,
            Self::TooLarge => 413,
            Self::Malformed(_) => 400,
            Self::OtherProject(_) => 403,
        }
    }

    /// What was wrong.
    #[must_use]
    pub fn detail(&self) -> Cow<'static, str> {
        match self {
            Self::NotFound => "not found".into(),
            Self::MethodNotAllowed => "envelopes are posted".into(),
            Self::Encoding => "content-encoding is none of gzip, deflate, br, or not one".into(),
            Self::TooLarge => "the envelope is over 25 MiB".into(),
            Self::Malformed(what) => what.clone(),
            Self::OtherProject(what) => format!("{what} is of another project").into(),
        }
    }
}

/// What becomes of an envelope that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The server gets these bytes of it, and its answer goes back to the client.
    Forward {
        /// In order.
        kept: Vec<Range<usize>>,
        /// What was dropped.
        losses: Losses,
    },
    /// There is nothing to send: 200.
    Settled {
        /// The id of the event, if it has one.
        event_id: Option<EventId>,
        /// What was dropped.
        losses: Losses,
    },
}

/// A request that passed the first checks and whose body is being read.
#[derive(Debug)]
pub struct Intake<'a> {
    ours: &'a Dsn,
    encoding: Encoding,
    /// Every key that the request names outside its body, and where.
    keys: Vec<(&'static str, String)>,
    /// The project in its path.
    project: Option<String>,
    bytes: usize,
    splitter: Splitter,
}

impl<'a> Intake<'a> {
    /// Steps 1 to 4, as far as a request's head tells.
    ///
    /// # Errors
    ///
    /// The first check that fails.
    pub fn admit(head: &Head<'_>, config: &'a SentryConfig) -> Result<Self, Refusal> {
        let ours = config.dsn.as_ref().ok_or(Refusal::NotFound)?;
        let project = route(head.path).ok_or(Refusal::NotFound)?;
        if head.method != "POST" {
            return Err(Refusal::MethodNotAllowed);
        }
        let encoding = Encoding::read(head.content_encoding.as_deref()).ok_or(Refusal::Encoding)?;
        let announced = head.content_length.as_deref().map(str::parse::<usize>);
        if announced.is_some_and(|length| length.is_ok_and(|length| length > MAX_BODY_BYTES)) {
            return Err(Refusal::TooLarge);
        }
        let in_query = head.query_keys.iter().map(|key| ("sentry_key in the query", key.clone()));
        let in_auth = head.auth.as_deref().into_iter().flat_map(auth_keys);
        Ok(Self {
            ours,
            encoding,
            keys: in_query.chain(in_auth.map(|key| ("x-sentry-auth", key))).collect(),
            project: project.map(str::to_owned),
            bytes: 0,
            splitter: Splitter::new(),
        })
    }

    /// How the body is compressed.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Takes the next bytes of the inflated body and says whether they may still be needed.
    ///
    /// # Errors
    ///
    /// When the body is too large.
    pub fn take(&mut self, piece: &[u8]) -> Result<bool, Refusal> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_BODY_BYTES {
            return Err(Refusal::TooLarge);
        }
        self.splitter.feed(piece);
        Ok(!self.splitter.is_malformed())
    }

    /// Steps 6 to 9, once the body has been read to its end.
    ///
    /// # Errors
    ///
    /// The first check that fails.
    pub fn finish(self) -> Result<Decision, Refusal> {
        let malformed =
            |what: super::envelope::Malformed| Refusal::Malformed(what.to_string().into());
        let envelope = self.splitter.finish().map_err(malformed)?;
        check_project(self.ours, &envelope.header.dsn, &self.keys, self.project.as_deref())?;
        Ok(match envelope.items.map_err(malformed)? {
            Items::None => Decision::Settled { event_id: None, losses: Losses::none() },
            Items::Whole => Decision::Forward {
                kept: std::iter::once(0..self.bytes).collect(),
                losses: Losses::none(),
            },
            Items::Noise { kept, losses, event_id } if kept.is_empty() => {
                Decision::Settled { event_id, losses }
            }
            Items::Noise { kept, losses, .. } => Decision::Forward { kept, losses },
        })
    }
}

/// Whether a path is the tunnel's, and the project that it names.
#[must_use]
pub fn route(path: &str) -> Option<Option<&str>> {
    match path.strip_prefix("/sentry-tunnel")? {
        "" | "/" => Some(None),
        rest => {
            let project = rest.strip_prefix("/api/")?;
            let project = project.strip_suffix('/').unwrap_or(project).strip_suffix("/envelope")?;
            (!project.is_empty() && !project.contains('/')).then_some(Some(project))
        }
    }
}

fn check_project(
    ours: &Dsn,
    named: &NamedDsn,
    keys: &[(&'static str, String)],
    project: Option<&str>,
) -> Result<(), Refusal> {
    match named {
        NamedDsn::NotText => return Err(Refusal::Malformed("dsn is not a string".into())),
        NamedDsn::Text(dsn) if !Dsn::parse(dsn).is_ok_and(|dsn| ours.is_same_project(&dsn)) => {
            return Err(Refusal::OtherProject("dsn"));
        }
        NamedDsn::Absent | NamedDsn::Text(_) => {}
    }
    if let Some((place, _)) = keys.iter().find(|(_, key)| key != ours.key()) {
        return Err(Refusal::OtherProject(place));
    }
    match project {
        Some(project) if project != ours.project() => {
            Err(Refusal::OtherProject("the project in the path"))
        }
        _ => Ok(()),
    }
}

/// Every `sentry_key` in `Sentry sentry_version=7, sentry_key=…, sentry_client=…`.
fn auth_keys(header: &str) -> impl Iterator<Item = String> {
    header.split([',', ' ']).filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("sentry_key").then(|| value.trim().to_owned())
    })
}

/// The body of an answer in the server's own form.
#[must_use]
pub fn error_body(detail: &str) -> String {
    serde_json::json!({ "detail": detail, "causes": [] }).to_string()
}

/// The body of the answer to an envelope of which nothing is left.
#[must_use]
pub fn settled_body(event_id: Option<&EventId>) -> String {
    match event_id {
        Some(id) => format!("{{\"id\":\"{}\"}}", id.as_str()),
        None => "{}".to_owned(),
    }
}
