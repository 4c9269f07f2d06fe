//! The tables `sources`, `tools`, `tool_paths` and `tool_words`: what principals connect, and the tools that it has.

use super::db::{Db, Rows, Statement, StoreError};
use crate::{row, sql};

row! {
    /// A source's row.
    #[derive(Debug, Clone)]
    pub struct Row {
        /// Whose it is.
        pub principal: String,
        /// Its name.
        pub name: String,
        /// `mcp`, `openapi` or `graphql`.
        pub kind: String,
        /// JSON.
        pub settings: String,
        /// `ready` or `down`.
        pub state: String,
        /// JSON: why it is down.
        pub fault: Option<String>,
        /// JSON.
        pub facts: String,
        /// JSON.
        pub left_out: String,
        /// How many tools it has.
        pub tools: u64,
        /// Which rows of `tools` are its.
        pub generation: u64,
        /// Refreshes in a row that failed.
        pub failures: u64,
        /// When it was first put.
        pub created_at: u64,
        /// When its settings were put.
        pub updated_at: u64,
        /// When its tools were read last.
        pub refreshed_at: Option<u64>,
        /// When the schedule looks again.
        pub refresh_at: u64,
    }
}

row! {
    /// A tool, with what a call needs.
    #[derive(Debug, Clone)]
    pub struct Tool {
        /// Its path.
        pub path: String,
        /// Its source.
        pub source: String,
        /// What it does.
        pub description: String,
        /// JSON Schema of the argument.
        pub parameters: String,
        /// JSON Schema of the result, where it is known.
        pub result: Option<String>,
        /// JSON.
        pub hints: String,
        /// JSON.
        pub plan: String,
    }
}

row! {
    /// A tool, as a list shows it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Brief {
        /// Its path.
        pub path: String,
        /// What the upstream knows it by.
        pub key: String,
        /// Its source.
        pub source: String,
        /// The beginning of what it does.
        pub description: String,
        /// JSON.
        pub hints: String,
    }
}

row! {
    /// What is known of a source's tools from before.
    #[derive(Debug, Clone)]
    pub struct Named {
        /// What the upstream knows a tool by.
        pub key: String,
        /// Its path.
        pub path: String,
    }
}

/// Makes room for an import: the source's row, if there is none, and the generation that the import
/// writes.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn begin(
    db: &Db,
    principal: &str,
    name: &str,
    kind: &str,
    settings: &str,
    now: u64,
) -> Result<u64, StoreError> {
    row! {
        struct Given {
            last_generation: u64,
        }
    }
    // A generation of a source that was deleted and put again is none of before.
    let statement = sql!(
        "INSERT INTO sources (principal, name, kind, settings, state, facts, left_out, tools, generation,
           last_generation, failures, created_at, updated_at, refresh_at)
         VALUES (?1, ?2, ?3, ?4, 'down', '{}', '[]', 0, 0, ?5, 0, ?5, ?5, ?5)
         ON CONFLICT (principal, name) DO UPDATE
           SET last_generation = MAX(last_generation + 1, ?5)
         RETURNING last_generation",
        principal,
        name,
        kind,
        settings,
        now,
    );
    let given = db.first::<Given>(&statement).await?;
    given.map(|row| row.last_generation).ok_or_else(|| StoreError("no generation".to_owned()))
}

/// Takes a generation for a refresh of a source that is there; `None` when it is not.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn again(
    db: &Db,
    principal: &str,
    name: &str,
    now: u64,
) -> Result<Option<u64>, StoreError> {
    row! {
        struct Given {
            last_generation: u64,
        }
    }
    let statement = sql!(
        "UPDATE sources SET last_generation = MAX(last_generation + 1, ?3)
         WHERE principal = ?1 AND name = ?2 RETURNING last_generation",
        principal,
        name,
        now,
    );
    Ok(db.first::<Given>(&statement).await?.map(|row| row.last_generation))
}

/// Where an import is written.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// The source.
    pub name: &'a str,
    /// The generation.
    pub generation: u64,
}

/// Writes some tools of an import. The list is the outer side of each join (`CROSS JOIN` holds that):
/// the other way round it would be parsed again for every tool. `tools` is a JSON array of at most 1 MB, whose objects have the
/// columns, and `words`; `owner` the words of the principal and the source.
#[must_use]
pub fn write(place: Place<'_>, owner: &str, tools: &str) -> [Statement; 3] {
    [
        sql!(
            "INSERT INTO tool_paths (principal, source, key, path)
             SELECT ?1, ?2, value ->> 'key', value ->> 'path' FROM json_each(?3) WHERE true
             ON CONFLICT DO NOTHING",
            place.principal,
            place.name,
            tools,
        ),
        sql!(
            "INSERT INTO tools (principal, source, generation, path, key, description, parameters,
               result, hints, plan)
             SELECT ?1, ?2, ?3, value ->> 'path', value ->> 'key', value ->> 'description',
               value ->> 'parameters', value ->> 'result', value ->> 'hints', value ->> 'plan'
             FROM json_each(?4) WHERE true
             ON CONFLICT DO NOTHING",
            place.principal,
            place.name,
            place.generation,
            tools,
        ),
        sql!(
            "INSERT INTO tool_words (rowid, owner, path, words, description)
             SELECT t.id, ?5, t.path, json_each.value ->> 'words', t.description
             FROM json_each(?4)
             CROSS JOIN tools t ON t.principal = ?1 AND t.path = json_each.value ->> 'path'
               AND t.generation = ?3
             WHERE t.source = ?2",
            place.principal,
            place.name,
            place.generation,
            tools,
            owner,
        ),
    ]
}

/// How an import went.
#[derive(Debug)]
pub struct Imported<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// JSON.
    pub settings: &'a str,
    /// JSON.
    pub facts: &'a str,
    /// JSON.
    pub left_out: &'a str,
    /// How many tools.
    pub tools: u64,
    /// When to look again.
    pub refresh_at: u64,
    /// Whether the settings were put, and not only read again.
    pub put: bool,
    /// Now.
    pub now: u64,
}

/// Moves a source on to the generation that was written, and takes away what was before it; whether
/// there was still such a source, and no later import.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn finish(
    db: &Db,
    place: Place<'_>,
    imported: &Imported<'_>,
) -> Result<bool, StoreError> {
    let Place { principal, name, generation } = place;
    let moved = sql!(
        "UPDATE sources
         SET kind = ?4, settings = ?5, state = 'ready', fault = NULL, facts = ?6, left_out = ?7,
           tools = ?8, generation = ?3, failures = 0, refreshed_at = ?9, refresh_at = ?10,
           updated_at = CASE ?11 WHEN 1 THEN ?9 ELSE updated_at END
         WHERE principal = ?1 AND name = ?2 AND generation < ?3",
        principal,
        name,
        generation,
        imported.kind,
        imported.settings,
        imported.facts,
        imported.left_out,
        imported.tools,
        imported.now,
        imported.refresh_at,
        u64::from(imported.put),
    );
    let [words, tools] = forget(place);
    let changes = db.batch(&[moved, words, tools]).await?;
    let is_moved = changes.first().is_some_and(|changed| *changed > 0);
    if !is_moved {
        let upto = generation.saturating_add(1);
        db.batch(&forget(Place { generation: upto, ..place })).await?;
    }
    Ok(is_moved)
}

/// Takes the rows of all generations before the place's away.
fn forget(place: Place<'_>) -> [Statement; 2] {
    [
        sql!(
            "DELETE FROM tool_words WHERE rowid IN
               (SELECT id FROM tools
                WHERE principal = ?1 AND source = ?2 AND generation < ?3
                  AND generation NOT IN
                    (SELECT generation FROM sources WHERE principal = ?1 AND name = ?2))",
            place.principal,
            place.name,
            place.generation,
        ),
        sql!(
            "DELETE FROM tools
             WHERE principal = ?1 AND source = ?2 AND generation < ?3
               AND generation NOT IN
                 (SELECT generation FROM sources WHERE principal = ?1 AND name = ?2)",
            place.principal,
            place.name,
            place.generation,
        ),
    ]
}

/// How a refresh failed.
#[derive(Debug)]
pub struct Failed<'a> {
    /// JSON.
    pub fault: &'a str,
    /// Settings to keep, where they were put: the source is known from now on, and looked at again.
    pub settings: Option<(&'a str, &'a str)>,
    /// When to look again.
    pub refresh_at: u64,
    /// Now.
    pub now: u64,
}

/// Notes that a source is down. Its tools stay.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn down(
    db: &Db,
    principal: &str,
    name: &str,
    failed: &Failed<'_>,
) -> Result<(), StoreError> {
    let (kind, settings) = failed.settings.unzip();
    let statement = sql!(
        "UPDATE sources
         SET state = 'down', fault = ?3, failures = failures + 1, refresh_at = ?4,
           kind = COALESCE(?5, kind), settings = COALESCE(?6, settings),
           updated_at = CASE WHEN ?6 IS NULL THEN updated_at ELSE ?7 END
         WHERE principal = ?1 AND name = ?2",
        principal,
        name,
        failed.fault,
        failed.refresh_at,
        kind,
        settings,
        failed.now,
    );
    db.run(&statement).await.map(|_| ())
}

/// Has a source looked at by the next schedule: its tools are said to have changed.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn is_stale(db: &Db, principal: &str, name: &str, now: u64) -> Result<(), StoreError> {
    let statement = sql!(
        "UPDATE sources SET refresh_at = MIN(refresh_at, ?3) WHERE principal = ?1 AND name = ?2",
        principal,
        name,
        now
    );
    db.run(&statement).await.map(|_| ())
}

/// A source.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(db: &Db, principal: &str, name: &str) -> Result<Option<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, kind, settings, state, fault, facts, left_out, tools, generation,
           failures, created_at, updated_at, refreshed_at, refresh_at
         FROM sources WHERE principal = ?1 AND name = ?2",
        principal,
        name
    );
    db.first(&statement).await
}

/// The sources of a principal, by name, at most 500.
///
/// # Errors
///
/// When D1 cannot be read or a row is not valid.
pub async fn list(db: &Db, principal: &str) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "SELECT principal, name, kind, settings, state, fault, facts, left_out, tools, generation,
           failures, created_at, updated_at, refreshed_at, refresh_at
         FROM sources WHERE principal = ?1 ORDER BY name LIMIT 500",
        principal
    );
    db.all(&statement).await
}

/// The names of a principal's sources, at most 500.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn names(db: &Db, principal: &str) -> Result<Vec<String>, StoreError> {
    Ok(db.all::<Name>(&named(principal)).await?.into_iter().map(|row| row.name).collect())
}

/// Asks for the names of a principal's sources, as part of a batch; [`names_in`] reads them.
#[must_use]
pub fn named(principal: &str) -> Statement {
    sql!("SELECT name FROM sources WHERE principal = ?1 ORDER BY name LIMIT 500", principal)
}

/// The names that [`named`] found.
///
/// # Errors
///
/// When the rows are of another form.
pub fn names_in(rows: &Rows) -> Result<Vec<String>, StoreError> {
    Ok(rows.read::<Name>()?.into_iter().map(|row| row.name).collect())
}

row! {
    struct Name {
        name: String,
    }
}

/// Sources that are to be looked at, whoever's they are; each is put off until `until`, so that no
/// other schedule takes it, too.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn due(db: &Db, now: u64, until: u64, most: u64) -> Result<Vec<Row>, StoreError> {
    let statement = sql!(
        "UPDATE sources SET refresh_at = ?2
         WHERE (principal, name) IN
           (SELECT principal, name FROM sources WHERE refresh_at <= ?1 ORDER BY refresh_at LIMIT ?3)
         RETURNING principal, name, kind, settings, state, fault, facts, left_out, tools, generation,
           failures, created_at, updated_at, refreshed_at, refresh_at",
        now,
        until,
        most
    );
    db.all(&statement).await
}

/// Deletes a source and its tools; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn delete(db: &Db, principal: &str, name: &str) -> Result<bool, StoreError> {
    let changes = db
        .batch(&[
            sql!("DELETE FROM sources WHERE principal = ?1 AND name = ?2", principal, name),
            sql!(
                "DELETE FROM tool_words WHERE rowid IN
                   (SELECT id FROM tools WHERE principal = ?1 AND source = ?2)",
                principal,
                name
            ),
            sql!("DELETE FROM tools WHERE principal = ?1 AND source = ?2", principal, name),
            sql!("DELETE FROM tool_paths WHERE principal = ?1 AND source = ?2", principal, name),
        ])
        .await?;
    Ok(changes.first().is_some_and(|changed| *changed > 0))
}

/// The paths of a source's tools, those that it had before included, by what the upstream knows them
/// by; at most 50,000.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn paths(db: &Db, principal: &str, name: &str) -> Result<Vec<Named>, StoreError> {
    let statement = sql!(
        "SELECT key, path FROM tool_paths WHERE principal = ?1 AND source = ?2 LIMIT 50000",
        principal,
        name
    );
    db.all(&statement).await
}

/// A tool by its path.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn tool(db: &Db, principal: &str, path: &str) -> Result<Option<Tool>, StoreError> {
    let statement = sql!(
        "SELECT t.path, t.source, t.description, t.parameters, t.result, t.hints, t.plan
         FROM tools t
         JOIN sources s ON s.principal = t.principal AND s.name = t.source
         WHERE t.principal = ?1 AND t.path = ?2 AND t.generation = s.generation",
        principal,
        path
    );
    db.first(&statement).await
}

/// At most `most` tools whose words match, the best first as far as their words say. `words` is a
/// query of FTS5 that names the owner's words.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn search(
    db: &Db,
    principal: &str,
    words: &str,
    most: u64,
) -> Result<Vec<Brief>, StoreError> {
    let statement = sql!(
        "SELECT t.path, t.key, t.source, SUBSTR(t.description, 1, 400) AS description, t.hints
         FROM tool_words w
         JOIN tools t ON t.id = w.rowid
         JOIN sources s ON s.principal = t.principal AND s.name = t.source
         WHERE w.tool_words MATCH ?2 AND t.principal = ?1 AND t.generation = s.generation
         ORDER BY BM25(tool_words, 0.0, 8.0, 6.0, 1.0) LIMIT ?3",
        principal,
        words,
        most,
    );
    db.all(&statement).await
}

/// At most `most` tools in order of their paths, behind `after`; of one source, where one is named.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn page(
    db: &Db,
    principal: &str,
    source: Option<&str>,
    after: &str,
    most: u64,
) -> Result<Vec<Brief>, StoreError> {
    let statement = match source {
        Some(source) => sql!(
            "SELECT t.path, t.key, t.source, SUBSTR(t.description, 1, 400) AS description, t.hints
             FROM sources s
             JOIN tools t ON t.principal = ?1 AND t.source = ?2 AND t.generation = s.generation
             WHERE s.principal = ?1 AND s.name = ?2 AND t.path > ?3 ORDER BY t.path LIMIT ?4",
            principal,
            source,
            after,
            most,
        ),
        None => sql!(
            "SELECT t.path, t.key, t.source, SUBSTR(t.description, 1, 400) AS description, t.hints
             FROM tools t
             JOIN sources s ON s.principal = t.principal AND s.name = t.source
             WHERE t.principal = ?1 AND t.path > ?2 AND t.generation = s.generation
             ORDER BY t.path LIMIT ?3",
            principal,
            after,
            most,
        ),
    };
    db.all(&statement).await
}
