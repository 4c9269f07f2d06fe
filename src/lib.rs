//! Holdfast runs programs that AI agents write, at the edge, under watch.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`error`] | the catalogue of errors, the message of a timeout, what leaves the worker |
//! | [`code`] | from what an agent wrote to a module: recover, strip types, guard |
//! | [`report`] | Sentry: what is reported, what is noise, the tunnel |
//!
//! `run`, `code` and `error` are pure: no JavaScript value, no clock, no database. The file
//! `tests/the_rules_are_pure.rs` holds that.

pub mod code;
pub mod error;
pub mod report;
pub mod run;

use report::config::SentryConfig;
use worker::{Context, Env, Request, Response, Result, event};

/// Runs once for each Wasm instance, and again after a panic made another one.
#[event(start)]
fn start() {
    report::panic::install();
}

/// Answers HTTP.
#[event(fetch)]
async fn fetch(req: Request, env: Env, ctx: Context) -> Result<Response> {
    let sentry = SentryConfig::read(|name| env.var(name).ok().map(|value| value.to_string()))
        .map_err(|invalid| worker::Error::RustError(invalid.to_string()))?;
    report::panic::aim(&sentry);
    let path = req.path();
    #[cfg(feature = "probe")]
    if let Some(response) = report::probe::answer(&req, &sentry, &ctx).await {
        return response;
    }
    match path.as_str() {
        path if path.starts_with("/sentry-tunnel") => {
            report::tunnel::answer::answer(req, &sentry, &ctx).await
        }
        "/health" => Response::from_json(&serde_json::json!({ "ok": true })),
        _ => Response::error("not found", 404),
    }
}
