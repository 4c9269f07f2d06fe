//! `/live`: says when a page would show something else, by server-sent events. What it would show is
//! not said: the page is asked for again.

use super::session::Visitor;
use crate::api::{App, internal};
use crate::approvals::Hands;
use crate::error::{Code, Fault};
use crate::packages::Target;
use crate::platform::clock::{now_ms, sleep_ms};
use crate::store::{approvals, history};
use crate::{schedules, services};
use futures_util::stream;
use worker::{Headers, Request, Response};

/// How often it looks.
const LOOK_MS: u64 = 1_000;

/// Looks of one stream: a browser asks again by itself, and is then known anew.
const LOOKS: u32 = 240;

/// After so many looks without a change there is a sign of life, so that nobody on the way closes it.
const BEAT: u32 = 15;

/// What is looked at.
#[derive(Debug, Clone)]
enum Of {
    Runs,
    Approvals,
    Run(String),
    Schedule(String),
    Service(Target),
}

/// `GET /live?of=runs|approvals`, `GET /live?run=`.
///
/// # Errors
///
/// No scope, nothing to look at, the database.
pub async fn answer(app: &App, req: &Request, visitor: &Visitor) -> Result<Response, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let what = url.query_pairs().next().map(|(name, value)| (name, value.into_owned()));
    let of = match what.as_ref().map(|(name, value)| (name.as_ref(), value.as_str())) {
        Some(("of", "approvals")) => Of::Approvals,
        Some(("of", "runs")) => Of::Runs,
        Some(("run", run)) => Of::Run(run.to_owned()),
        Some(("schedule", name)) => Of::Schedule(name.to_owned()),
        Some(("service", name)) => Of::Service(Target::read(name)?),
        _ => {
            return Err(Fault::new(
                Code::RouteNotFound,
                "There is nothing of that name to follow.",
            ));
        }
    };
    match &of {
        Of::Approvals if visitor.principal.may("approve") => {}
        Of::Service(target) if visitor.principal.may(&target.scope()) => {}
        _ => visitor.require("runs")?,
    }
    let hands = app.hands();
    let principal = visitor.principal.name.clone();
    if mark(&hands, &principal, &of).await?.is_empty() {
        return Err(Fault::new(Code::RunNotFound, "There is no such run of yours."));
    }
    // What the page shows may be older than this look: the first event says how it stands.
    let events = stream::unfold((0_u32, 0_u32, None::<String>), move |(look, still, known)| {
        let (hands, principal, of) = (hands.clone(), principal.clone(), of.clone());
        async move {
            let (mut look, mut still, mut known) = (look, still, known);
            loop {
                if look >= LOOKS {
                    return None;
                }
                if look > 0 {
                    sleep_ms(LOOK_MS).await;
                }
                look = look.saturating_add(1);
                still = still.saturating_add(1);
                // A look that failed says nothing: the next one does.
                let mark = mark(&hands, &principal, &of).await.ok().or_else(|| known.clone());
                let is_first = look == 1;
                if mark != known {
                    known = mark;
                    let event = if is_first {
                        "retry: 1000\nevent: changed\ndata: -\n\n"
                    } else {
                        "event: changed\ndata: -\n\n"
                    };
                    return Some((
                        Ok::<_, worker::Error>(event.as_bytes().to_vec()),
                        (look, 0, known),
                    ));
                }
                if still >= BEAT {
                    return Some((Ok(b":\n\n".to_vec()), (look, 0, known)));
                }
            }
        }
    });
    let made = || -> worker::Result<Response> {
        let headers = Headers::new();
        headers.set("content-type", "text/event-stream")?;
        headers.set("cache-control", "no-store")?;
        headers.set("x-content-type-options", "nosniff")?;
        Ok(Response::from_stream(Box::pin(events))?.with_headers(headers))
    };
    made().map_err(|error| internal(&error.to_string()))
}

/// A text that differs once the page does; empty when there is no such run.
async fn mark(hands: &Hands, principal: &str, of: &Of) -> Result<String, Fault> {
    let db = &hands.db;
    match of {
        Of::Runs => Ok(history::mark_of_runs(db, principal).await?),
        Of::Run(run) => Ok(history::mark_of_run(db, principal, run).await?),
        Of::Schedule(name) => {
            let told = schedules::get(hands, principal, name).await?;
            Ok(told + &schedules::history(hands, principal, name, None, None).await?)
        }
        Of::Service(target) => services::status(hands, principal, target).await,
        Of::Approvals => {
            let waiting = approvals::waiting(db, principal, now_ms()).await?;
            let newest = approvals::list(db, principal, "open", 1).await?;
            let newest = newest.first().map(|row| row.id.clone()).unwrap_or_default();
            Ok(format!("{waiting} {newest}"))
        }
    }
}
