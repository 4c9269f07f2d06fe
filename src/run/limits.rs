//! Every limit of a run, in one type. All are kept on the host; the harness is told those that it
//! can keep more exactly. A request may lower one, never raise it.

use super::surface::Surface;
use crate::error::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The limits of one run. Bytes are of UTF-8, times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Continuous autonomous compute.
    pub budget_ms: u64,
    /// Wall-clock time of one attempt in all, people's time left out: ten budgets, at most ten
    /// minutes. It bounds what the suspended clock cannot.
    pub ceiling_ms: u64,
    /// One dispatch, from its call to its return.
    pub dispatch_ms: u64,
    /// Making the sandbox: its code is a few hundred KB, so this is for a platform in trouble.
    pub create_ms: u64,
    /// The program's text.
    pub source_bytes: u64,
    /// The parameters, as JSON.
    pub params_bytes: u64,
    /// The result, as tagged JSON.
    pub result_bytes: u64,
    /// The argument of one dispatch, as tagged JSON.
    pub argument_bytes: u64,
    /// The answer of one dispatch, as tagged JSON. RPC carries 32 MiB at most.
    pub answer_bytes: u64,
    /// All log text.
    pub log_bytes: u64,
    /// Log lines.
    pub log_lines: u64,
    /// One log line.
    pub log_line_bytes: u64,
    /// Dispatches in one run.
    pub dispatches: u64,
    /// Dispatches in flight at once; more wait in line.
    pub in_flight: u64,
    /// CPU time of the sub-worker; enforced by the platform in production only.
    pub cpu_ms: u64,
    /// Subrequests of the sub-worker; enforced by the platform in production only.
    pub sub_requests: u64,
}

/// Ten minutes: the most that the ceiling is without being asked for.
const MAX_CEILING_MS: u64 = 600_000;

impl Limits {
    /// The limits of a surface (DESIGN §11), before a request lowers any.
    #[must_use]
    pub fn of(surface: Surface) -> Self {
        let budget_ms = surface.budget_ms();
        Self {
            budget_ms,
            ceiling_ms: budget_ms.saturating_mul(10).min(MAX_CEILING_MS),
            dispatch_ms: 60_000,
            create_ms: 20_000,
            source_bytes: 262_144,
            params_bytes: 1_048_576,
            result_bytes: 1_048_576,
            argument_bytes: 1_048_576,
            answer_bytes: 4_194_304,
            log_bytes: 65_536,
            log_lines: 1_000,
            log_line_bytes: 8_192,
            // Of a durable run all its segments count together; a service looks at something every
            // second for its ten minutes.
            dispatches: match surface {
                Surface::Workflow => 2_048,
                Surface::Service => 1_000,
                Surface::Execute | Surface::Invocation => 256,
            },
            in_flight: 32,
            // The budget is wall-clock time of which compute is a part; the platform allows 5 min.
            cpu_ms: budget_ms.min(300_000),
            // Calls of the host function are not known to count; 10 × the dispatches is beyond all use.
            sub_requests: 2_560,
        }
    }

    /// Sets the budget of the surface; the ceiling follows.
    #[must_use]
    pub fn with_budget(mut self, budget_ms: u64) -> Self {
        self.budget_ms = budget_ms;
        self.ceiling_ms = budget_ms.saturating_mul(10).min(MAX_CEILING_MS);
        self.cpu_ms = self.cpu_ms.min(budget_ms);
        self
    }

    /// Lowers what the object `wanted` names, e.g. `{"dispatches": 10}`.
    ///
    /// # Errors
    ///
    /// `invalid_request` for an unknown name, a value that is no whole number of at least 1, or
    /// one above the limit that holds.
    pub fn lower(&mut self, wanted: &Value) -> Result<(), Fault> {
        let Some(wanted) = wanted.as_object() else {
            return Err(Fault::invalid("limits", "must be an object"));
        };
        for (name, value) in wanted {
            let field = format!("limits.{name}");
            let slot = match name.as_str() {
                "ceilingMs" => &mut self.ceiling_ms,
                "dispatchMs" => &mut self.dispatch_ms,
                "resultBytes" => &mut self.result_bytes,
                "argumentBytes" => &mut self.argument_bytes,
                "answerBytes" => &mut self.answer_bytes,
                "logBytes" => &mut self.log_bytes,
                "logLines" => &mut self.log_lines,
                "logLineBytes" => &mut self.log_line_bytes,
                "dispatches" => &mut self.dispatches,
                "inFlight" => &mut self.in_flight,
                "cpuMs" => &mut self.cpu_ms,
                "subRequests" => &mut self.sub_requests,
                _ => return Err(Fault::invalid(&field, "is not a limit that a request can lower")),
            };
            match value.as_u64() {
                Some(value) if (1..=*slot).contains(&value) => *slot = value,
                Some(0) | None => {
                    return Err(Fault::invalid(&field, "must be a whole number of at least 1"));
                }
                Some(_) => {
                    let what = format!("can be lowered only; it is at most {slot}");
                    return Err(Fault::invalid(&field, what).with("limit", *slot));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! A request lowers, and never raises.

    use super::*;
    use serde_json::json;

    #[test]
    fn the_ceiling_is_ten_budgets_and_at_most_ten_minutes() {
        let limits = Limits::of(Surface::Execute);
        assert_eq!(limits.ceiling_ms, 600_000);
        assert_eq!(limits.with_budget(300).ceiling_ms, 3_000);
        assert_eq!(Limits::of(Surface::Invocation).ceiling_ms, 600_000);
    }

    #[test]
    fn a_request_lowers_a_limit() {
        let mut limits = Limits::of(Surface::Execute);
        limits.lower(&json!({"dispatches": 10, "dispatchMs": 500})).unwrap();
        assert_eq!((limits.dispatches, limits.dispatch_ms), (10, 500));
    }

    #[test]
    fn a_request_cannot_raise_a_limit_or_name_an_unknown_one() {
        for wanted in [
            json!({"dispatches": 257}),
            json!({"dispatches": 0}),
            json!({"dispatches": 1.5}),
            json!({"dispatches": "10"}),
            json!({"budgetMs": 5}),
            json!([]),
        ] {
            let fault = Limits::of(Surface::Execute).lower(&wanted).unwrap_err();
            assert!(fault.message.starts_with("limits"), "{}", fault.message);
        }
    }
}
