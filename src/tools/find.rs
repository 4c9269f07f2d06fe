//! Finding tools: `search` and `describe`, for programs, MCP clients and HTTP alike. The database selects
//! some 200 by their words, [`super::ranking`] ranks them; the catalogue is never loaded whole.

use super::calls::declared;
use super::import::Hints;
use super::policy::{Action, Declared, Policy};
use super::ranking::{self, Candidate};
use super::{BUILT_IN, not_found_but, typescript, unfit};
use crate::error::Fault;
use crate::store::db::Db;
use crate::store::policies;
use crate::store::sources::{self as table, Brief};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The dispatches.
pub const SEARCH: &str = "search";
/// As [`SEARCH`].
pub const DESCRIBE: &str = "describe";

/// Tools that the database selects for one query.
const SELECTED: u64 = 200;

/// Tools of one page at most, and without a limit.
pub const MAX_PAGE: u64 = 50;
const PAGE: u64 = 10;

/// Characters of a query.
const QUERY_CHARS: usize = 500;

/// Bytes of a description in a list.
const DESCRIPTION_BYTES: usize = 240;

/// Letters by which tools are looked for when a path is misspelt.
const LETTERS: usize = 3;

/// Bytes of a declaration in TypeScript: some 4,000 tokens of a model.
const TYPESCRIPT_BYTES: usize = 16_384;

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// In words; without any, all tools are listed in order.
    #[serde(default)]
    pub query: String,
    /// Only tools of this source.
    pub source: Option<String>,
    /// Tools of one page.
    pub limit: Option<u64>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// A built-in tool, as its file describes it.
#[derive(Debug, Deserialize)]
struct BuiltIn {
    path: String,
    description: String,
    reads: bool,
    parameters: Box<RawValue>,
    result: Box<RawValue>,
}

fn built_in() -> Vec<BuiltIn> {
    // The file is ours and a test reads it.
    serde_json::from_str(include_str!("built_in.json")).unwrap_or_default()
}

/// The words of the index that stand for whose a tool is: the principal's, and the source's.
#[must_use]
pub fn owners(principal: &str, source: &str) -> [String; 2] {
    let word = |letter: char, text: &str| {
        let hash = crate::hex::encode(&Sha256::digest(text.as_bytes()));
        // The last letter keeps the stemmer from taking the end for one of a word.
        format!("{letter}{}x", hash.chars().take(24).collect::<String>())
    };
    [word('p', principal), word('s', &format!("{principal}\n{source}"))]
}

/// The query of FTS5 for `expression` among the tools of a principal, or of one of its sources.
fn of_owner(principal: &str, source: Option<&str>, expression: &str) -> String {
    let [of_principal, of_source] = owners(principal, source.unwrap_or_default());
    let owner = if source.is_some() { of_source } else { of_principal };
    format!("owner : \"{owner}\" AND {{path words description}} : ({expression})")
}

fn candidates(tools: &[Brief]) -> Vec<Candidate<'_>> {
    tools
        .iter()
        .map(|tool| Candidate { path: &tool.path, name: &tool.key, description: &tool.description })
        .collect()
}

/// A list of tools that fit, the best first: `{tools, cursor?}`, plain JSON.
///
/// # Errors
///
/// A bad page; the database.
pub async fn search(db: &Db, principal: &str, search: &Search) -> Result<String, Fault> {
    let limit = search.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(unfit(SEARCH, format!("limit must be from 1 to {MAX_PAGE}")));
    }
    if search.query.chars().count() > QUERY_CHARS {
        return Err(unfit(SEARCH, format!("query may have {QUERY_CHARS} characters at most")));
    }
    let policy = policies::of(db, principal).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (found, cursor) = if search.query.trim().is_empty() {
        listed(db, principal, &policy, search, limit).await?
    } else {
        ranked(db, principal, &policy, search, limit).await?
    };
    let tools: Vec<Value> = found.iter().map(|tool| shown(tool, &policy)).collect();
    Ok(match cursor {
        Some(cursor) => json!({ "tools": tools, "cursor": cursor }),
        None => json!({ "tools": tools }),
    }
    .to_string())
}

async fn ranked(
    db: &Db,
    principal: &str,
    policy: &Policy,
    search: &Search,
    limit: usize,
) -> Result<(Vec<Brief>, Option<String>), Fault> {
    let source = search.source.as_deref();
    let from = match &search.cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("rank-")
            .and_then(|place| place.parse::<usize>().ok())
            .ok_or_else(|| unfit(SEARCH, "cursor is none of this search"))?,
    };
    let mut found = match ranking::match_expression(&search.query) {
        Some(expression) => {
            let query = of_owner(principal, source, &expression);
            table::search(db, principal, &query, SELECTED).await?
        }
        None => Vec::new(),
    };
    if source.is_none() {
        found.extend(built_in().into_iter().map(Brief::from));
    }
    found.retain(|tool| !policy.hides(&tool.path));
    let order = ranking::rank(&search.query, &candidates(&found));
    let more = order.len() > from.saturating_add(limit);
    let page = order.into_iter().skip(from).take(limit);
    let page = page.filter_map(|place| found.get(place).cloned()).collect();
    let cursor = more.then(|| format!("rank-{}", from.saturating_add(limit)));
    Ok((page, cursor))
}

async fn listed(
    db: &Db,
    principal: &str,
    policy: &Policy,
    search: &Search,
    limit: usize,
) -> Result<(Vec<Brief>, Option<String>), Fault> {
    let source = search.source.as_deref();
    let mut after = search.cursor.clone().unwrap_or_default();
    let mut found: Vec<Brief> = Vec::new();
    if source.is_none() && after.is_empty() {
        found.extend(built_in().into_iter().map(Brief::from));
        found.retain(|tool| !policy.hides(&tool.path));
        // The built-in ones are few and stand on the first page.
    }
    let room = limit.saturating_add(found.len());
    // Pages in which the policy hides everything are passed over, so many at most.
    for _ in 0..20 {
        let page = table::page(db, principal, source, &after, SELECTED).await?;
        let last = page.len() < usize::try_from(SELECTED).unwrap_or(usize::MAX);
        if let Some(tool) = page.last() {
            after.clone_from(&tool.path);
        }
        found.extend(page.into_iter().filter(|tool| !policy.hides(&tool.path)));
        if found.len() > room {
            found.truncate(room);
            let cursor = found.last().map(|tool| tool.path.clone());
            return Ok((found, cursor));
        }
        if last {
            return Ok((found, None));
        }
    }
    Ok((found, Some(after)))
}

impl From<BuiltIn> for Brief {
    fn from(tool: BuiltIn) -> Self {
        Self {
            key: tool.path.clone(),
            path: tool.path,
            source: String::new(),
            description: tool.description,
            hints: json!({ "reads": tool.reads }).to_string(),
        }
    }
}

fn shown(tool: &Brief, policy: &Policy) -> Value {
    let hints: Hints = serde_json::from_str(&tool.hints).unwrap_or_default();
    let declares = declared(hints);
    let mut end = tool.description.len().min(DESCRIPTION_BYTES);
    while !tool.description.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let text = tool.description.get(..end).unwrap_or_default();
    let dots = if end < tool.description.len() { "…" } else { "" };
    json!({
        "path": tool.path,
        "description": format!("{text}{dots}"),
        "effect": effect(declares),
        "asks": asks(policy, &tool.path, declares),
    })
}

/// What a call does, in one word.
fn effect(declares: Declared) -> &'static str {
    match declares {
        Declared::ReadOnly => "reads",
        Declared::Unknown => "changes",
        Declared::Destructive => "destroys",
    }
}

/// Whether a person is asked before a call.
fn asks(policy: &Policy, path: &str, declares: Declared) -> &'static str {
    match policy.outlook(path, declares) {
        (Action::Allow, Action::Allow) => "never",
        (Action::Allow, _) => "maybe",
        // A call that is blocked whatever its arguments is not listed.
        (Action::Ask | Action::Block, _) => "always",
    }
}

/// How a tool is called, as plain JSON.
///
/// # Errors
///
/// No such tool; the three nearest are named. The database.
pub async fn describe(db: &Db, principal: &str, path: &str) -> Result<String, Fault> {
    let policy = policies::of(db, principal).await?;
    let built = built_in().into_iter().find(|tool| tool.path == path);
    let found = match built {
        Some(tool) => Some(table::Tool {
            source: String::new(),
            description: tool.description,
            parameters: tool.parameters.get().to_owned(),
            result: Some(tool.result.get().to_owned()),
            hints: json!({ "reads": tool.reads }).to_string(),
            plan: String::new(),
            path: tool.path,
        }),
        None => table::tool(db, principal, path).await?,
    };
    let Some(tool) = found.filter(|tool| !policy.hides(&tool.path)) else {
        return Err(not_found_but(path, nearest(db, principal, &policy, path).await?));
    };
    let hints: Hints = serde_json::from_str(&tool.hints).unwrap_or_default();
    let declares = declared(hints);
    let mut described = json!({
        "path": tool.path,
        "description": tool.description,
        "effect": effect(declares),
        "asks": asks(&policy, path, declares),
        "typescript": declaration(&tool),
    });
    if let Some(members) = described.as_object_mut()
        && !tool.source.is_empty()
    {
        members.insert("source".to_owned(), json!(tool.source));
    }
    Ok(described.to_string())
}

/// The argument and the result as TypeScript.
fn declaration(tool: &table::Tool) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let result = tool.result.as_deref().map(read);
    let (path, parameters) = (&tool.path, read(&tool.parameters));
    typescript::declaration(path, "", &parameters, result.as_ref(), TYPESCRIPT_BYTES)
}

/// At most three paths that may be meant by one that no tool has, the likeliest first.
///
/// # Errors
///
/// The database.
pub async fn nearest(
    db: &Db,
    principal: &str,
    policy: &Policy,
    path: &str,
) -> Result<Vec<String>, Fault> {
    let stems: Vec<String> = ranking::words(path)
        .iter()
        .map(|word| format!("\"{}\"*", word.chars().take(LETTERS).collect::<String>()))
        .collect();
    let mut found = if stems.is_empty() {
        Vec::new()
    } else {
        let query = of_owner(principal, None, &stems.join(" OR "));
        table::search(db, principal, &query, SELECTED).await?
    };
    // A slip within the first letters: the neighbours in the order of paths.
    let group = path.rsplit_once('.').map_or(path, |(group, _)| group);
    found.extend(table::page(db, principal, None, group, SELECTED / 2).await?);
    found.extend(built_in().into_iter().map(Brief::from));
    found.retain(|tool| !policy.hides(&tool.path));
    let near = ranking::nearest(path, &candidates(&found), 3);
    Ok(near.into_iter().map(str::to_owned).collect())
}

/// What a path's tool declares; built-in ones included.
///
/// # Errors
///
/// The database.
pub async fn declares(db: &Db, principal: &str, path: &str) -> Result<Declared, Fault> {
    if BUILT_IN.iter().any(|(name, _)| *name == path) {
        return Ok(super::declared(path));
    }
    let tool = table::tool(db, principal, path).await?;
    let hints = tool.map(|tool| serde_json::from_str::<Hints>(&tool.hints).unwrap_or_default());
    Ok(hints.map_or(Declared::Unknown, declared))
}

#[cfg(test)]
mod tests {
    //! Every built-in tool is described, and what is described is built in.

    use super::*;
    use crate::tools::schema;

    #[test]
    fn every_built_in_tool_is_described_as_it_is() {
        let described = built_in();
        for (path, reads) in BUILT_IN {
            let tool = described.iter().find(|tool| tool.path == *path);
            let tool = tool.unwrap_or_else(|| panic!("{path} is not described"));
            assert_eq!(tool.reads, *reads, "{path}");
            for text in [&tool.parameters, &tool.result] {
                let value: Value = serde_json::from_str(text.get()).unwrap();
                assert_eq!(schema::check(&value, path), Ok(()), "{path}");
            }
        }
        assert!(described.iter().all(|tool| BUILT_IN.iter().any(|(path, _)| *path == tool.path)));
    }

    #[test]
    fn the_outlook_is_told_in_one_word() {
        let tool = Brief {
            path: "a.b".to_owned(),
            key: "b".to_owned(),
            source: "a".to_owned(),
            description: "é".repeat(200),
            hints: r#"{"destructive":true}"#.to_owned(),
        };
        let shown = shown(&tool, &Policy::default());
        assert_eq!(shown["effect"], "destroys");
        assert_eq!(shown["asks"], "always");
        assert_eq!(shown["description"], format!("{}…", "é".repeat(120)));
    }
}
