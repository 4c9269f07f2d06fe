//! What an attempt is told to do: the argument of the loopback request, JSON.

use crate::run::limits::Limits;
use crate::run::segment::Segment;
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
    /// The service of which it is a stretch.
    #[serde(default)]
    pub service: Option<ServiceOrder>,
    /// How long the live sandbox is kept when only people are waited for, before the run parks.
    #[serde(default)]
    pub hold_ms: u64,
    /// Of the links to approvals: `https://holdfast.example.com`.
    #[serde(default)]
    pub origin: String,
    /// It goes on from the run's record; its rows and its permit are there.
    #[serde(default)]
    pub resumes: bool,
    /// Of a durable run: how this attempt stands among its segments.
    #[serde(default)]
    pub segment: Option<Segment>,
}

impl Order {
    /// The order as a record keeps it, JSON: without the program and its parameters, which have a
    /// row of their own, and without the key, which is claimed once.
    ///
    /// # Errors
    ///
    /// Never in an expected way.
    pub fn kept(&self) -> Result<String, serde_json::Error> {
        let null = RawValue::from_string("null".to_owned())?;
        serde_json::to_string(&Self {
            source: String::new(),
            params: null,
            claim: None,
            run_id: self.run_id.clone(),
            principal: self.principal.clone(),
            surface: self.surface,
            label: self.label.clone(),
            limits: self.limits.clone(),
            arrived_at: self.arrived_at,
            fence: self.fence,
            parent: self.parent.clone(),
            package: self
                .package
                .clone()
                .map(|package| PackageOrder { remembered: None, ..package }),
            service: self.service.clone(),
            hold_ms: 0,
            origin: self.origin.clone(),
            resumes: true,
            segment: None,
        })
    }

    /// Reads an order that a record kept, for the attempt that has `fence`.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn recalled(
        kept: &str,
        source: String,
        params: String,
        fence: u64,
    ) -> Result<Self, serde_json::Error> {
        let order: Self = serde_json::from_str(kept)?;
        Ok(Self { source, params: RawValue::from_string(params)?, fence, ..order })
    }
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

/// A stretch of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOrder {
    /// Package and service.
    pub name: String,
    /// Its number since the service was started, from 1.
    pub stretch: u64,
    /// Why it was begun: `start`, `restart` or `alarm`.
    pub woken: String,
    /// How long the program has to end once it is asked to.
    pub grace_ms: u64,
    /// When it is over.
    pub shift_ms: u64,
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
    /// The version is the one that an isolate remembered: the run begins only if the name still points
    /// at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Wanted>,
}

/// What an invocation wanted of the limits, to be asked of another version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// The budget.
    pub budget_ms: Option<serde_json::Value>,
    /// The others.
    pub limits: Option<serde_json::Value>,
}
