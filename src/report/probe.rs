//! Errors and panics raised on request, to see that they arrive where they should.
//!
//! Only with `SENTRY_PROBE=true`; without it there are no such routes. It asks nobody for a
//! token and a panic costs whatever else is in flight, so it is for trying out a deployment and
//! for tests, and is switched off afterwards.
//!
//! | route | |
//! |---|---|
//! | `POST /sentry-probe/report` | reports an error made of the JSON body, and answers at once |
//! | `POST /sentry-probe/panic` | panics |
//! | `POST /sentry-probe/slow` | answers after a second, if its instance lives that long |

use std::time::Duration;

use serde_json::Value;
use worker::{Context, Delay, Method, Request, Response};

use super::config::SentryConfig;
use super::event::{Cause, Place, Report};
use super::redact::Redactor;
use super::reporter;

/// Answers a probe's route; `None` for any other.
///
/// # Panics
///
/// On the route that is for it.
pub async fn answer(
    req: &Request,
    config: &SentryConfig,
    ctx: &Context,
) -> Option<worker::Result<Response>> {
    if !config.probe || req.method() != Method::Post {
        return None;
    }
    match req.path().as_str() {
        "/sentry-probe/report" => {
            let body: Value = serde_json::from_str(&req.clone().ok()?.text().await.ok()?).ok()?;
            let redactor = Redactor::new(["probe-secret"]);
            reporter::capture(&report(&body), config, &redactor, ctx);
            Some(Response::ok("reported"))
        }
        "/sentry-probe/panic" => {
            #[expect(clippy::panic, reason = "this is what the route is for")]
            {
                panic!("boom with token=abcdefgh")
            }
        }
        "/sentry-probe/slow" => {
            Delay::from(Duration::from_secs(1)).await;
            Some(Response::ok("slow"))
        }
        _ => None,
    }
}

fn report(body: &Value) -> Report {
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let causes = body.get("causes").and_then(Value::as_array).cloned().unwrap_or_default();
    Report {
        code: text("code").unwrap_or_default(),
        kind: text("kind").unwrap_or_default(),
        message: text("message").unwrap_or_default(),
        causes: causes
            .iter()
            .filter_map(|cause| {
                let field = |name: &str| cause.get(name)?.as_str().map(str::to_owned);
                Some(Cause { name: field("name")?, message: field("message")? })
            })
            .collect(),
        surface: text("surface"),
        phase: text("phase"),
        runtime: text("runtime"),
        place: body.get("line").map(|_| Place { line: 3, column: 7 }),
        run: text("run"),
        correlation: text("correlation"),
    }
}
