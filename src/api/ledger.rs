//! The idempotency key of a request, and what it is a key to.

use crate::error::Fault;
use crate::ledger::{key, request};
use crate::runs::RunRequest;
use crate::store::ledger::Claim;
use serde_json::{Value, json};
use worker::Request;

/// The header that carries a key.
pub const HEADER: &str = "Idempotency-Key";

/// What is asked for: the part of a claim that is not the key.
#[derive(Debug)]
pub struct Wanted {
    target: String,
    request: Value,
}

impl Wanted {
    /// A program to run. Whatever shapes the run belongs to it, the label too.
    #[must_use]
    pub fn of_run(wanted: &RunRequest) -> Self {
        Self {
            target: String::new(),
            request: json!({
                "code": wanted.code,
                "params": params(wanted.params.as_deref()),
                "budgetMs": wanted.budget_ms,
                "label": wanted.label,
                "limits": wanted.limits,
            }),
        }
    }

    /// The claim under a key; `field` is what the caller calls it.
    ///
    /// # Errors
    ///
    /// `invalid_request` for a key that is none.
    pub fn under(self, field: &str, key: String) -> Result<Claim, Fault> {
        key::check(field, &key)?;
        let request_hash = request::hash(&self.request);
        Ok(Claim { target: self.target, key, request_hash })
    }
}

/// Parameters that are left out are the empty object.
fn params(raw: Option<&serde_json::value::RawValue>) -> Value {
    if raw.is_none() { json!({}) } else { request::part(raw) }
}

/// The claim of a request; `None` without the header.
///
/// # Errors
///
/// As [`Wanted::under`].
pub fn of_header(req: &Request, wanted: Wanted) -> Result<Option<Claim>, Fault> {
    let Some(key) = req.headers().get(HEADER).ok().flatten() else { return Ok(None) };
    wanted.under(HEADER, key).map(Some)
}
