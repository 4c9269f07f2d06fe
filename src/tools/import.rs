//! What an import makes of a description of tools, whatever kind of source it is of: the tools, how
//! each is called, and what could not be taken over.
//!
//! All of it is data: it is stored as JSON and read back in another request. Nothing here calls
//! anything. Schemas are text, not trees: the thousand tools of a large document would not fit in
//! memory as trees.

use super::exchange::Place;
use super::{graphql, openapi};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use url::Url;

/// A description, read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// What the service calls itself.
    pub title: Option<String>,
    /// What it says of itself.
    pub description: Option<String>,
    /// Where it says that it is reached, the first one first; empty where it does not say.
    pub servers: Vec<Server>,
    /// What it wants to be shown, each to be bound to a secret.
    pub credentials: Vec<Credential>,
    /// Its tools, in its own order. No two have one key.
    pub tools: Vec<Listed>,
    /// What is not among the tools, or not as it was described.
    pub left_out: Vec<LeftOut>,
}

/// A tool of a source, before it has a path of ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// What the source knows it by; unique in the source, and the same at the next refresh.
    pub key: String,
    /// What it stands under at the source, if it stands under something: a tag, `query`.
    pub group: Option<String>,
    /// The name from which its path is made.
    pub name: String,
    /// What it does; empty where the source does not say.
    pub description: String,
    /// JSON Schema 2020-12 of the one argument: always one of an object, complete in itself.
    pub parameters: Box<RawValue>,
    /// JSON Schema 2020-12 of the result in plain form, complete in itself; `None` where nothing is
    /// known.
    pub result: Option<Box<RawValue>>,
    /// What its source says that a call does.
    #[serde(default)]
    pub hints: Hints,
    /// How it is called.
    pub plan: Plan,
}

/// What a source says that a call does. `None` where it says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hints {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

/// How a tool is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Plan {
    /// By a request that `openapi` makes.
    Openapi(Box<openapi::Plan>),
    /// By a request that `graphql` makes.
    Graphql(Box<graphql::Plan>),
    /// By `tools/call` of an MCP server.
    Mcp {
        /// The tool's name there.
        tool: String,
    },
    /// By a method of another Worker.
    Service {
        /// The method's name there.
        method: String,
    },
}

/// Where a service is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// Its URL. `{name}` stands for a variable; may be relative to the description's own URL.
    pub url: String,
    /// What it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The variables of the URL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
}

impl Server {
    /// The URL with its variables put in, made whole from where the description came from.
    ///
    /// # Errors
    ///
    /// Which variable may not have its value, or what is no URL of HTTP.
    pub fn url(
        &self,
        chosen: &BTreeMap<String, String>,
        description: Option<&Url>,
    ) -> Result<Url, String> {
        let mut text = self.url.clone();
        for Variable { name, default, one_of } in &self.variables {
            let value = chosen.get(name).unwrap_or(default);
            if !one_of.is_empty() && !one_of.contains(value) {
                return Err(format!("{name} must be one of {}, not {value}", one_of.join(", ")));
            }
            text = text.replace(&format!("{{{name}}}"), value);
        }
        let url = match description {
            Some(base) => base.join(&text),
            None => Url::parse(&text),
        };
        let url = url.map_err(|error| format!("{text} is no URL ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") || text.contains('{') {
            return Err(format!("{text} is no URL of http or https"));
        }
        Ok(url)
    }
}

/// A variable of a server's URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value where nobody chose one.
    pub default: String,
    /// The values it may have; any where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<String>,
}

/// What a service wants to be shown by whoever calls: to be bound to a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// What the description calls it.
    pub scheme: String,
    /// Where in a request it goes.
    pub place: Place,
    /// What it is, for whoever has to get one.
    pub description: String,
}

/// What is not among the tools, or not as it was described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// What: `POST /pets`, `POST /pets, body`, `type Picture`.
    pub what: String,
    /// Why, as a sentence.
    pub why: String,
    /// Whether a tool is missing; otherwise it is there and less is known of it.
    pub whole: bool,
}

/// A description that is none, or one that cannot be taken in at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where, where one place is to blame: `line 3, column 7`, `paths./pets.get`.
    pub at: Option<String>,
    /// Why, as words that follow the place.
    pub why: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Unreadable {}

#[cfg(test)]
mod tests {
    //! Where a service is reached.

    use super::*;

    #[test]
    fn a_servers_url_is_made_whole() {
        let server = |url: &str| Server {
            url: url.into(),
            description: None,
            variables: vec![Variable {
                name: "region".into(),
                default: "eu".into(),
                one_of: vec!["eu".into(), "us".into()],
            }],
        };
        let from = Url::parse("https://example.com/docs/openapi.json").unwrap();
        let us = BTreeMap::from([("region".to_owned(), "us".to_owned())]);
        let told = |url: &str, chosen: &BTreeMap<String, String>| {
            server(url).url(chosen, Some(&from)).map(String::from)
        };
        assert_eq!(
            told("https://{region}.x.io/v1", &BTreeMap::new()),
            Ok("https://eu.x.io/v1".into())
        );
        assert_eq!(told("https://{region}.x.io", &us), Ok("https://us.x.io/".into()));
        assert_eq!(told("/v1", &us), Ok("https://example.com/v1".into()));
        assert_eq!(told("v1", &us), Ok("https://example.com/docs/v1".into()));
        let other = BTreeMap::from([("region".to_owned(), "mars".to_owned())]);
        assert_eq!(
            told("https://{region}.x.io", &other),
            Err("region must be one of eu, us, not mars".into()),
        );
        assert!(told("ftp://x.io", &us).is_err());
        assert!(told("https://x.io/{unknown}", &us).is_err());
        assert!(server("/v1").url(&us, None).is_err());
    }
}
