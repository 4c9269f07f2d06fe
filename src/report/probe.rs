//! Routes that raise what does not happen by itself, for the tests of reports.
//!
//! | route | |
//! |---|---|
//! | `POST /probe/report` | reports a [`Report`] made of the JSON body, and answers at once |
//! | `GET /probe/panic` | panics with `boom` and a secret |
//! | `GET /probe/slow` | answers after a second, if its instance lives that long |

use std::time::Duration;

use serde_json::Value;
use worker::{Context, Delay, Request, Response};

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
    match req.path().as_str() {
        "/probe/report" => {
            let body: Value = serde_json::from_str(&req.clone().ok()?.text().await.ok()?).ok()?;
            let redactor = Redactor::new(["probe-secret"]);
            reporter::capture(&report(&body), config, &redactor, ctx);
            Some(Response::ok("reported"))
        }
        "/probe/panic" => {
            #[expect(clippy::panic, reason = "this is what the route is for")]
            {
                panic!("boom with token=abcdefgh")
            }
        }
        "/probe/slow" => {
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
