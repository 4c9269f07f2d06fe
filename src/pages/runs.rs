//! `/` and `/runs`: the list, one run, running a program, running one again, ending one, undoing one.

use super::session::Visitor;
use super::view::arguments;
use super::view::frame::Here;
use super::view::run::{self as one_run, Call, Line, May, Relative, Undo, Waiting, Wrong};
use super::view::runs::{self as list, Filter};
use super::view::text::headline;
use super::view::timeline::{Attempt, Dispatch, Question, Timeline};
use super::{Posted, Sent, Shown, query};
use crate::api::{App, origin, streaming};
use crate::attempt::Order;
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::rollback;
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest};
use crate::store::approvals::Row as Asked;
use crate::store::history::{self, Wanted};
use crate::store::runs::{self as table, Cursor};
use crate::store::{approvals, attempts, journal};
use futures_util::try_join;
use serde::Deserialize;
use serde_json::value::RawValue;
use worker::Request;

/// Runs of one page.
const PAGE: u64 = 50;

/// `GET /?status&surface&tool&text&cursor`.
///
/// # Errors
///
/// No scope, a bad filter, the database.
pub async fn index(app: &App, req: &Request, visitor: &Visitor) -> Result<Shown, Fault> {
    visitor.require("runs")?;
    let field = |name| query(req, name).map(Option::unwrap_or_default);
    let (status, surface, tool, text) =
        (field("status")?, field("surface")?, field("tool")?, field("text")?);
    if !status.is_empty() && Status::parse(&status).is_none() {
        return Err(Fault::invalid("status", "is none that there is"));
    }
    let cursor = query(req, "cursor")?;
    let place = cursor.as_deref().map(|text| {
        runs::read_cursor(text).ok_or_else(|| Fault::invalid("cursor", "is none that a page gave"))
    });
    let given = |text: &'_ str| (!text.is_empty()).then_some(text.to_owned());
    let (by_status, by_surface, by_tool, by_text) =
        (given(&status), given(&surface), given(&tool), given(&text));
    let wanted = Wanted {
        status: by_status.as_deref(),
        surface: by_surface.as_deref(),
        tool: by_tool.as_deref(),
        text: by_text.as_deref(),
        cursor: place.transpose()?,
        limit: PAGE.saturating_add(1),
    };
    let mut rows = history::list(&app.db, &visitor.principal.name, &wanted).await?;
    let has_more = rows.len() > usize::try_from(PAGE).unwrap_or(usize::MAX);
    rows.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let older = rows.last().filter(|_| has_more).map(|last| {
        let cursor =
            runs::cursor_text(&Cursor { created_at: last.created_at, id: last.id.clone() });
        let mut fields = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in
            [("status", &status), ("surface", &surface), ("tool", &tool), ("text", &text)]
        {
            if !value.is_empty() {
                fields.append_pair(name, value);
            }
        }
        format!("/?{}", fields.append_pair("cursor", &cursor).finish())
    });
    let shown: Vec<list::Run> = rows.into_iter().map(row).collect();
    let body = list::page(&list::Page {
        runs: &shown,
        filter: Filter { status: &status, surface: &surface, tool: &tool, text: &text },
        is_later: cursor.is_some(),
        older,
        may_run: visitor.principal.may("execute"),
        csrf: &visitor.csrf,
        now: now_ms(),
    });
    let shown = Shown::new("Runs", Here::Runs, body);
    // A page further back stands as it is.
    Ok(if cursor.is_none() { shown.live("/live?of=runs") } else { shown })
}

fn row(row: history::Row) -> list::Run {
    list::Run {
        id: row.id,
        status: row.status,
        surface: row.surface,
        label: row.label,
        head: row.head.unwrap_or_default(),
        created_at: row.created_at,
        ended_at: row.ended_at,
        error_kind: row.error_kind,
        is_nested: row.parent_id.is_some(),
        calls: row.calls,
        questions: row.questions,
        compute_ms: row.compute_ms,
    }
}

/// What a page needs of a response.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    status: String,
    result: Option<Box<RawValue>>,
    error: Option<String>,
    error_details: Option<Details>,
    emitted: Vec<Box<RawValue>>,
    logs: Vec<Line>,
    warnings: Vec<String>,
    surface: String,
    label: Option<String>,
    created_at: u64,
    ended_at: Option<u64>,
    rollback_steps: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Details {
    code: String,
    next_step: String,
    line: Option<u64>,
    /// The module, of a package.
    file: Option<String>,
}

/// `GET /runs/:id`.
///
/// # Errors
///
/// No scope, no such run, the database.
pub async fn one(app: &App, req: &Request, visitor: &Visitor, id: &str) -> Result<Shown, Fault> {
    visitor.require("runs")?;
    let (db, principal) = (&app.db, visitor.principal.name.as_str());
    let text = runs::get(db, &app.desk, principal, id).await?;
    let told: Told = serde_json::from_str(&text)
        .map_err(|error| Fault::internal(id, format!("a stored response: {error}")))?;
    let gone = || Fault::new(Code::RunNotFound, "There is no such run of yours.");
    let now = now_ms();
    let (run, input, spent, calls, asked, children, parent) = try_join!(
        table::find(db, principal, id),
        journal::input(db, id),
        attempts::of_run(db, id),
        history::dispatches(db, id),
        approvals::of_run(db, id, now),
        history::children(db, principal, id),
        history::parent(db, principal, id),
    )?;
    let run = run.ok_or_else(gone)?;
    let ended_at = told.ended_at.unwrap_or_default();
    let is_kept = now < ended_at.saturating_add(rollback::KEPT_MS);
    let undo = match told.rollback_steps.filter(|_| is_kept) {
        None => None,
        Some(steps) => Some(Undo { steps, by: rollback::run_of(db, principal, id).await? }),
    };

    let status = Status::parse(&told.status).unwrap_or(Status::Running);
    let timeline = timeline(&run, &told, &spent, &calls, &asked, now);
    let (source, params) = input.unwrap_or_default();
    let params = super::approvals::without_secrets(&params);
    let waiting: Vec<Waiting> = asked
        .iter()
        .filter(|row| row.state == "open")
        .map(|row| Waiting {
            id: row.id.clone(),
            tool: row.path.clone(),
            expires_at: row.expires_at,
        })
        .collect();
    let emitted: Vec<String> = told.emitted.iter().map(|value| value.get().to_owned()).collect();
    let wrong = told.error.map(|message| {
        let details = told.error_details.unwrap_or_default();
        Wrong {
            message,
            code: details.code,
            next_step: details.next_step,
            line: details.line,
            file: details.file,
        }
    });
    let sum = |of: fn(&attempts::Row) -> Option<u64>| {
        spent.iter().filter_map(of).fold(0_u64, u64::saturating_add)
    };
    let shown: Vec<Call> = calls.into_iter().map(call).collect();
    let children: Vec<Relative> = children.into_iter().map(relative).collect();
    let parent = parent.map(relative);
    let body = one_run::page(&one_run::Page {
        id,
        status: status.as_str(),
        surface: &told.surface,
        label: told.label.as_deref(),
        source: &source,
        params: &params,
        result: told.result.as_deref().map(RawValue::get),
        wrong,
        warnings: &told.warnings,
        emitted: &emitted,
        lines: &told.logs,
        calls: &shown,
        waiting: &waiting,
        timeline: &timeline,
        spent: (sum(|row| row.compute_ms), sum(|row| row.tools_ms)),
        parent: parent.as_ref(),
        children: &children,
        undo: undo.as_ref(),
        may: May {
            cancel: !status.is_final() && visitor.principal.may("execute"),
            again: status.is_final()
                && told.surface == Surface::Execute.as_str()
                && visitor.principal.may("execute"),
            undo: visitor.principal.may("execute"),
        },
        csrf: &visitor.csrf,
        origin: &origin(req),
    });
    let name = told.label.as_deref().unwrap_or_else(|| headline(&source));
    let shown = Shown::new(if name.is_empty() { "Run" } else { name }, Here::Runs, body);
    Ok(if status.is_final() { shown } else { shown.live(&format!("/live?run={id}")) })
}

fn timeline(
    run: &table::Row,
    told: &Told,
    spent: &[attempts::Row],
    calls: &[history::Dispatch],
    asked: &[Asked],
    now: u64,
) -> Timeline {
    let is_running = told.status == Status::Running.as_str();
    let last = spent.last().map(|row| row.fence);
    let attempts = spent
        .iter()
        .map(|row| {
            // The one that is at work has its first word when it ends: until then its program counts
            // as begun. One that was lost ended somewhere before the next.
            let is_at_work = is_running && row.ended_at.is_none() && Some(row.fence) == last;
            let loaded_at = match row.loaded_ms {
                Some(ms) => Some(row.began_at.saturating_add(ms)),
                None => is_at_work.then_some(row.began_at),
            };
            Attempt {
                began_at: row.began_at,
                loaded_at,
                replayed_at: row
                    .replayed_ms
                    .and_then(|ms| loaded_at.map(|at| at.saturating_add(ms))),
                ended_at: match row.ended_at {
                    None if !is_at_work => {
                        let next = spent.iter().find(|other| other.fence > row.fence);
                        next.map(|next| next.began_at).or(told.ended_at)
                    }
                    ended_at => ended_at,
                },
            }
        })
        .collect();
    Timeline {
        from: told.created_at,
        to: told.ended_at.unwrap_or(now).max(told.created_at),
        budget_ms: run.budget_ms,
        ceiling_ms: spent.last().map(|row| row.ceiling_ms),
        attempts,
        dispatches: calls
            .iter()
            .map(|call| Dispatch {
                n: call.n,
                tool: call.path.clone(),
                state: call.state.clone(),
                called_at: call.called_at,
                returned_at: call.returned_at,
            })
            .collect(),
        questions: asked
            .iter()
            .map(|row| Question {
                id: row.id.clone(),
                tool: row.path.clone(),
                state: row.state.clone(),
                asked_at: row.created_at,
                decided_at: row.decided_at,
            })
            .collect(),
    }
}

fn call(row: history::Dispatch) -> Call {
    Call {
        n: row.n,
        arguments: arguments::shown(&row.arguments, row.bytes_in),
        reply: row.reply.map(|reply| {
            let whole = row.bytes_out.unwrap_or_default();
            arguments::shown(&reply, whole)
        }),
        tool: row.path,
        state: row.state,
        bytes: (row.bytes_in, row.bytes_out),
        called_at: row.called_at,
        returned_at: row.returned_at,
    }
}

fn relative(row: history::Relative) -> Relative {
    Relative { id: row.id, status: row.status, label: row.label }
}

/// `POST /runs`: runs a program, and shows it.
///
/// # Errors
///
/// No scope, whatever refuses the request before there is a run.
pub async fn create(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    let request = RunRequest {
        code: form.lines("code"),
        params: None,
        budget_ms: None,
        label: form.given("label").map(str::to_owned),
        limits: None,
    };
    start(app, &sent.origin, visitor, request).await
}

/// `POST /runs/:id/again`: runs the same program with the same parameters.
///
/// # Errors
///
/// As [`create`]; no such run.
pub async fn again(app: &App, sent: &Sent<'_>, id: &str) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    let gone = || Fault::new(Code::RunNotFound, "There is no such run of yours.");
    let run = table::find(&app.db, &visitor.principal.name, id).await?.ok_or_else(gone)?;
    if run.surface != Surface::Execute.as_str() {
        return Err(Fault::invalid("run", "was not sent as a program"));
    }
    let (code, params) = journal::input(&app.db, id).await?.ok_or_else(gone)?;
    let params =
        RawValue::from_string(params).map_err(|error| Fault::internal(id, error.to_string()))?;
    let request = RunRequest {
        code,
        params: Some(params),
        budget_ms: Some(run.budget_ms.min(app.config.budget_ms(Surface::Execute)).into()),
        label: run.label,
        limits: None,
    };
    start(app, &sent.origin, visitor, request).await
}

async fn start(
    app: &App,
    origin: &str,
    visitor: &Visitor,
    request: RunRequest,
) -> Result<Posted, Fault> {
    visitor.require("execute")?;
    let principal = &visitor.principal.name;
    let order = runs::order(&app.config, principal, Surface::Execute, request, now_ms())?;
    follow(app, origin, order).await
}

/// Runs an order, and shows its run.
///
/// # Errors
///
/// Whatever refuses it before there is a run.
pub async fn follow(app: &App, origin: &str, order: Order) -> Result<Posted, Fault> {
    let order = Order { origin: origin.to_owned(), ..order };
    let place = format!("/runs/{}", order.run_id);
    // Whoever pressed the button is shown the run as it goes; leaving the page does not end it.
    if let Ok(Err(fault)) = streaming::run(app, order, None).await {
        return Err(fault);
    }
    Ok(Posted::To(place))
}

/// `POST /runs/:id/rollback`: undoes what a run did, and shows the run that does.
///
/// # Errors
///
/// No scope, no such run, one that is not undone, the database.
pub async fn roll_back(app: &App, sent: &Sent<'_>, id: &str) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    visitor.require("execute")?;
    let (db, principal) = (&app.db, visitor.principal.name.as_str());
    let order = rollback::order(db, &app.config, principal, id, now_ms()).await?;
    let followed = follow(app, &sent.origin, order).await;
    // Whoever asked first has begun it.
    match rollback::run_of(db, principal, id).await? {
        Some(by) => Ok(Posted::To(format!("/runs/{by}"))),
        None => followed,
    }
}

/// `POST /runs/:id/cancel`.
///
/// # Errors
///
/// No scope, no such run, the database.
pub async fn cancel(app: &App, sent: &Sent<'_>, id: &str) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    visitor.require("execute")?;
    runs::cancel(&app.db, &app.desk, &visitor.principal.name, id).await?;
    Ok(Posted::To(format!("/runs/{id}")))
}
