//! The vault: secrets are sealed into the table and opened out of it, for one request at a time.

use super::exchange::Place;
use super::secret::{Grants, Keyring, Opened};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::platform::seal::{self, Sealed};
use crate::store::db::Db;
use crate::store::secrets::{self as table, Row};
use std::collections::BTreeSet;

/// Secrets of older keys that one schedule seals anew.
const RESEALED_AT_ONCE: u64 = 50;

/// What a sealed value belongs to: in another row it does not open.
fn context(principal: &str, name: &str) -> String {
    // A principal's name has no line break.
    format!("holdfast secret 1\n{principal}\n{name}")
}

/// Puts a secret.
///
/// # Errors
///
/// No key in the environment; the database.
pub async fn put(
    db: &Db,
    keys: &Keyring,
    principal: &str,
    name: &str,
    value: &str,
    grants: &Grants,
) -> Result<(), Fault> {
    let (key_id, key) = keys.newest().ok_or_else(no_key)?;
    let sealed = seal::seal(key, &context(principal, name), value)
        .await
        .map_err(|thrown| Fault::internal("seal", thrown.to_string()))?;
    let grants = serde_json::to_string(grants)
        .map_err(|error| Fault::internal("grants", error.to_string()))?;
    let putting =
        table::Putting { principal, name, key_id, sealed: &sealed, grants: &grants, now: now_ms() };
    Ok(table::put(db, &putting).await?)
}

/// Opens the secrets that a request of `source` shows, each with its place.
///
/// # Errors
///
/// A secret that is not there, or that the source may not use; a key that is gone; the database.
pub async fn open(
    db: &Db,
    keys: &Keyring,
    principal: &str,
    source: &str,
    wanted: &[(Place, String)],
) -> Result<Vec<(Place, Opened)>, Fault> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let names: BTreeSet<&str> = wanted.iter().map(|(_, name)| name.as_str()).collect();
    let list = serde_json::to_string(&names).unwrap_or_default();
    let rows = table::named(db, principal, &list).await?;
    let mut opened = Vec::with_capacity(rows.len());
    for row in &rows {
        opened.push(open_row(keys, source, row).await?);
    }
    wanted
        .iter()
        .map(|(place, name)| {
            let found = opened.iter().find(|secret| secret.name == *name);
            found.map(|secret| (place.clone(), secret.clone())).ok_or_else(|| not_found(name))
        })
        .collect()
}

async fn open_row(keys: &Keyring, source: &str, row: &Row) -> Result<Opened, Fault> {
    let grants: Grants = serde_json::from_str(&row.grants)
        .map_err(|error| Fault::internal("grants", error.to_string()))?;
    if !grants.source(source) {
        let message = format!("The secret {} may not be used by {source}.", row.name);
        return Err(Fault::new(Code::SecretNotAllowed, message).with("secret", row.name.as_str()));
    }
    Ok(Opened::new(row.name.clone(), grants, unsealed(keys, row).await?))
}

async fn unsealed(keys: &Keyring, row: &Row) -> Result<String, Fault> {
    let lost = |cause: String| {
        let message = format!(
            "HOLDFAST_SECRETS_KEY: no key opens the secret {}; put it again, or give the old key back.",
            row.name
        );
        Fault::new(Code::ConfigurationInvalid, message)
            .with("variable", "HOLDFAST_SECRETS_KEY")
            .caused_by(cause)
    };
    let key = keys.get(&row.key_id).ok_or_else(|| lost(format!("no key {}", row.key_id)))?;
    let sealed = Sealed { nonce: row.nonce.clone(), text: row.sealed.clone() };
    seal::open(key, &context(&row.principal, &row.name), &sealed)
        .await
        .map_err(|thrown| lost(thrown.to_string()))
}

/// Seals some secrets of older keys under the newest one.
///
/// # Errors
///
/// The database. A secret that no key opens stays as it is.
pub async fn reseal(db: &Db, keys: &Keyring) -> Result<(), Fault> {
    let Some((newest, key)) = keys.newest() else { return Ok(()) };
    for row in table::of_older_keys(db, newest, RESEALED_AT_ONCE).await? {
        let Ok(value) = unsealed(keys, &row).await else { continue };
        let context = context(&row.principal, &row.name);
        let sealed = seal::seal(key, &context, &value)
            .await
            .map_err(|thrown| Fault::internal("seal", thrown.to_string()))?;
        table::reseal(db, &row, newest, &sealed).await?;
    }
    Ok(())
}

/// No secret has the name.
#[must_use]
pub fn not_found(name: &str) -> Fault {
    Fault::new(Code::SecretNotFound, format!("There is no secret {name}.")).with("secret", name)
}

fn no_key() -> Fault {
    let message = "HOLDFAST_SECRETS_KEY: is missing, so secrets cannot be kept.";
    Fault::new(Code::ConfigurationInvalid, message).with("variable", "HOLDFAST_SECRETS_KEY")
}
