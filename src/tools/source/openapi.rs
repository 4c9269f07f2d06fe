//! HTTP APIs that an `OpenAPI` document describes. What the document says is [`crate::tools::openapi`]'s;
//! here it is fetched, its server and its credentials are found, and its operations are called.

use super::{Brought, Call, Listener, Reach, Settings, Source, body_of};
use crate::error::{Code, Fault};
use crate::tools::exchange::{Place, Request};
use crate::tools::gateway::Incoming;
use crate::tools::import::{Credential, Plan, Server, Unreadable};
use crate::tools::openapi::{self, Plan as Operation};
use crate::tools::{answered, unfit};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// Bytes of a document: as many as are read. GitHub's has 13 MB.
const DOCUMENT_BYTES: u64 = 16_777_216;

/// What is kept of a document beside its operations.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Facts {
    /// Where the operations are reached.
    server: Option<String>,
    /// What it wants to be shown.
    credentials: Vec<Credential>,
}

/// A described API.
#[derive(Debug)]
pub struct Openapi {
    facts: Facts,
}

impl Openapi {
    /// An API, with what its document said.
    #[must_use]
    pub fn knowing(facts: &Value) -> Self {
        Self { facts: serde_json::from_value(facts.clone()).unwrap_or_default() }
    }

    fn base(&self, reach: &Reach, operation: &Operation) -> Result<Url, Fault> {
        let settings = &reach.settings;
        let from = settings.url.as_deref().and_then(|url| Url::parse(url).ok());
        if let (None, [own, ..]) = (&settings.server, operation.servers.as_slice()) {
            return own.url(&settings.variables, from.as_ref()).map_err(|why| reach.failed(why));
        }
        let server = settings.server.as_deref().or(self.facts.server.as_deref());
        let server = server.ok_or_else(|| reach.failed(NO_SERVER))?;
        Url::parse(server).map_err(|error| reach.failed(format!("{server} is no URL ({error})")))
    }

    /// The secrets of one call: those that go everywhere, and the first set of schemes that is bound.
    fn auth(&self, reach: &Reach, operation: &Operation) -> Vec<(Place, String)> {
        let mut all = reach.auth();
        let bound = |scheme: &str| {
            let own = |auth: &&super::Auth| auth.scheme.as_deref() == Some(scheme);
            let auth = reach.settings.auth.iter().find(own)?;
            let known = self.facts.credentials.iter().find(|known| known.scheme == scheme);
            let place = match (&auth.place, &auth.name, known) {
                (None, None, Some(known)) => known.place.clone(),
                _ => auth.place(),
            };
            Some((place, auth.secret.clone()))
        };
        let set = operation.security.iter().find_map(|set| {
            set.iter().map(|scheme| bound(scheme)).collect::<Option<Vec<(Place, String)>>>()
        });
        all.extend(set.unwrap_or_default());
        all
    }
}

const NO_SERVER: &str = "the document names no server; put one as server in the settings";

/// Where the operations of a document that was read at `from` are reached.
fn server_of(
    servers: &[Server],
    settings: &Settings,
    from: Option<&Url>,
) -> Result<String, String> {
    if let Some(server) = &settings.server {
        return Ok(server.clone());
    }
    let usual = Server { url: "/".to_owned(), description: None, variables: Vec::new() };
    let first = match (servers.first(), from) {
        (None, None) => return Err(NO_SERVER.to_owned()),
        (first, _) => first.unwrap_or(&usual),
    };
    first.url(&settings.variables, from).map(String::from)
}

/// A description that cannot be read, as a fault of the source.
pub(super) fn unreadable(reach: &Reach, why: &Unreadable) -> Fault {
    Fault::new(Code::ImportFailed, format!("{}: {why}.", reach.source))
        .with("source", &*reach.source)
}

/// Gets a description or an answer.
pub(super) async fn get(reach: &Reach, url: &str) -> Result<Incoming, Fault> {
    let request = Request {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: vec![("accept".to_owned(), "application/json, application/yaml, */*".to_owned())],
        body: None,
    };
    let answer = reach.send(request, &reach.auth(), true).await?;
    if answer.status >= 300 {
        return Err(reach.status(answer.status));
    }
    Ok(answer)
}

impl Source for Openapi {
    async fn import(&self, reach: &Reach) -> Result<Brought, Fault> {
        let settings = &reach.settings;
        let (text, from) = match (&settings.document, &settings.url) {
            (Some(Value::String(text)), _) => (text.clone(), None),
            (Some(document), _) => (document.to_string(), None),
            (None, Some(url)) => {
                let mut answer = get(reach, url).await?;
                let bytes = answer.bytes(DOCUMENT_BYTES).await?;
                (String::from_utf8_lossy(&bytes).into_owned(), Some(answer.url.clone()))
            }
            (None, None) => return Err(Fault::invalid("url", "is missing")),
        };
        let imported = openapi::read(&text).map_err(|why| unreadable(reach, &why))?;
        let server = server_of(&imported.servers, settings, from.as_ref());
        let server = server.map_err(|why| {
            Fault::new(Code::ImportFailed, format!("{}: servers: {why}.", reach.source))
                .with("source", &*reach.source)
                .with_next_step("Name the server in the settings: \"server\": \"https://…\".")
        })?;
        let facts = json!({ "server": server, "credentials": imported.credentials });
        Ok(Brought { imported, facts, ttl_ms: None })
    }

    async fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        told: Listener<'_>,
    ) -> Result<String, Fault> {
        let Plan::Openapi(operation) = call.plan else {
            return Err(Fault::internal("plan", "a tool of another kind"));
        };
        let base = self.base(reach, operation)?;
        let request = openapi::request(operation, &base, call.arguments)
            .map_err(|what| unfit(call.path, what.trim_end_matches('.')))?;
        let mut answer = reach.send(request, &self.auth(reach, operation), call.repeatable).await?;
        let body = body_of(&mut answer, reach, told).await?;
        answered(call.path, openapi::answer(operation, answer.with_body(&body)))
    }
}

#[cfg(test)]
mod tests {
    //! Where an API is reached: by the settings, by the document, by where the document was.

    use super::*;

    fn settings(text: &Value) -> Settings {
        serde_json::from_value(text.clone()).unwrap()
    }

    #[test]
    fn the_server_is_found() {
        let server =
            |url: &str| Server { url: url.to_owned(), description: None, variables: Vec::new() };
        let from = Url::parse("https://api.example.com/docs/openapi.json").unwrap();
        let plain = json!({ "kind": "openapi", "url": "https://a.example" });
        let with_server = json!({ "kind": "openapi", "url": "https://a.example",
                                  "server": "https://own.example/v1" });
        let absolute = server("https://eu.example.com/v2");
        for (servers, given, from, expected) in [
            (vec![absolute.clone()], &plain, Some(&from), Some("https://eu.example.com/v2")),
            (vec![absolute], &plain, None, Some("https://eu.example.com/v2")),
            (vec![server("/v3")], &plain, Some(&from), Some("https://api.example.com/v3")),
            (vec![], &plain, Some(&from), Some("https://api.example.com/")),
            (vec![], &plain, None, None),
            (vec![server("/v3")], &plain, None, None),
            (vec![server("/v3")], &with_server, None, Some("https://own.example/v1")),
        ] {
            let found = server_of(&servers, &settings(given), from).ok();
            assert_eq!(found.as_deref(), expected, "{servers:?}");
        }
    }
}
