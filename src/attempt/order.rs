//! What an attempt is told to do: the argument of the loopback request, JSON.

use crate::run::limits::Limits;
use crate::run::surface::Surface;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An attempt to make. Everything here has been validated by whoever accepted the run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The run.
    pub run_id: String,
    /// Whose it is.
    pub principal: String,
    /// Where it comes from.
    pub surface: Surface,
    /// The caller's own name for it.
    pub label: Option<String>,
    /// The program, as the client sent it.
    pub source: String,
    /// The parameters, as the client sent them.
    pub params: Box<RawValue>,
    /// The limits that hold.
    pub limits: Limits,
    /// When the request arrived, Unix ms.
    pub arrived_at: u64,
    /// The fence under which it writes.
    pub fence: u64,
    /// How long the live sandbox is kept when only people are waited for, before the run parks.
    #[serde(default)]
    pub hold_ms: u64,
    /// Of the links to approvals: `https://holdfast.example.com`.
    #[serde(default)]
    pub origin: String,
    /// It goes on from the run's record; its rows and its permit are there.
    #[serde(default)]
    pub resumes: bool,
}
