//! The tables `packages`, `package_versions` and `package_texts`. A version is never changed; the
//! name points at one.

use super::db::{Db, Statement, StoreError};
use super::runs::parts;
use crate::{row, sql};

/// A version that is to be stored.
#[derive(Debug)]
pub struct Saving<'a> {
    /// Whose it is.
    pub principal: &'a str,
    /// The package.
    pub name: &'a str,
    /// For people and models.
    pub description: &'a str,
    /// JSON by name.
    pub exports: &'a str,
    /// JSON by name.
    pub services: &'a str,
    /// The budget, when it is below the surface's own.
    pub budget_ms: Option<u64>,
    /// JSON.
    pub limits: &'a str,
    /// JSON.
    pub warnings: &'a str,
    /// SHA-256 of the prepared modules.
    pub hash: &'a str,
    /// JSON, as it was sent.
    pub sources: &'a str,
    /// JSON, as the sandbox loads it.
    pub modules: &'a str,
    /// Now.
    pub now: u64,
}

row! {
    /// A version, without its texts.
    #[derive(Debug, Clone)]
    pub struct Version {
        /// The package.
        pub name: String,
        /// Its number, from 1.
        pub version: u64,
        /// For people and models.
        pub description: String,
        /// JSON by name.
        pub exports: String,
        /// JSON by name.
        pub services: String,
        /// The budget, when it is below the surface's own.
        pub budget_ms: Option<u64>,
        /// JSON.
        pub limits: String,
        /// JSON.
        pub warnings: String,
        /// SHA-256 of the prepared modules.
        pub hash: String,
        /// When it was stored.
        pub created_at: u64,
        /// The version that the name points at.
        pub current: u64,
    }
}

/// Stores a version and points the name at it; its number.
///
/// # Errors
///
/// When D1 cannot be written; then nothing is stored.
pub async fn save(db: &Db, saving: &Saving<'_>) -> Result<u64, StoreError> {
    row! {
        struct Number {
            version: u64,
        }
    }
    let (principal, name) = (saving.principal, saving.name);
    // One transaction: whoever saves at the same time gets another number.
    let mut statements = vec![
        sql!(
            "INSERT INTO packages (principal, name, version, last_version, created_at, updated_at)
             VALUES (?1, ?2, 1, 1, ?3, ?3)
             ON CONFLICT (principal, name) DO UPDATE
               SET version = last_version + 1, last_version = last_version + 1, updated_at = ?3",
            principal,
            name,
            saving.now
        ),
        sql!(
            "INSERT INTO package_versions (principal, name, version, description, exports, budget_ms,
               limits, warnings, hash, created_at, services)
             SELECT ?1, ?2, version, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
             FROM packages WHERE principal = ?1 AND name = ?2",
            principal,
            name,
            saving.description,
            saving.exports,
            saving.budget_ms,
            saving.limits,
            saving.warnings,
            saving.hash,
            saving.now,
            saving.services
        ),
    ];
    for (kind, text) in [("sources", saving.sources), ("modules", saving.modules)] {
        statements.extend(parts(text).zip(0_u64..).map(|(body, part)| {
            sql!(
                "INSERT INTO package_texts (principal, name, version, kind, part, body)
                 SELECT ?1, ?2, version, ?3, ?4, ?5
                 FROM packages WHERE principal = ?1 AND name = ?2",
                principal,
                name,
                kind,
                part,
                body
            )
        }));
    }
    db.batch(&statements).await?;
    // Whoever saved the same text a moment later stored the same.
    let saved = sql!(
        "SELECT MAX(version) AS version FROM package_versions
         WHERE principal = ?1 AND name = ?2 AND hash = ?3 AND created_at = ?4",
        principal,
        name,
        saving.hash,
        saving.now
    );
    let row = db.first::<Number>(&saved).await?;
    row.map(|row| row.version).ok_or_else(|| StoreError("the version is not there".to_owned()))
}

/// A version of a principal's package: the one that the name points at, or `version`.
///
/// # Errors
///
/// When D1 cannot be read or the row is not valid.
pub async fn find(
    db: &Db,
    principal: &str,
    name: &str,
    version: Option<u64>,
) -> Result<Option<Version>, StoreError> {
    let statement = sql!(
        "SELECT v.name, v.version, v.description, v.exports, v.services, v.budget_ms, v.limits, v.warnings,
                v.hash, v.created_at, p.version AS current
         FROM packages p JOIN package_versions v
           ON v.principal = p.principal AND v.name = p.name AND v.version = COALESCE(?3, p.version)
         WHERE p.principal = ?1 AND p.name = ?2 AND p.version IS NOT NULL",
        principal,
        name,
        version
    );
    db.first(&statement).await
}

/// Whether a name points at a version.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn points_at(
    db: &Db,
    principal: &str,
    name: &str,
    version: u64,
) -> Result<bool, StoreError> {
    row! {
        struct Pointed {
            version: Option<u64>,
        }
    }
    let statement =
        sql!("SELECT version FROM packages WHERE principal = ?1 AND name = ?2", principal, name);
    let row: Option<Pointed> = db.first(&statement).await?;
    Ok(row.is_some_and(|row| row.version == Some(version)))
}

/// A principal's packages by name after `after`, each with the version it points at, at most `limit`.
///
/// # Errors
///
/// As [`find`].
pub async fn list(
    db: &Db,
    principal: &str,
    after: &str,
    limit: u64,
) -> Result<Vec<Version>, StoreError> {
    let statement = sql!(
        "SELECT v.name, v.version, v.description, v.exports, v.services, v.budget_ms, v.limits, v.warnings,
                v.hash, v.created_at, p.version AS current
         FROM packages p JOIN package_versions v
           ON v.principal = p.principal AND v.name = p.name AND v.version = p.version
         WHERE p.principal = ?1 AND p.name > ?2
         ORDER BY p.name LIMIT ?3",
        principal,
        after,
        limit
    );
    db.all(&statement).await
}

/// The versions of a package before `before`, newest first, at most `limit`.
///
/// # Errors
///
/// As [`find`].
pub async fn versions(
    db: &Db,
    principal: &str,
    name: &str,
    before: u64,
    limit: u64,
) -> Result<Vec<Version>, StoreError> {
    let statement = sql!(
        "SELECT v.name, v.version, v.description, v.exports, v.services, v.budget_ms, v.limits, v.warnings,
                v.hash, v.created_at, p.version AS current
         FROM packages p JOIN package_versions v ON v.principal = p.principal AND v.name = p.name
         WHERE p.principal = ?1 AND p.name = ?2 AND p.version IS NOT NULL AND v.version < ?3
         ORDER BY v.version DESC LIMIT ?4",
        principal,
        name,
        before,
        limit
    );
    db.all(&statement).await
}

/// Points a name at another of its versions; whether there is one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn point(
    db: &Db,
    principal: &str,
    name: &str,
    version: u64,
    now: u64,
) -> Result<bool, StoreError> {
    let statement = sql!(
        "UPDATE packages SET version = ?3, updated_at = ?4
         WHERE principal = ?1 AND name = ?2 AND version IS NOT NULL
           AND EXISTS (SELECT 1 FROM package_versions
                WHERE principal = ?1 AND name = ?2 AND version = ?3)",
        principal,
        name,
        version,
        now
    );
    Ok(db.run(&statement).await? > 0)
}

/// Deletes a package with all its versions; whether there was one.
///
/// # Errors
///
/// When D1 cannot be written.
pub async fn delete(db: &Db, principal: &str, name: &str, now: u64) -> Result<bool, StoreError> {
    let of = |sql: &'static str| Statement::new(sql, vec![principal.into(), name.into()]);
    let changes = db
        .batch(&[
            sql!(
                "UPDATE packages SET version = NULL, updated_at = ?3
                 WHERE principal = ?1 AND name = ?2 AND version IS NOT NULL",
                principal,
                name,
                now
            ),
            of("DELETE FROM package_versions WHERE principal = ?1 AND name = ?2"),
            of("DELETE FROM package_texts WHERE principal = ?1 AND name = ?2"),
        ])
        .await?;
    Ok(changes.first().is_some_and(|changed| *changed > 0))
}

/// One of the two texts of a version.
///
/// # Errors
///
/// When D1 cannot be read.
pub async fn text(
    db: &Db,
    principal: &str,
    name: &str,
    version: u64,
    kind: &str,
) -> Result<Option<String>, StoreError> {
    row! {
        struct Part {
            body: String,
        }
    }
    let statement = sql!(
        "SELECT body FROM package_texts
         WHERE principal = ?1 AND name = ?2 AND version = ?3 AND kind = ?4 ORDER BY part",
        principal,
        name,
        version,
        kind
    );
    let parts = db.all::<Part>(&statement).await?;
    Ok((!parts.is_empty()).then(|| parts.into_iter().map(|part| part.body).collect()))
}
