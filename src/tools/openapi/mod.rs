//! `OpenAPI` 3.0 and 3.1: a document becomes tools, a tool's arguments a request, an answer a value.
//! Pure.
//!
//! - [`read`]: an operation is a tool. Its argument has a member for each parameter, by its own name,
//!   and `body`. Of two parameters with one name the later one's member has its place behind it:
//!   `id`, `id_query`. What cannot be taken over is listed, and the rest works.
//! - [`request`]: the request of a call, whole but for its credentials.
//! - [`answer`]: the value of a 2xx answer, by its media type; anything else is an error with status
//!   and body.

mod answer;
mod document;
mod operation;
pub mod plan;
mod request;
mod shapes;

#[cfg(test)]
mod tests;

pub use answer::answer;
pub use plan::Plan;
pub use request::request;

use super::exchange::Place;
use super::import::{Credential, Imported, LeftOut, Server, Unreadable, Variable};
use super::yaml;
use document::{Document, cut};
use operation::Operations;
use serde_json::{Map, Value};

/// Bytes of a document at most.
pub const MAX_DOCUMENT_BYTES: usize = 16_777_216;

/// Things left out that are told.
const MAX_LEFT_OUT: usize = 500;

/// Reads a document, JSON or YAML.
///
/// # Errors
///
/// [`Unreadable`] where it is no `OpenAPI` document of 3.x, or too large for one.
pub fn read(text: &str) -> Result<Imported, Unreadable> {
    let document = document(text)?;
    let root = document.root.as_object();
    let mut imported = Imported::default();
    let info = document.root.get("info").and_then(Value::as_object);
    let said = |name: &str| info.and_then(|info| info.get(name)).and_then(Value::as_str);
    imported.title = said("title").map(|title| cut(title, 200));
    imported.description = said("description").map(|text| cut(text, 4_000));
    imported.servers = servers(document.root.get("servers"));
    imported.credentials = credentials(&document, &mut imported.left_out);
    if root.is_some_and(|root| root.contains_key("webhooks")) {
        imported.left_out.push(LeftOut {
            what: "webhooks".into(),
            why: "They are called by the service, not by programs.".into(),
            whole: false,
        });
    }
    Operations::of(&document, &mut imported).take_all();
    let more = imported.left_out.len().saturating_sub(MAX_LEFT_OUT);
    if more > 0 {
        imported.left_out.truncate(MAX_LEFT_OUT);
        imported.left_out.push(LeftOut {
            what: format!("{more} more"),
            why: "Too much is left out to tell all of it.".into(),
            whole: false,
        });
    }
    Ok(imported)
}

fn document(text: &str) -> Result<Document, Unreadable> {
    let no = |why: &str| Err(Unreadable { at: None, why: why.to_owned() });
    if text.len() > MAX_DOCUMENT_BYTES {
        return no(&format!("The document is over {MAX_DOCUMENT_BYTES} bytes."));
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    let root: Value = if text.starts_with('{') {
        match serde_json::from_str(text) {
            Ok(root) => root,
            // YAML has braces too.
            Err(error) => yaml::read(text).map_err(|_| Unreadable {
                at: Some(format!("line {}, column {}", error.line(), error.column())),
                why: format!(
                    "is not JSON: {}",
                    error.to_string().split(" at line ").next().unwrap_or_default()
                ),
            })?,
        }
    } else {
        yaml::read(text)?
    };
    if root.get("swagger").is_some() {
        return no(
            "The document is of Swagger 2.0; OpenAPI 3.0 and 3.1 are read. Convert it first, for \
             example with swagger2openapi.",
        );
    }
    let version = match root.get("openapi") {
        Some(Value::String(version)) => version.clone(),
        // `openapi: 3.1` without quotes is a number in YAML.
        Some(Value::Number(version)) => version.to_string(),
        _ => return no("The document is no OpenAPI document: it has no member openapi."),
    };
    if !version.starts_with("3.") {
        return no(&format!("The document is of OpenAPI {version}; 3.0 and 3.1 are read."));
    }
    if !root.get("paths").is_none_or(Value::is_object) {
        return Err(Unreadable { at: Some("paths".into()), why: "must be an object".into() });
    }
    Ok(Document { root, is_old: version.starts_with("3.0") })
}

fn servers(value: Option<&Value>) -> Vec<Server> {
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |of: &Map<String, Value>, name: &str| {
        of.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    all.iter()
        .filter_map(Value::as_object)
        .filter_map(|server| {
            let variables = Document::named(server, "variables")
                .filter_map(|(name, variable)| {
                    let variable = variable.as_object()?;
                    let one_of = variable.get("enum").and_then(Value::as_array);
                    let one_of = one_of.map(Vec::as_slice).unwrap_or_default();
                    Some(Variable {
                        name: name.clone(),
                        default: variable.get("default").map(scalar)?,
                        one_of: one_of.iter().map(scalar).collect(),
                    })
                })
                .collect();
            Some(Server {
                url: text(server, "url")?,
                description: text(server, "description").map(|text| cut(&text, 400)),
                variables,
            })
        })
        .take(20)
        .collect()
}

/// A scalar as text: YAML makes a number of `8443`.
fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn credentials(document: &Document, left_out: &mut Vec<LeftOut>) -> Vec<Credential> {
    let schemes = document.root.pointer("/components/securitySchemes").and_then(Value::as_object);
    let mut credentials = Vec::new();
    for (name, scheme) in schemes.into_iter().flatten() {
        let mut leave = |why: &str| {
            left_out.push(LeftOut {
                what: format!("security scheme {name}"),
                why: why.to_owned(),
                whole: false,
            });
        };
        let Some(scheme) = document.part(scheme) else {
            leave("It is not described.");
            continue;
        };
        let text = |keyword: &str| scheme.get(keyword).and_then(Value::as_str).unwrap_or_default();
        let bearer = || Place::Header { name: "authorization".into(), before: "Bearer ".into() };
        let (place, kind) = match (text("type"), text("in"), text("name")) {
            ("apiKey", "header", own) if is_token(own) => {
                let name = own.to_ascii_lowercase();
                (Place::Header { name, before: String::new() }, "An API key".to_owned())
            }
            ("apiKey", "query", own) if !own.is_empty() => {
                (Place::Query { name: own.to_owned() }, "An API key".to_owned())
            }
            ("apiKey", "cookie", own) if is_token(own) => {
                (Place::Cookie { name: own.to_owned() }, "A session's cookie".to_owned())
            }
            ("http", _, _) => match text("scheme").to_ascii_lowercase().as_str() {
                "bearer" => (bearer(), format!("A bearer token {}", text("bearerFormat"))),
                "basic" => (Place::Basic, "User and password, as user:password".to_owned()),
                other if is_token(other) => {
                    let before = format!("{} ", text("scheme"));
                    let place = Place::Header { name: "authorization".into(), before };
                    (place, format!("Credentials of the scheme {other}"))
                }
                _ => {
                    leave("It names no scheme of HTTP.");
                    continue;
                }
            },
            ("oauth2", _, _) => {
                (bearer(), format!("An access token of OAuth 2.0{}", flows(scheme)))
            }
            ("openIdConnect", _, _) => {
                let from = text("openIdConnectUrl");
                (bearer(), format!("An access token of OpenID Connect, from {from}"))
            }
            ("mutualTLS", _, _) => {
                leave("Client certificates are shown by bindings of the platform, not by secrets.");
                continue;
            }
            (other, _, _) => {
                leave(&format!("The type {other:?} is not known, or says not where it goes."));
                continue;
            }
        };
        let said = text("description");
        let kind = kind.trim();
        let description = if said.is_empty() { kind.into() } else { format!("{kind}. {said}") };
        let description = cut(&description, 1_000);
        credentials.push(Credential { scheme: name.clone(), place, description });
    }
    credentials
}

/// Where a token of OAuth comes from, and for what.
fn flows(scheme: &Map<String, Value>) -> String {
    let mut told = String::new();
    for (_, flow) in Document::named(scheme, "flows") {
        let url = |name: &str| flow.get(name).and_then(Value::as_str);
        if let Some(from) = url("tokenUrl").or_else(|| url("authorizationUrl")) {
            told = format!(", from {from}");
        }
        let scopes = flow.get("scopes").and_then(Value::as_object);
        let scopes: Vec<&str> =
            scopes.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        if !scopes.is_empty() {
            told = format!("{told}, for {}", scopes.join(" "));
        }
    }
    told
}

/// Whether a text can be the name of a header.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| {
            c.is_ascii_alphanumeric()
                || matches!(
                    c,
                    '!' | '#'
                        | '$'
                        | '%'
                        | '&'
                        | '\''
                        | '*'
                        | '+'
                        | '-'
                        | '.'
                        | '^'
                        | '_'
                        | '`'
                        | '|'
                        | '~'
                )
        })
}
