//! The desk: where every place of ours hands in a fault. It keeps what is not ours out, adds the
//! circumstances, and passes on what is left to the reporter and to the log, both redacted.

use super::config::SentryConfig;
use super::event::{Place, Report};
use super::redact::Redactor;
use super::reporter;
use crate::error::{Fault, Whose};
use std::rc::Rc;
use worker::{Context, Env};

/// Variables whose values never leave the worker.
const SECRET_VARIABLES: &[&str] =
    &["HOLDFAST_ADMIN_TOKEN", "HOLDFAST_SIGNING_KEY", "HOLDFAST_SECRETS_KEY", "SENTRY_DSN"];

/// What was going on when the fault arose.
#[derive(Debug, Clone, Default)]
pub struct Circumstances<'a> {
    /// `execute`, `invocation`, `workflow`; none for a request that was refused.
    pub surface: Option<&'a str>,
    /// The run.
    pub run: Option<&'a str>,
}

/// Takes faults in for one request.
#[derive(Debug)]
pub struct Desk {
    config: SentryConfig,
    redactor: Redactor,
    ctx: Rc<Context>,
}

impl Desk {
    /// The desk of this deployment. A `SENTRY_DSN` that cannot be read counts as none here: the
    /// request itself is refused for it.
    #[must_use]
    pub fn of(env: &Env, ctx: Rc<Context>) -> Self {
        let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
        Self {
            config: SentryConfig::read(variable).unwrap_or_else(|_| SentryConfig::off()),
            redactor: Redactor::new(SECRET_VARIABLES.iter().filter_map(|name| variable(name))),
            ctx,
        }
    }

    /// Takes a fault in. Only one of ours is logged and reported; returns at once and cannot fail.
    pub fn take(&self, fault: &Fault, circumstances: &Circumstances<'_>) {
        if fault.whose() != Whose::Ours {
            return;
        }
        let run = circumstances.run.map(|run| format!(" (run {run})")).unwrap_or_default();
        let cause = fault.cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
        worker::console_error!("{}", self.redactor.text(&format!("{fault}{run}{cause}")));
        let detail = |name| {
            let number = fault.details.get(name).and_then(serde_json::Value::as_u64);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let place = detail("line").zip(detail("column"));
        let report = Report {
            surface: circumstances.surface.map(str::to_owned),
            runtime: circumstances.run.map(|_| "dynamic_worker".to_owned()),
            run: circumstances.run.map(str::to_owned),
            place: place.map(|(line, column)| Place { line, column }),
            ..Report::from(fault)
        };
        reporter::capture(&report, &self.config, &self.redactor, &self.ctx);
    }
}
