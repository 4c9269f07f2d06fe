//! `tools.service.alarm`: when a service wants to be woken that ends by itself.

use super::{Caller, unfit};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::store::db::Db;
use crate::store::services as table;
use serde::Deserialize;
use serde_json::json;

const PATH: &str = "service.alarm";

/// A year: what waits longer is no alarm of a service.
const MAX_MS: u64 = 31_536_000_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Alarm {
    after_ms: Option<u64>,
    at: Option<u64>,
}

/// `alarm({afterMs})` or `alarm({at})`, Unix ms; `alarm({})` takes it away. Gives `{at}`: it is set for
/// the end of this stretch, and the schedule wakes the service within a minute of it.
///
/// # Errors
///
/// Unfit arguments; a run that is no service; the database.
pub async fn set(db: &Db, caller: &Caller, arguments: &str) -> Result<String, Fault> {
    let wanted: Alarm =
        serde_json::from_str(arguments).map_err(|_| unfit(PATH, "wants {afterMs}, {at} or {}"))?;
    let now = now_ms();
    let at = match wanted {
        Alarm { after_ms: Some(_), at: Some(_) } => {
            return Err(unfit(PATH, "wants one of afterMs and at"));
        }
        Alarm { after_ms: Some(ms), at: None } => Some(now.saturating_add(ms)),
        Alarm { after_ms: None, at } => at,
    };
    if at.is_some_and(|at| at > now.saturating_add(MAX_MS)) {
        return Err(unfit(PATH, "wants a time within a year"));
    }
    let set = table::alarm(db, &caller.run_id, at).await.map_err(|error| {
        Fault::new(Code::ToolFailed, format!("{PATH}: the alarm could not be stored."))
            .caused_by(error.0)
    })?;
    if !set {
        return Err(unfit(PATH, "is for a service; this run is a stretch of none"));
    }
    Ok(json!({ "at": at }).to_string())
}
