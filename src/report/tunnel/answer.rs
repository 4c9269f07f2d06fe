//! The tunnel's edge: reads a request, does what `tunnel` decides, hands the answer back.
//!
//! The body is bytes from end to end. It is held outside of Wasm, at most 25 MiB of it; Rust
//! sees each piece once. Nothing that goes wrong here becomes an event.

use js_sys::{Float64Array, Uint8Array};
use wasm_bindgen::JsCast;
use worker::{Context, Headers, Request, Response, ResponseBuilder};

use super::{Decision, Head, Intake, MAX_BODY_BYTES, Refusal, error_body, settled_body};
use crate::report::config::SentryConfig;
use crate::report::reporter;
use crate::report::transport::{self, Answer, NoAnswer, Payload, sys};

/// Answers a request to the tunnel.
///
/// Asks nothing of its caller: without a DSN, and for a path that is not the tunnel's, the
/// answer is 404. What was dropped is reported in `wait_until`, after the answer.
///
/// # Errors
///
/// When the platform fails to make an answer.
pub async fn answer(
    req: Request,
    config: &SentryConfig,
    ctx: &Context,
) -> worker::Result<Response> {
    match take(&req, config, ctx).await {
        Ok(response) => response,
        Err(refusal) => refuse(&refusal),
    }
}

async fn take(
    req: &Request,
    config: &SentryConfig,
    ctx: &Context,
) -> Result<worker::Result<Response>, Refusal> {
    let url = req.url().map_err(|_| Refusal::NotFound)?;
    let header = |name: &str| req.headers().get(name).ok().flatten();
    let method = req.inner().method();
    let head = Head {
        method: &method,
        path: url.path(),
        query_keys: url
            .query_pairs()
            .filter(|(name, _)| name == "sentry_key")
            .map(|(_, key)| key.into_owned())
            .collect(),
        content_encoding: header("content-encoding"),
        content_length: header("content-length"),
        auth: header("x-sentry-auth"),
    };
    let intake = Intake::admit(&head, config)?;
    // `admit` has seen that there is one.
    let dsn = config.dsn.as_ref().ok_or(Refusal::NotFound)?;
    let (decision, body) = read(req, intake).await?;
    Ok(match decision {
        Decision::Settled { event_id, losses } => {
            reporter::count(&losses);
            reporter::report_losses(dsn, ctx);
            json(200, &settled_body(event_id.as_ref()))
        }
        Decision::Forward { kept, losses } => {
            reporter::count(&losses);
            let ranges: Vec<f64> = kept
                .iter()
                .flat_map(|range| [range.start, range.end])
                .filter_map(|place| u32::try_from(place).ok().map(f64::from))
                .collect();
            let payload = Payload::Held(&body, Float64Array::from(ranges.as_slice()));
            let forwarded = transport::post(
                dsn,
                &payload,
                &headers_to_pass(req, config),
                2,
                config.upstream_timeout_ms,
            )
            .await;
            reporter::report_losses(dsn, ctx);
            hand_back(forwarded)
        }
    })
}

async fn read(req: &Request, mut intake: Intake<'_>) -> Result<(Decision, sys::Held), Refusal> {
    let failed = |_| Refusal::Malformed("the body cannot be read".into());
    let encoding = intake.encoding().as_str();
    if !sys::can_inflate(encoding).unwrap_or(false) {
        return Err(Refusal::Encoding);
    }
    let held = sys::Held::new().map_err(failed)?;
    let stream = req.inner().body().into();
    // Exact: 25 MiB are far inside what a double holds.
    let limit = u32::try_from(MAX_BODY_BYTES).map_or(f64::MAX, f64::from);
    let body = sys::EnvelopeBody::new(&stream, encoding, limit).map_err(failed)?;
    let mut copy = Vec::new();
    loop {
        let piece = match body.next().await {
            Ok(piece) if piece.is_undefined() => break,
            Ok(piece) => piece.unchecked_into::<Uint8Array>(),
            Err(_) if body.outgrown().unwrap_or(false) => return Err(Refusal::TooLarge),
            Err(_) => {
                let what = "the body is cut short, or is not in the encoding that is named";
                return Err(Refusal::Malformed(what.into()));
            }
        };
        copy.resize(usize::try_from(piece.length()).unwrap_or_default(), 0);
        piece.copy_to(&mut copy);
        match intake.take(&copy) {
            Ok(true) => held.push(&piece).map_err(failed)?,
            // Counted on, so that the answer is the earliest check's, but no longer held.
            Ok(false) => held.clear().map_err(failed)?,
            Err(refusal) => {
                // What was not read is let go of; that this fails changes nothing.
                let _ = body.cancel().await;
                return Err(refusal);
            }
        }
    }
    Ok((intake.finish()?, held))
}

/// What the server is told of the client: never cookies, credentials or where it came from.
fn headers_to_pass(req: &Request, config: &SentryConfig) -> Vec<(&'static str, String)> {
    let header = |name: &str| req.headers().get(name).ok().flatten();
    let mut passed = Vec::new();
    for name in ["user-agent", "origin"] {
        passed.extend(header(name).map(|value| (name, value)));
    }
    if config.forward_address {
        passed.extend(header("cf-connecting-ip").map(|ip| ("x-sentry-forwarded-for", ip)));
    }
    passed
}

fn hand_back(forwarded: Result<Answer, NoAnswer>) -> worker::Result<Response> {
    let answer = match forwarded {
        // A redirect is no answer: it is not followed, and not handed on.
        Ok(answer) if (300..400).contains(&answer.status) => Err(NoAnswer::Failed),
        other => other,
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(NoAnswer::TimedOut) => {
            worker::console_warn!("sentry tunnel: the server did not answer in time");
            return json(504, &error_body("the Sentry server did not answer in time"));
        }
        Err(NoAnswer::Failed) => {
            worker::console_warn!("sentry tunnel: the server could not be reached");
            return json(502, &error_body("the Sentry server could not be reached"));
        }
    };
    let headers = own_headers()?;
    let passed = [
        ("content-type", answer.content_type),
        ("retry-after", answer.retry_after),
        ("x-sentry-rate-limits", answer.rate_limits),
        ("x-sentry-error", answer.error),
    ];
    for (name, value) in passed {
        if let Some(value) = value {
            headers.set(name, &value)?;
        }
    }
    let builder = ResponseBuilder::new().with_status(answer.status).with_headers(headers);
    // These have no body, and the platform refuses to make them with one.
    Ok(if matches!(answer.status, 204 | 205) {
        builder.empty()
    } else {
        builder.fixed(answer.body)
    })
}

fn refuse(refusal: &Refusal) -> worker::Result<Response> {
    let response = json(refusal.status(), &error_body(&refusal.detail()))?;
    if *refusal == Refusal::MethodNotAllowed {
        response.headers().set("allow", "POST")?;
    }
    Ok(response)
}

fn json(status: u16, body: &str) -> worker::Result<Response> {
    let headers = own_headers()?;
    headers.set("content-type", "application/json")?;
    let body = body.as_bytes().to_vec();
    Ok(ResponseBuilder::new().with_status(status).with_headers(headers).fixed(body))
}

fn own_headers() -> worker::Result<Headers> {
    let headers = Headers::new();
    headers.set("cache-control", "no-store")?;
    headers.set("x-content-type-options", "nosniff")?;
    Ok(headers)
}
