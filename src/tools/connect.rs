//! Connecting sources: what one has is read, named and kept; a source that is down is told as such, and
//! keeps the tools that it had.

use super::import::{Imported, LeftOut, Listed};
use super::naming::{self, Upstream};
use super::source::{Brought, Connected, Later, Reach, Settings, Source as _};
use super::{compensation, find, ranking};
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::store::db::{Db, Statement};
use crate::store::sources::{self as table, Place, Row};
use crate::store::turns;
use futures_util::future::{FutureExt as _, join_all};
use futures_util::{pin_mut, select_biased};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How long reading all that a source has may take.
const IMPORT_MS: u64 = 60_000;

/// Sources that one schedule reads again, all at once.
const REFRESHED_AT_ONCE: u64 = 8;

/// Bytes of JSON of one statement: well below what a value may have.
const CHUNK_BYTES: usize = 500_000;

/// Bytes of one tool at most: its schemas, mostly.
const TOOL_BYTES: usize = 262_144;

/// Tools of one source at most.
const MAX_TOOLS: usize = 20_000;

/// Entries of what was left out that are kept; their number is told.
const LEFT_OUT: usize = 500;

/// Bytes of a description of a tool.
const DESCRIPTION_BYTES: usize = 16_384;

/// Tools that a dry run shows.
const SHOWN: usize = 500;

/// Sources of one principal at most.
const MAX_SOURCES: usize = 100;

/// Bytes of a page of the list that a description takes, in an answer of one source's API.
const ANSWER_BYTES: u64 = 16_777_216;

/// What connecting needs.
#[derive(Debug, Clone)]
pub struct Hands {
    /// The bindings.
    pub env: worker::Env,
    /// The database.
    pub db: Rc<Db>,
    /// The configuration.
    pub config: Rc<Config>,
    /// What goes on afterwards.
    pub later: Later,
}

/// What was read of a source, with its names.
struct Read {
    brought: Brought,
    paths: Vec<String>,
}

impl Hands {
    fn reach(&self, principal: &str, name: &str, settings: Rc<Settings>) -> Reach {
        Reach {
            env: self.env.clone(),
            db: Rc::clone(&self.db),
            config: Rc::clone(&self.config),
            principal: principal.into(),
            source: name.into(),
            settings,
            later: self.later.clone(),
            label: name.into(),
            answer_bytes: ANSWER_BYTES,
        }
    }

    async fn read(
        &self,
        principal: &str,
        name: &str,
        settings: &Rc<Settings>,
        facts: &Value,
    ) -> Result<Read, Fault> {
        let reach = self.reach(principal, name, Rc::clone(settings));
        let source = Connected::of(settings, facts);
        let imported = source.import(&reach).fuse();
        let late = sleep_ms(IMPORT_MS).fuse();
        pin_mut!(imported, late);
        let mut brought = select_biased! {
            brought = imported => brought?,
            () = late => return Err(reach.failed("reading its tools took over a minute")),
        };
        bound(&mut brought.imported);
        let earlier: BTreeMap<String, String> = table::paths(&self.db, principal, name)
            .await?
            .into_iter()
            .map(|named| (named.key, named.path))
            .collect();
        let upstream: Vec<Upstream<'_>> =
            brought.imported.tools.iter().map(Upstream::from).collect();
        let paths = naming::assign(name, &upstream, &earlier);
        Ok(Read { brought, paths })
    }

    /// Connects a source, or puts its settings anew. A source that cannot be read is kept all the same,
    /// as down, and looked at again.
    ///
    /// # Errors
    ///
    /// Bad settings, a source too many; the database.
    pub async fn put(
        &self,
        principal: &str,
        name: &str,
        settings: Settings,
    ) -> Result<Value, Fault> {
        self.check(name, &settings)?;
        let known = table::names(&self.db, principal).await?;
        if !known.iter().any(|known| known == name) && known.len() >= MAX_SOURCES {
            let most = u64::try_from(MAX_SOURCES).unwrap_or(u64::MAX);
            return Err(Fault::limit("sources", "The number of sources", None, most, "sources"));
        }
        let stored = Settings { document: None, ..settings.clone() };
        let text = text_of(&stored)?;
        let settings = Rc::new(settings);
        let kind = settings.kind.as_str();
        let generation = table::begin(&self.db, principal, name, kind, &text, now_ms()).await?;
        let place = Place { principal, name, generation };
        let read = self.read(principal, name, &settings, &Value::Null).await;
        let unfit = read.as_ref().ok().and_then(|read| unfit(name, &settings, read).err());
        let refused = unfit.is_some() || settings.url.is_none();
        match unfit.map_or(read, Err) {
            Ok(read) => self.keep(place, &settings, &text, read, true).await?,
            // What is wrong with an upload, or with what is said of its tools, is the caller's to know:
            // looking again would not help.
            Err(fault) if refused => {
                if known.iter().all(|known| known != name) {
                    table::delete(&self.db, principal, name).await?;
                }
                return Err(fault);
            }
            Err(fault) if is_of_store(&fault) => return Err(fault),
            Err(fault) => {
                let failed = table::Failed {
                    fault: &fault.to_json().to_string(),
                    settings: Some((kind, &text)),
                    refresh_at: now_ms().saturating_add(again_ms(0)),
                    now: now_ms(),
                };
                table::down(&self.db, principal, name, &failed).await?;
            }
        }
        self.get(principal, name).await
    }

    fn check(&self, name: &str, settings: &Settings) -> Result<(), Fault> {
        naming::check_source(name).map_err(|what| Fault::invalid("name", what))?;
        compensation::check_of_source(name, &settings.compensations, None)?;
        settings.check(&self.config)
    }

    /// What connecting a source would come to. Nothing is kept.
    ///
    /// # Errors
    ///
    /// Bad settings, a source that cannot be read; the database.
    pub async fn try_out(
        &self,
        principal: &str,
        name: &str,
        settings: Settings,
    ) -> Result<Value, Fault> {
        self.check(name, &settings)?;
        let kind = settings.kind.as_str();
        let settings = Rc::new(settings);
        let read = self.read(principal, name, &settings, &Value::Null).await?;
        unfit(name, &settings, &read)?;
        let imported = &read.brought.imported;
        let tools: Vec<Value> = imported
            .tools
            .iter()
            .zip(&read.paths)
            .take(SHOWN)
            .map(|(tool, path)| {
                json!({
                    "path": path,
                    "key": tool.key,
                    "description": beginning(&tool.description, 200),
                    "hints": tool.hints,
                })
            })
            .collect();
        Ok(json!({
            "name": name,
            "kind": kind,
            "dryRun": true,
            "toolCount": imported.tools.len(),
            "tools": tools,
            "leftOut": shown_left_out(&imported.left_out),
            "leftOutCount": imported.left_out.len(),
            "servers": imported.servers,
            "credentials": imported.credentials,
            "facts": facts_of(&read.brought),
        }))
    }

    /// Reads a source again.
    ///
    /// # Errors
    ///
    /// No such source; the database. One that cannot be read is told as down.
    pub async fn refresh(&self, principal: &str, name: &str) -> Result<Value, Fault> {
        let row = self.row(principal, name).await?;
        self.refresh_row(&row).await?;
        self.get(principal, name).await
    }

    async fn refresh_row(&self, row: &Row) -> Result<(), Fault> {
        let (principal, name) = (row.principal.as_str(), row.name.as_str());
        let settings = Rc::new(settings_of(row)?);
        if settings.is_uploaded() {
            return Ok(());
        }
        let facts = serde_json::from_str(&row.facts).unwrap_or_default();
        let Some(generation) = table::again(&self.db, principal, name, now_ms()).await? else {
            return Ok(());
        };
        let place = Place { principal, name, generation };
        match self.read(principal, name, &settings, &facts).await {
            Ok(read) => self.keep(place, &settings, &row.settings, read, false).await,
            Err(fault) if is_of_store(&fault) => Err(fault),
            Err(fault) => {
                let now = now_ms();
                let failed = table::Failed {
                    fault: &fault.to_json().to_string(),
                    settings: None,
                    refresh_at: now.saturating_add(again_ms(row.failures)),
                    now,
                };
                Ok(table::down(&self.db, principal, name, &failed).await?)
            }
        }
    }

    /// Asks a source whether it answers. Nothing is kept, its tools stay.
    ///
    /// # Errors
    ///
    /// No such source; the database.
    pub async fn test(&self, principal: &str, name: &str) -> Result<Value, Fault> {
        let row = self.row(principal, name).await?;
        let settings = Rc::new(settings_of(&row)?);
        let began = now_ms();
        if settings.is_uploaded() {
            let note = "It was uploaded: there is nothing to ask for its tools.";
            return Ok(json!({ "name": name, "ok": true, "toolCount": row.tools, "note": note }));
        }
        let facts = serde_json::from_str(&row.facts).unwrap_or_default();
        let read = self.read(principal, name, &settings, &facts).await;
        let took = now_ms().saturating_sub(began);
        Ok(match read {
            Ok(read) => json!({
                "name": name,
                "ok": true,
                "toolCount": read.brought.imported.tools.len(),
                "facts": facts_of(&read.brought),
                "tookMs": took,
            }),
            Err(fault) if is_of_store(&fault) => return Err(fault),
            Err(fault) => {
                json!({ "name": name, "ok": false, "error": fault.to_json(), "tookMs": took })
            }
        })
    }

    /// Reads the sources again whose time has come.
    ///
    /// # Errors
    ///
    /// The database.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let now = now_ms();
        self.db.run(&turns::prune(now)).await?;
        // Should this schedule die, another looks again a while later.
        let until = now.saturating_add(IMPORT_MS.saturating_mul(3));
        let due = table::due(&self.db, now, until, REFRESHED_AT_ONCE).await?;
        let refreshed = join_all(due.iter().map(|row| self.refresh_row(row))).await;
        refreshed.into_iter().collect()
    }

    async fn keep(
        &self,
        place: Place<'_>,
        settings: &Settings,
        text: &str,
        read: Read,
        put: bool,
    ) -> Result<(), Fault> {
        let Read { brought, paths } = read;
        let [principal, source] = find::owners(place.principal, place.name);
        let owner = format!("{principal} {source}");
        let mut chunk = String::new();
        for (tool, path) in brought.imported.tools.iter().zip(&paths) {
            let row = row_of(tool, path);
            if !chunk.is_empty() && chunk.len().saturating_add(row.len()) > CHUNK_BYTES {
                self.write(place, &owner, &std::mem::take(&mut chunk)).await?;
            }
            chunk.push(if chunk.is_empty() { '[' } else { ',' });
            chunk.push_str(&row);
        }
        if !chunk.is_empty() {
            self.write(place, &owner, &chunk).await?;
        }
        let now = now_ms();
        let refresh_ms = match (settings.refresh_ms, brought.ttl_ms) {
            (None, Some(ttl)) => ttl.clamp(60_000, settings.refresh_ms()),
            _ => settings.refresh_ms(),
        };
        let left_out = json!({
            "count": brought.imported.left_out.len(),
            "list": shown_left_out(&brought.imported.left_out),
        });
        let imported = table::Imported {
            kind: settings.kind.as_str(),
            settings: text,
            facts: &facts_of(&brought).to_string(),
            left_out: &left_out.to_string(),
            tools: u64::try_from(brought.imported.tools.len()).unwrap_or(u64::MAX),
            refresh_at: now.saturating_add(refresh_ms),
            put,
            now,
        };
        // Where a later import was faster, it stands.
        table::finish(&self.db, place, &imported).await?;
        Ok(())
    }

    async fn write(&self, place: Place<'_>, owner: &str, chunk: &str) -> Result<(), Fault> {
        let statements: [Statement; 3] = table::write(place, owner, &format!("{chunk}]"));
        self.db.batch(&statements).await?;
        Ok(())
    }

    /// A source, as it is shown.
    ///
    /// # Errors
    ///
    /// No such source; the database.
    pub async fn get(&self, principal: &str, name: &str) -> Result<Value, Fault> {
        let row = self.row(principal, name).await?;
        let left_out: Value = serde_json::from_str(&row.left_out).unwrap_or_default();
        let mut shown = brief(&row);
        if let Some(shown) = shown.as_object_mut() {
            let part = |name: &str| left_out.get(name).cloned();
            shown.insert("leftOut".to_owned(), part("list").unwrap_or_else(|| json!([])));
            shown.insert("leftOutCount".to_owned(), part("count").unwrap_or_else(|| json!(0)));
            let settings = serde_json::from_str::<Value>(&row.settings).unwrap_or_default();
            shown.insert("settings".to_owned(), settings);
        }
        Ok(shown)
    }

    /// All sources of a principal.
    ///
    /// # Errors
    ///
    /// The database.
    pub async fn list(&self, principal: &str) -> Result<Value, Fault> {
        let rows = table::list(&self.db, principal).await?;
        let sources: Vec<Value> = rows.iter().map(brief).collect();
        Ok(json!({ "sources": sources, "services": self.config.services }))
    }

    async fn row(&self, principal: &str, name: &str) -> Result<Row, Fault> {
        let found = table::find(&self.db, principal, name).await?;
        found.ok_or_else(|| not_found(name))
    }
}

/// No source has the name.
#[must_use]
pub fn not_found(name: &str) -> Fault {
    let shown: String = name.chars().take(64).collect();
    Fault::new(Code::SourceNotFound, format!("There is no source {shown}.")).with("source", shown)
}

/// The settings of a row.
///
/// # Errors
///
/// When they cannot be read.
pub fn settings_of(row: &Row) -> Result<Settings, Fault> {
    serde_json::from_str(&row.settings)
        .map_err(|error| Fault::internal("settings", format!("{}: {error}", row.name)))
}

fn text_of(settings: &Settings) -> Result<String, Fault> {
    serde_json::to_string(settings).map_err(|error| Fault::invalid("settings", error))
}

/// Refuses compensations that name no tool that the source has.
fn unfit(name: &str, settings: &Settings, read: &Read) -> Result<(), Fault> {
    compensation::check_of_source(name, &settings.compensations, Some(&read.paths))
}

/// The database's faults are not the source's.
fn is_of_store(fault: &Fault) -> bool {
    matches!(fault.code, Code::StorageUnavailable | Code::Internal)
}

/// How long a source that is down is left alone: a minute, then twice as long each time, six hours at
/// most.
fn again_ms(failures: u64) -> u64 {
    let doubled = 2_u64.saturating_pow(u32::try_from(failures.min(16)).unwrap_or(16));
    doubled.saturating_mul(60_000).min(21_600_000)
}

/// Leaves out what is too much.
fn bound(imported: &mut Imported) {
    let mut left_out = Vec::new();
    let mut kept = 0_usize;
    imported.tools.retain(|tool| {
        let bytes = bytes_of(tool);
        let why = if kept >= MAX_TOOLS {
            format!("a source may have {MAX_TOOLS} tools")
        } else if bytes > TOOL_BYTES {
            format!("its schemas are {bytes} bytes; {TOOL_BYTES} at most")
        } else {
            kept = kept.saturating_add(1);
            return true;
        };
        left_out.push(LeftOut { what: tool.key.clone(), why, whole: true });
        false
    });
    imported.left_out.extend(left_out);
}

fn bytes_of(tool: &Listed) -> usize {
    let result = tool.result.as_ref().map_or(0, |result| result.get().len());
    tool.parameters.get().len().saturating_add(result)
}

/// A tool as a row of the table, JSON. Schemas are put in as they are.
fn row_of(tool: &Listed, path: &str) -> String {
    let group = tool.group.as_deref().unwrap_or_default();
    let words = ranking::indexed(&format!("{group} {} {path}", tool.name));
    let head = json!({
        "path": path,
        "key": tool.key,
        "description": beginning(&tool.description, DESCRIPTION_BYTES),
        "hints": tool.hints,
        "plan": tool.plan,
        "words": words,
    })
    .to_string();
    let head = head.strip_suffix('}').unwrap_or_default();
    let result = tool.result.as_ref().map_or("null", |result| result.get());
    format!("{head},\"parameters\":{},\"result\":{result}}}", tool.parameters.get())
}

fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

fn shown_left_out(left_out: &[LeftOut]) -> Vec<&LeftOut> {
    left_out.iter().take(LEFT_OUT).collect()
}

fn facts_of(brought: &Brought) -> Value {
    let mut facts = match &brought.facts {
        Value::Object(facts) => facts.clone(),
        _ => serde_json::Map::new(),
    };
    let imported = &brought.imported;
    facts.insert("title".to_owned(), json!(imported.title));
    let description = imported.description.as_deref().map(|text| beginning(text, 2_000));
    facts.insert("description".to_owned(), json!(description));
    Value::Object(facts)
}

fn brief(row: &Row) -> Value {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    json!({
        "name": row.name,
        "kind": row.kind,
        "state": row.state,
        "error": row.fault.as_deref().map(json),
        "toolCount": row.tools,
        "facts": json(&row.facts),
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
        "refreshedAt": row.refreshed_at,
        "refreshAt": row.refresh_at,
    })
}

#[cfg(test)]
mod tests {
    //! What is too much is left out and told; what is kept is kept as it is.

    use super::*;
    use crate::tools::import::{Hints, Plan};
    use serde_json::value::RawValue;

    fn tool(key: &str, parameters: &str) -> Listed {
        Listed {
            key: key.to_owned(),
            group: Some("repos".to_owned()),
            name: key.to_owned(),
            description: "é".repeat(10),
            parameters: RawValue::from_string(parameters.to_owned()).unwrap(),
            result: None,
            hints: Hints::default(),
            plan: Plan::Mcp { tool: key.to_owned() },
        }
    }

    #[test]
    fn a_tool_that_is_too_large_is_left_out_and_told() {
        let large = format!("{{\"description\":\"{}\"}}", "x".repeat(TOOL_BYTES));
        let mut imported =
            Imported { tools: vec![tool("a", "{}"), tool("b", &large)], ..Imported::default() };
        bound(&mut imported);
        assert_eq!(imported.tools.len(), 1);
        assert_eq!(imported.left_out[0].what, "b");
    }

    #[test]
    fn a_row_keeps_schemas_as_they_are() {
        let row = row_of(&tool("listForOrg", r#"{"b":1.0,"a":2}"#), "gh.repos.listForOrg");
        assert!(row.ends_with(r#","parameters":{"b":1.0,"a":2},"result":null}"#), "{row}");
        let read: Value = serde_json::from_str(&row).unwrap();
        assert_eq!(read["words"], "repos list for org gh repos list for org");
        assert_eq!(read["plan"], json!({ "kind": "mcp", "tool": "listForOrg" }));
    }

    #[test]
    fn a_source_that_is_down_is_left_alone_longer_each_time() {
        assert_eq!(again_ms(0), 60_000);
        assert_eq!(again_ms(3), 480_000);
        assert_eq!(again_ms(50), 21_600_000);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(beginning("éé", 3), "é");
        assert_eq!(beginning("ab", 5), "ab");
    }
}
