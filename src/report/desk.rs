//! The desk: where every place of ours hands in a fault. It keeps what is not ours out, adds the
//! circumstances, and passes on what is left to the reporter and to the log, both redacted.

use super::config::{InvalidVariable, SentryConfig};
use super::event::{Place, Report};
use super::redact::Redactor;
use super::reporter;
use crate::error::{Fault, Whose};
use std::cell::OnceCell;
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

thread_local! {
    /// Read once an isolate: its variables are those of its version of the worker, for good.
    static SENTRY: OnceCell<Rc<SentryConfig>> = const { OnceCell::new() };
    static REDACTOR: OnceCell<Rc<Redactor>> = const { OnceCell::new() };
}

/// What this deployment says about Sentry.
///
/// # Errors
///
/// The first variable that cannot be used.
pub fn sentry(env: &Env) -> Result<Rc<SentryConfig>, InvalidVariable> {
    if let Some(kept) = SENTRY.with(|kept| kept.get().cloned()) {
        return Ok(kept);
    }
    let read = Rc::new(SentryConfig::read(|name| variable(env, name))?);
    Ok(SENTRY.with(|kept| Rc::clone(kept.get_or_init(|| read))))
}

fn redactor(env: &Env) -> Rc<Redactor> {
    let secrets = || SECRET_VARIABLES.iter().filter_map(|name| variable(env, name));
    REDACTOR.with(|kept| Rc::clone(kept.get_or_init(|| Rc::new(Redactor::new(secrets())))))
}

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).ok().map(|value| value.to_string())
}

/// Takes faults in for one request.
#[derive(Debug)]
pub struct Desk {
    config: Rc<SentryConfig>,
    redactor: Rc<Redactor>,
    ctx: Rc<Context>,
}

impl Desk {
    /// The desk of this deployment. A `SENTRY_DSN` that cannot be read counts as none here: the
    /// request itself is refused for it.
    #[must_use]
    pub fn of(env: &Env, ctx: Rc<Context>) -> Self {
        let config = sentry(env).unwrap_or_else(|_| Rc::new(SentryConfig::off()));
        Self { config, redactor: redactor(env), ctx }
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
