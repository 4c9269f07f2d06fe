//! What is asked for when a workflow is created, checked before anything is.

use crate::approvals::Hands;
use crate::attempt::Order;
use crate::attempt::driver::AMBIENT;
use crate::attempt::program::refused;
use crate::code;
use crate::error::{Code, Fault};
use crate::ledger::{key, request};
use crate::packages::{self, Invocation, Target};
use crate::platform::clock::{now_ms, read_date};
use crate::run::segment::MAX_RETRIES;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest};
use crate::store::ledger::Claim;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A request to create a workflow, not yet validated.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorkflowRequest {
    /// The program; or
    pub code: Option<String>,
    /// an export of a package, `name/export`.
    pub package: Option<String>,
    /// A version of the package in place of the one that its name points at.
    pub version: Option<u64>,
    /// Its parameters; `{}` without.
    pub params: Option<Box<RawValue>>,
    /// When it begins: Unix ms, or an ISO 8601 date. At once without.
    pub run_at: Option<Value>,
    /// The same key again gives the same workflow.
    pub idempotency_key: Option<String>,
    /// The caller's own name for it.
    pub label: Option<String>,
    /// How often the program is taken back to its last call when it failed.
    pub retries: Option<Value>,
    /// A budget of a segment below the surface's own.
    pub budget_ms: Option<Value>,
    /// Limits below the surface's own.
    pub limits: Option<Value>,
}

/// A request that is valid.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) order: Order,
    pub(super) run_at: u64,
    pub(super) retries: u64,
}

impl WorkflowRequest {
    /// Checks it all: whatever would end the workflow at once is refused here.
    pub(super) async fn check(
        mut self,
        hands: &Hands,
        principal: &str,
        origin: &str,
    ) -> Result<Checked, Fault> {
        let now = now_ms();
        let claim = self.claim()?;
        let run_at = begins_at(self.run_at.as_ref(), now, hands.config.workflows.life_ms)?;
        let retries = match self.retries.as_ref().map(Value::as_u64) {
            None => 0,
            Some(Some(retries)) if retries <= MAX_RETRIES => retries,
            Some(_) => {
                let what = format!("must be a whole number from 0 to {MAX_RETRIES}");
                return Err(Fault::invalid("retries", what).with("limit", MAX_RETRIES));
            }
        };
        let order = match (self.code.take(), self.package.take()) {
            (Some(code), None) => self.of_program(hands, principal, code, now)?,
            (None, Some(package)) => self.of_package(hands, principal, &package, now).await?,
            _ => return Err(Fault::invalid("code", "must be given, or package, and not both")),
        };
        let order = Order { claim, origin: origin.to_owned(), ..order };
        Ok(Checked { order, run_at, retries })
    }

    fn of_program(
        self,
        hands: &Hands,
        principal: &str,
        code: String,
        now: u64,
    ) -> Result<Order, Fault> {
        if self.version.is_some() {
            return Err(Fault::invalid("version", "is of a package, and none is given"));
        }
        let request = RunRequest {
            code,
            params: self.params,
            budget_ms: self.budget_ms,
            label: self.label,
            limits: self.limits,
        };
        let order = runs::order(&hands.config, principal, Surface::Workflow, request, now)?;
        let options = code::Options { guard: hands.config.guard, ambient: AMBIENT };
        code::prepare(&order.source, &options).map_err(|refusal| refused(&refusal))?;
        if let Some(place) = code::returned_function(&order.source) {
            let message = "The program returns a function, which is not data and cannot be kept.";
            return Err(Fault::new(Code::NotData, message)
                .with("field", "code")
                .with("line", place.line)
                .with("column", place.column)
                .with_next_step("Call the function and return what it gives."));
        }
        Ok(order)
    }

    async fn of_package(
        self,
        hands: &Hands,
        principal: &str,
        package: &str,
        now: u64,
    ) -> Result<Order, Fault> {
        let target = Target::read(package)?;
        let invocation = Invocation {
            params: self.params,
            version: self.version,
            budget_ms: self.budget_ms,
            label: self.label,
            limits: self.limits,
        };
        let (db, config) = (&hands.db, &hands.config);
        let wanted = (Surface::Workflow, invocation);
        packages::order(db, config, principal, &target, wanted, now).await
    }

    fn claim(&self) -> Result<Option<Claim>, Fault> {
        let Some(key) = &self.idempotency_key else { return Ok(None) };
        key::check("idempotencyKey", key)?;
        let params = self.params.as_deref();
        let request = json!({
            "code": self.code,
            "package": self.package,
            "version": self.version,
            "params": if params.is_none() { json!({}) } else { request::part(params) },
            "runAt": self.run_at,
            "label": self.label,
            "retries": self.retries,
            "budgetMs": self.budget_ms,
            "limits": self.limits,
        });
        Ok(Some(Claim {
            target: self.package.clone().unwrap_or_default(),
            key: key.clone(),
            request_hash: request::hash(&request),
        }))
    }
}

/// When a workflow begins.
fn begins_at(wanted: Option<&Value>, now: u64, life_ms: u64) -> Result<u64, Fault> {
    let form = "must be Unix milliseconds or an ISO 8601 date";
    let at = match wanted {
        None | Some(Value::Null) => return Ok(now),
        Some(Value::String(text)) => {
            read_date(text).ok_or_else(|| Fault::invalid("runAt", form))?
        }
        Some(other) => other.as_u64().ok_or_else(|| Fault::invalid("runAt", form))?,
    };
    if at < now {
        let ago = now.saturating_sub(at);
        let what = format!("is {ago} ms past; leave it out to begin at once");
        return Err(Fault::invalid("runAt", what));
    }
    if at.saturating_sub(now) > life_ms {
        let what = format!("is more than {life_ms} ms away, the life time of a workflow");
        return Err(Fault::invalid("runAt", what).with("limit", life_ms));
    }
    Ok(at)
}
