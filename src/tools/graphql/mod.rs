//! GraphQL: a schema, told by introspection, becomes tools; a tool's arguments a request; an answer
//! a value. Pure.
//!
//! - [`introspection`]: the request that asks a service for its schema.
//! - [`read`]: each field of the query and the mutation type is a tool. Its argument has the field's
//!   own arguments and, where there is something to select, `select`.
//! - [`request`]: the call of a field. Values go as variables, never into the query's text; what a
//!   program selects is read token by token and cannot leave its field.
//! - [`answer`]: the field's value. An answer with errors is an error that has the partial data.

mod answer;
mod inputs;
pub mod plan;
mod read;
mod request;
mod shapes;
mod told;

#[cfg(test)]
mod tests;

pub use answer::answer;
pub use plan::Plan;
pub use read::read;
pub use request::request;

use super::exchange::Request;
use serde_json::json;
use url::Url;

/// The query that asks for a schema.
const INTROSPECTION: &str = "query Introspection { __schema { queryType { name } mutationType { name } \
types { kind name fields { name description args { ...input } type { ...type } } \
inputFields { ...input } enumValues { name } possibleTypes { name } } } } \
fragment input on __InputValue { name description type { ...type } defaultValue } \
fragment type on __Type { kind name ofType { kind name ofType { kind name ofType { kind name \
ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }";

/// The request that asks the service at `endpoint` for its schema.
#[must_use]
pub fn introspection(endpoint: &Url) -> Request {
    post(endpoint, &json!({ "query": INTROSPECTION, "operationName": "Introspection" }).to_string())
}

fn post(endpoint: &Url, body: &str) -> Request {
    Request {
        method: "POST".into(),
        url: endpoint.to_string(),
        headers: vec![
            ("accept".into(), "application/graphql-response+json, application/json".into()),
            ("content-type".into(), "application/json".into()),
        ],
        body: Some(body.as_bytes().to_vec()),
    }
}

fn operation(mutation: bool) -> &'static str {
    if mutation { "mutation" } else { "query" }
}

/// A name of GraphQL.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A type as GraphQL writes it: a name among brackets and exclamation marks.
fn is_type(text: &str) -> bool {
    is_name(text.trim_matches(['[', ']', '!']))
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
