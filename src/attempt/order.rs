//! What an attempt is told to do: the argument of the loopback request, JSON.

use crate::run::limits::Limits;
use crate::run::surface::Surface;
use crate::store::ledger::Claim;
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
    /// The idempotency key that it answers.
    #[serde(default)]
    pub claim: Option<Claim>,
    /// The run that started it, and how many stand above it.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// The export of a package, in place of the program.
    #[serde(default)]
    pub package: Option<PackageOrder>,
}

/// Where a run stands that another started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The run that started it.
    pub run_id: String,
    /// Runs above it: 1 for one that a run of the top started.
    pub depth: u32,
}

/// An export to invoke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageOrder {
    /// The package.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// The export.
    pub export: String,
    /// Hash of the version's modules.
    pub hash: String,
    /// What its result must fit.
    pub result: Option<serde_json::Value>,
}
