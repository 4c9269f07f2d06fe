//! `tools.http.fetch({url, method?, headers?, body?}) → {status, headers, body}`: the host's own
//! request, by the gateway, within the rules of hosts.
//!
//! A body is text, or bytes where it is not UTF-8. A header may be a secret that was granted to the
//! source `http`: `{secret: "name", before: "Bearer "}`. Its value is put in by the gateway.

use super::egress::HostRules;
use super::exchange::{Place, Request};
use super::gateway::{self, Passage};
use super::{Caller, unfit, vault};
use crate::config::Config;
use crate::error::Fault;
use crate::run::value;
use crate::store::db::Db;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

const TOOL: &str = "http.fetch";

/// What a secret has to be granted to, as if it were a source.
const SOURCE: &str = "http";

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Request headers that are the platform's or would say something untrue.
const FORBIDDEN_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    method: Option<String>,
    headers: Option<Map<String, Value>>,
    body: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    secret: String,
    #[serde(default)]
    before: String,
}

#[derive(Default)]
struct Head {
    headers: Vec<(String, String)>,
    secrets: Vec<(Place, String)>,
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
    rules.admit(&url).map_err(|reason| gateway::refused(TOOL, &url, &reason))
}

/// Makes the request.
///
/// # Errors
///
/// Unfit arguments, a host that is not allowed, an upstream that failed, an answer over its limit.
pub async fn fetch(
    db: &Db,
    config: &Config,
    caller: &Caller,
    arguments: &str,
) -> Result<String, Fault> {
    let arguments: Arguments = serde_json::from_str(arguments).map_err(|error| {
        unfit(TOOL, error.to_string().split(" at line ").next().unwrap_or_default())
    })?;
    let url = Url::parse(&arguments.url)
        .map_err(|error| unfit(TOOL, format!("url is not a URL ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unfit(TOOL, "url must not carry credentials; use the authorization header"));
    }
    let method = arguments.method.as_deref().unwrap_or("GET").to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        return Err(unfit(TOOL, format!("method must be one of {}", METHODS.join(", "))));
    }
    let Head { mut headers, secrets } = head_of(arguments.headers)?;
    let body = body_of(arguments.body, &mut headers)?;
    let keys = &config.secrets_keys;
    let secrets = vault::open(db, keys, &caller.principal, SOURCE, &secrets)
        .await
        .map_err(|fault| fault.with("tool", TOOL))?;
    let passage = Passage {
        hosts: &config.http_hosts,
        tool: TOOL,
        secrets: &secrets,
        // What comes back is the program's to judge, a 503, too.
        repeatable: false,
    };
    let mut answer =
        gateway::send(passage, &Request { method, url: url.into(), headers, body }).await?;
    let bytes = answer.bytes(caller.answer_bytes).await?;
    let mut answered: Map<String, Value> = Map::new();
    for (name, value) in &answer.headers {
        answered.insert(name.clone(), Value::String(value.clone()));
    }
    let body = match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => value::bytes(error.as_bytes()),
    };
    // A header may be called `$`, which is the key of the codec's tags.
    let headers = value::tagged(Value::Object(answered).to_string())
        .map_err(|error| Fault::internal(&caller.run_id, error.to_string()))?;
    let status = answer.status;
    Ok(format!("{{\"status\":{status},\"headers\":{headers},\"body\":{body}}}"))
}

fn head_of(headers: Option<Map<String, Value>>) -> Result<Head, Fault> {
    let mut head = Head::default();
    for (name, value) in headers.unwrap_or_default() {
        let name = name.to_ascii_lowercase();
        if FORBIDDEN_HEADERS.contains(&name.as_str()) {
            return Err(unfit(TOOL, format!("headers.{name} is set by the host")));
        }
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            value => {
                let Ok(reference) = serde_json::from_value::<Reference>(value) else {
                    let what = format!("headers.{name} must be text, or {{secret, before?}}");
                    return Err(unfit(TOOL, what));
                };
                let Reference { secret, before } = reference;
                head.secrets.push((Place::Header { name, before }, secret));
                continue;
            }
        };
        head.headers.push((name, value));
    }
    Ok(head)
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
    let (plain, _) = value::plain(body.to_string())
        .map_err(|error| unfit(TOOL, format!("body cannot be read ({error})")))?;
    if !headers.iter().any(|(name, _)| name == "content-type") {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    Ok(Some(plain.into_bytes()))
}
