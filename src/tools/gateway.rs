//! The one way out: every request of a tool to a service goes through [`send`].
//!
//! Redirects are followed here, hop by hop, so that each host is checked. Secrets are put in for a
//! hop at the moment it is made, and only where each may go; neither they nor the caller's own
//! credentials go along to another origin, and they do not come back. Of what a service answers, a
//! secret that it was shown is taken out again.

use super::egress::HostRules;
use super::exchange::{Place, Request, Response};
use super::secret::{Opened, Scrubber};
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::tools::retry;
use futures_util::StreamExt as _;
use url::Url;
use worker::{AbortController, ByteStream, Fetch, Headers};

/// Bytes that are read beyond what is kept of an answer that is cut: a secret, however it is written.
const BEYOND_BYTES: u64 = 32_768;

/// As many hops as browsers follow at most.
const MAX_REDIRECTS: u32 = 20;

/// Headers that never go along to another origin.
const CREDENTIAL_HEADERS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

/// What one request may.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Where it may go.
    pub hosts: &'a HostRules,
    /// For whom it is made, in messages: a tool's path, or a source's name.
    pub tool: &'a str,
    /// Secrets to put in, each with the place where it goes.
    pub secrets: &'a [(Place, Opened)],
    /// Whether it may be made again when it is not known to have had an effect twice.
    pub repeatable: bool,
}

/// An answer whose head has come.
#[derive(Debug)]
pub struct Incoming {
    /// The status.
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    /// Where it came from, after redirects.
    pub url: Url,
    body: Option<ByteStream>,
    scrubber: Scrubber,
    tool: String,
    guard: AbortOnDrop,
}

/// Aborts the request when it is dropped before its answer is whole.
#[derive(Debug)]
struct AbortOnDrop(Option<AbortController>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

/// Sends a request and waits for the head of its answer. Dropping the future aborts it, and so does
/// dropping the answer before it is whole.
///
/// # Errors
///
/// A host that is not allowed, a secret that may not go there, an upstream that failed.
pub async fn send(passage: Passage<'_>, request: &Request) -> Result<Incoming, Fault> {
    let mut tried = 0_u32;
    loop {
        let sent = follow(passage, request).await;
        let wait_ms = match &sent {
            _ if !passage.repeatable => None,
            Ok(incoming) => {
                let after = incoming.header("retry-after");
                retry::wait_ms(Some(incoming.status), after, tried, now_ms())
            }
            Err(fault) if fault.code == Code::UpstreamFailed => {
                retry::wait_ms(None, None, tried, now_ms())
            }
            Err(_) => None,
        };
        let Some(wait_ms) = wait_ms else { return sent };
        drop(sent);
        tried = tried.saturating_add(1);
        sleep_ms(wait_ms).await;
    }
}

async fn follow(passage: Passage<'_>, request: &Request) -> Result<Incoming, Fault> {
    let tool = passage.tool;
    let mut url = Url::parse(&request.url).map_err(|error| {
        Fault::new(Code::ArgumentsInvalid, format!("{tool}: url is not a URL ({error})."))
            .with("tool", tool)
    })?;
    let mut request = request.clone();
    let mut secrets = passage.secrets;
    let controller = AbortController::default();
    let signal = controller.signal();
    let guard = AbortOnDrop(Some(controller));
    let mut scrubber = Scrubber::default();
    let mut hops = 0_u32;
    loop {
        passage.hosts.admit(&url).map_err(|reason| refused(tool, &url, &reason))?;
        let hop = with_secrets(tool, &request, &url, secrets, &mut scrubber)?;
        let made = made(&hop).map_err(|error| {
            Fault::new(Code::ArgumentsInvalid, format!("{tool}: {error}.")).with("tool", tool)
        })?;
        let sent = Fetch::Request(made).send_with_signal(&signal).await;
        let mut response =
            sent.map_err(|error| upstream(tool, &url, "could not be reached", &error.to_string()))?;
        let status = response.status_code();
        let location = response.headers().get("location").ok().flatten();
        let (301..=303 | 307 | 308, Some(location)) = (status, location) else {
            let headers = response
                .headers()
                .into_iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), scrubber.text(&value)))
                .collect();
            let body = match status {
                204 | 205 | 304 => None,
                _ => response.stream().ok(),
            };
            let tool = tool.to_owned();
            return Ok(Incoming { status, headers, url, body, scrubber, tool, guard });
        };
        let broken = |what: &str| {
            Fault::new(Code::UpstreamFailed, format!("{tool}: {} {what}.", host_of(&url)))
                .with("tool", tool)
                .with("host", host_of(&url))
        };
        if hops >= MAX_REDIRECTS {
            return Err(broken("redirects without end"));
        }
        hops = hops.saturating_add(1);
        let next = url.join(&location).map_err(|_| broken("redirects to what is no URL"))?;
        if next.origin() != url.origin() {
            secrets = &[];
            request.headers.retain(|(name, _)| !CREDENTIAL_HEADERS.contains(&name.as_str()));
        }
        if status == 303 && request.method != "HEAD"
            || matches!(status, 301 | 302) && request.method == "POST"
        {
            "GET".clone_into(&mut request.method);
            request.body = None;
            request.headers.retain(|(name, _)| name != "content-type");
        }
        url = next;
    }
}

/// The request of one hop, secrets put in. `scrubber` learns what it has to take out.
fn with_secrets(
    tool: &str,
    request: &Request,
    url: &Url,
    secrets: &[(Place, Opened)],
    scrubber: &mut Scrubber,
) -> Result<Request, Fault> {
    let mut url = url.clone();
    url.set_fragment(None);
    let mut hop = Request { url: url.clone().into(), ..request.clone() };
    for (place, secret) in secrets {
        secret.grants.admit(&secret.name, place, &url).map_err(|fault| fault.with("tool", tool))?;
        scrubber.learn(secret.text());
        hop.put(place, secret.text()).map_err(|why| {
            let message = format!("The secret {} cannot go there: {why}.", secret.name);
            Fault::new(Code::SecretNotAllowed, message)
                .with("tool", tool)
                .with("secret", secret.name.as_str())
        })?;
    }
    Ok(hop)
}

fn made(request: &Request) -> Result<worker::Request, String> {
    let own = Headers::new();
    for (name, value) in &request.headers {
        own.append(name, value).map_err(|_| format!("headers.{name} is not a valid header"))?;
    }
    // Not worker's own RequestInit: it brings its options for image resizing into the Wasm.
    let init = web_sys::RequestInit::new();
    init.set_method(&request.method);
    init.set_headers(own.0.as_ref());
    init.set_redirect(web_sys::RequestRedirect::Manual);
    if let Some(body) = &request.body {
        if matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err("a body needs a method that takes one".to_owned());
        }
        init.set_body(js_sys::Uint8Array::from(body.as_slice()).as_ref());
    }
    let made = web_sys::Request::new_with_str_and_init(&request.url, &init);
    made.map(worker::Request::from).map_err(|_| "the request is not valid".to_owned())
}

impl Incoming {
    /// A header; names are small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The media type, without its parameters, in small letters.
    #[must_use]
    pub fn media(&self) -> String {
        let given = self.header("content-type").unwrap_or_default();
        given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The answer, with the body that was read of it.
    #[must_use]
    pub fn with_body<'a>(&'a self, body: &'a [u8]) -> Response<'a> {
        Response { status: self.status, headers: &self.headers, body }
    }

    /// The next piece of the body, secrets still in it: whoever puts pieces together scrubs the
    /// whole by [`Incoming::scrubber`].
    ///
    /// # Errors
    ///
    /// When the service breaks off.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let Some(body) = &mut self.body else { return Ok(None) };
        match body.next().await {
            Some(Ok(chunk)) => Ok(Some(chunk)),
            Some(Err(error)) => {
                let what = "broke off its answer";
                Err(upstream(&self.tool, &self.url, what, &error.to_string()))
            }
            None => {
                // The answer is whole: nothing is left to abort.
                self.guard.0 = None;
                Ok(None)
            }
        }
    }

    /// Takes out what the service was shown.
    #[must_use]
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// `limit_exceeded` as soon as it is over `limit` bytes, and when the service breaks off.
    pub async fn bytes(&mut self, limit: u64) -> Result<Vec<u8>, Fault> {
        let (bytes, over) = self.bytes_to(limit).await?;
        if over {
            let what = format!("{}: the answer", self.tool);
            let fault = Fault::limit("answerBytes", &what, None, limit, "bytes");
            return Err(fault.with("tool", self.tool.as_str()));
        }
        Ok(bytes)
    }

    /// The body, or its beginning where it is longer than `limit` bytes by much; then it is to be cut there. What
    /// was read beyond hides no part of a secret: it is taken out before.
    ///
    /// # Errors
    ///
    /// When the service breaks off.
    pub async fn beginning(&mut self, limit: u64) -> Result<(Vec<u8>, bool), Fault> {
        self.bytes_to(limit.saturating_add(BEYOND_BYTES)).await
    }

    /// The body as far as `limit` bytes, and whether there was more of it, which is not read.
    ///
    /// # Errors
    ///
    /// When the service breaks off.
    pub async fn bytes_to(&mut self, limit: u64) -> Result<(Vec<u8>, bool), Fault> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = Vec::new();
        let mut over = false;
        while let Some(chunk) = self.chunk().await? {
            let room = limit.saturating_sub(bytes.len());
            bytes.extend(chunk.iter().take(room));
            if chunk.len() > room {
                over = true;
                break;
            }
        }
        Ok((self.scrubber.bytes(bytes), over))
    }
}

/// The host of a URL, for messages: what else it says may be secret.
#[must_use]
pub fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

pub(super) fn refused(tool: &str, url: &Url, reason: &str) -> Fault {
    let host = host_of(url);
    Fault::new(Code::HostNotAllowed, format!("{host} may not be called: {reason}."))
        .with("tool", tool)
        .with("host", host)
}

/// An upstream that failed; `what` reads after its host.
#[must_use]
pub fn upstream(tool: &str, url: &Url, what: &str, cause: &str) -> Fault {
    let host = host_of(url);
    Fault::new(Code::UpstreamFailed, format!("{tool}: {host} {what}."))
        .with("tool", tool)
        .with("host", host)
        .caused_by(cause)
}
