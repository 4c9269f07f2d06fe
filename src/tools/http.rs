//! `tools.http.fetch({url, method?, headers?, body?}) → {status, headers, body}`: the host's own
//! request, within the rules of hosts.
//!
//! Redirects are followed here, hop by hop, so that each is checked; credentials do not cross to
//! another host. A body is text, or bytes where it is not UTF-8.

use super::egress::HostRules;
use super::{Caller, unfit};
use crate::error::{Code, Fault};
use crate::run::value;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;
use worker::{AbortController, Fetch, Headers, Method, Request};

const TOOL: &str = "http.fetch";

/// As many hops as browsers follow at most.
const MAX_REDIRECTS: u32 = 20;

/// Request headers that are the platform's or would say something untrue.
const FORBIDDEN_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection"];

/// Headers that never go along to another host.
const CREDENTIAL_HEADERS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    method: Option<String>,
    headers: Option<Map<String, Value>>,
    body: Option<Value>,
}

/// Aborts the request when the call is dropped before its answer is whole.
struct AbortOnDrop(Option<AbortController>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

/// Refuses arguments of which no request would be made.
///
/// # Errors
///
/// Unfit arguments, a host that is not allowed.
pub fn check(rules: &HostRules, arguments: &str) -> Result<(), Fault> {
    let arguments: Arguments = serde_json::from_str(arguments).map_err(|error| {
        unfit(TOOL, error.to_string().split(" at line ").next().unwrap_or_default())
    })?;
    let url = Url::parse(&arguments.url)
        .map_err(|error| unfit(TOOL, format!("url is not a URL ({error})")))?;
    rules.admit(&url).map_err(|reason| refused(&url, &reason))
}

/// Makes the request.
///
/// # Errors
///
/// Unfit arguments, a host that is not allowed, an upstream that failed, an answer over its limit.
pub async fn fetch(rules: &HostRules, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let arguments: Arguments = serde_json::from_str(arguments).map_err(|error| {
        unfit(TOOL, error.to_string().split(" at line ").next().unwrap_or_default())
    })?;
    let mut url = Url::parse(&arguments.url)
        .map_err(|error| unfit(TOOL, format!("url is not a URL ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unfit(TOOL, "url must not carry credentials; use the authorization header"));
    }
    let mut method = method_of(arguments.method.as_deref())?;
    let mut headers = headers_of(arguments.headers)?;
    let mut body = body_of(arguments.body, &mut headers)?;
    let controller = AbortController::default();
    let signal = controller.signal();
    let guard = AbortOnDrop(Some(controller));
    let mut hops = 0_u32;
    let mut response = loop {
        rules.admit(&url).map_err(|reason| refused(&url, &reason))?;
        let request = request_of(&url, &method, &headers, body.as_deref())
            .map_err(|error| unfit(TOOL, error))?;
        let sent = Fetch::Request(request).send_with_signal(&signal).await;
        let response = sent.map_err(|error| upstream(&url, "could not be reached", &error))?;
        let status = response.status_code();
        let location = response.headers().get("location").ok().flatten();
        let (301..=303 | 307 | 308, Some(location)) = (status, location) else { break response };
        if hops >= MAX_REDIRECTS {
            let message = format!("{TOOL}: {} redirects without end.", host_of(&url));
            return Err(Fault::new(Code::UpstreamFailed, message).with("tool", TOOL));
        }
        hops = hops.saturating_add(1);
        let next = url.join(&location).map_err(|_| {
            let message = format!("{TOOL}: {} redirects to what is no URL.", host_of(&url));
            Fault::new(Code::UpstreamFailed, message).with("tool", TOOL)
        })?;
        if next.origin() != url.origin() {
            headers.retain(|(name, _)| !CREDENTIAL_HEADERS.contains(&name.as_str()));
        }
        if status == 303 && method != Method::Head
            || matches!(status, 301 | 302) && method == Method::Post
        {
            method = Method::Get;
            body = None;
            headers.retain(|(name, _)| name != "content-type");
        }
        url = next;
    };
    let limit = usize::try_from(caller.answer_bytes).unwrap_or(usize::MAX);
    let mut bytes: Vec<u8> = Vec::new();
    if !matches!(response.status_code(), 204 | 205 | 304)
        && let Ok(mut stream) = response.stream()
    {
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| upstream(&url, "broke off its answer", &error))?;
            if bytes.len().saturating_add(chunk.len()) > limit {
                let what = format!("{TOOL}: the answer");
                let fault = Fault::limit("answerBytes", &what, None, caller.answer_bytes, "bytes");
                return Err(fault.with("tool", TOOL));
            }
            bytes.extend_from_slice(&chunk);
        }
    }
    // The answer is whole: nothing is left to abort.
    let mut guard = guard;
    guard.0 = None;
    let mut answered = Map::new();
    for (name, value) in response.headers() {
        answered.insert(name, Value::String(value));
    }
    let body = match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => value::bytes(error.as_bytes()),
    };
    // A header may be called `$`, which is the key of the codec's tags.
    let headers = value::tagged(&Value::Object(answered).to_string())
        .map_err(|error| Fault::internal(&caller.run_id, error.to_string()))?;
    let status = response.status_code();
    Ok(format!("{{\"status\":{status},\"headers\":{headers},\"body\":{body}}}"))
}

fn method_of(method: Option<&str>) -> Result<Method, Fault> {
    Ok(match method.unwrap_or("GET").to_ascii_uppercase().as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        _ => {
            let what = "method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS";
            return Err(unfit(TOOL, what));
        }
    })
}

fn headers_of(headers: Option<Map<String, Value>>) -> Result<Vec<(String, String)>, Fault> {
    let mut list = Vec::new();
    for (name, value) in headers.unwrap_or_default() {
        let name = name.to_ascii_lowercase();
        if FORBIDDEN_HEADERS.contains(&name.as_str()) {
            return Err(unfit(TOOL, format!("headers.{name} is set by the host")));
        }
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => return Err(unfit(TOOL, format!("headers.{name} must be text"))),
        };
        list.push((name, value));
    }
    Ok(list)
}

/// Text goes as it is, bytes as bytes, anything else as JSON.
fn body_of(
    body: Option<Value>,
    headers: &mut Vec<(String, String)>,
) -> Result<Option<Vec<u8>>, Fault> {
    let Some(body) = body else { return Ok(None) };
    if let Value::String(text) = body {
        return Ok(Some(text.into_bytes()));
    }
    if let Some(bytes) = value::as_bytes(&body) {
        return Ok(Some(bytes));
    }
    if body.is_null() {
        return Ok(None);
    }
    let (plain, _) = value::plain(&body.to_string())
        .map_err(|error| unfit(TOOL, format!("body cannot be read ({error})")))?;
    if !headers.iter().any(|(name, _)| name == "content-type") {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    Ok(Some(plain.into_bytes()))
}

fn request_of(
    url: &Url,
    method: &Method,
    headers: &[(String, String)],
    body: Option<&[u8]>,
) -> Result<Request, String> {
    let own = Headers::new();
    for (name, value) in headers {
        own.set(name, value).map_err(|_| format!("headers.{name} is not a valid header"))?;
    }
    // Not worker's own RequestInit: it brings its options for image resizing into the Wasm.
    let init = web_sys::RequestInit::new();
    init.set_method(method.as_ref());
    init.set_headers(own.0.as_ref());
    init.set_redirect(web_sys::RequestRedirect::Manual);
    if let Some(body) = body {
        if matches!(method, Method::Get | Method::Head) {
            return Err("a body needs a method that takes one".to_owned());
        }
        init.set_body(js_sys::Uint8Array::from(body).as_ref());
    }
    let request = web_sys::Request::new_with_str_and_init(url.as_str(), &init);
    request.map(Request::from).map_err(|_| "the request is not valid".to_owned())
}

fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

fn refused(url: &Url, reason: &str) -> Fault {
    let host = host_of(url);
    Fault::new(Code::HostNotAllowed, format!("{host} may not be called: {reason}."))
        .with("tool", TOOL)
        .with("host", host)
}

fn upstream(url: &Url, what: &str, error: &worker::Error) -> Fault {
    let host = host_of(url);
    Fault::new(Code::UpstreamFailed, format!("{TOOL}: {host} {what}."))
        .with("tool", TOOL)
        .with("host", host)
        .caused_by(error.to_string())
}
