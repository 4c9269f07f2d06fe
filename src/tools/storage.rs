//! `tools.storage`: small values of a principal, kept between runs.

use super::{Caller, unfit};
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::store::db::{Db, StoreError};
use crate::store::storage as table;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// The longest key, in bytes of UTF-8: a key is a name, not a value.
const MAX_KEY_BYTES: usize = 512;

/// The most keys of one page.
const MAX_PAGE: u64 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set<'a> {
    key: String,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    prefix: String,
    #[serde(default = "default_page")]
    limit: u64,
    #[serde(default)]
    cursor: String,
}

const fn default_page() -> u64 {
    100
}

/// `get({key}) → {value}`; no `value` when the key is absent.
///
/// # Errors
///
/// Unfit arguments; the database.
pub async fn get(db: &Db, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let Get { key } = read("storage.get", arguments)?;
    check_key("storage.get", &key)?;
    Ok(match table::get(db, &caller.principal, &key).await.map_err(lost)? {
        Some(value) => format!("{{\"value\":{value}}}"),
        None => "{}".to_owned(),
    })
}

/// `set({key, value}) → {}`. Any value that a program can pass is kept as it is.
///
/// # Errors
///
/// Unfit arguments; the database.
pub async fn set(db: &Db, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let Set { key, value } = read("storage.set", arguments)?;
    check_key("storage.set", &key)?;
    table::set(db, &caller.principal, &key, value.get(), now_ms()).await.map_err(lost)?;
    Ok("{}".to_owned())
}

/// `list({prefix?, limit?, cursor?}) → {keys, cursor?}`; `cursor` when there are more.
///
/// # Errors
///
/// Unfit arguments; the database.
pub async fn list(db: &Db, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let page = read("storage.list", arguments)?;
    check_page(&page)?;
    let List { prefix, limit, cursor } = page;
    let more = limit.saturating_add(1);
    let found = table::list(db, &caller.principal, &prefix, &cursor, more).await;
    let mut keys = found.map_err(lost)?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let cursor = (keys.len() > page).then(|| {
        keys.truncate(page);
        keys.last().cloned()
    });
    Ok(match cursor.flatten() {
        Some(cursor) => json!({ "keys": keys, "cursor": cursor }),
        None => json!({ "keys": keys }),
    }
    .to_string())
}

/// `delete({key}) → {deleted}`.
///
/// # Errors
///
/// Unfit arguments; the database.
pub async fn delete(db: &Db, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let Get { key } = read("storage.delete", arguments)?;
    check_key("storage.delete", &key)?;
    let deleted = table::delete(db, &caller.principal, &key).await.map_err(lost)?;
    Ok(json!({ "deleted": deleted }).to_string())
}

/// Refuses arguments that `tool` would refuse.
///
/// # Errors
///
/// That.
pub fn check(tool: &str, arguments: &str) -> Result<(), Fault> {
    match tool {
        "storage.get" | "storage.delete" => {
            let Get { key } = read(tool, arguments)?;
            check_key(tool, &key)
        }
        "storage.set" => {
            let Set { key, value: _ } = read(tool, arguments)?;
            check_key(tool, &key)
        }
        "storage.list" => check_page(&read(tool, arguments)?),
        _ => Ok(()),
    }
}

fn check_page(list: &List) -> Result<(), Fault> {
    if (1..=MAX_PAGE).contains(&list.limit) {
        return Ok(());
    }
    Err(unfit("storage.list", format!("limit must be from 1 to {MAX_PAGE}")))
}

fn read<'a, T: Deserialize<'a>>(tool: &str, arguments: &'a str) -> Result<T, Fault> {
    serde_json::from_str(arguments).map_err(|error| {
        // serde names the field; its place in the encoded text would mean nothing to the caller.
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default().to_owned();
        unfit(tool, what)
    })
}

fn check_key(tool: &str, key: &str) -> Result<(), Fault> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(unfit(tool, format!("key must have 1 to {MAX_KEY_BYTES} bytes")));
    }
    Ok(())
}

fn lost(error: StoreError) -> Fault {
    Fault::from(error)
}
