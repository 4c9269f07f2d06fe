//! `/approvals`: what waits for people, and deciding it.

use super::session::Visitor;
use super::view::approval::{Done, List, Page, Question, STATES, list, page};
use super::view::fault::notice;
use super::view::frame::Here;
use super::{Posted, Sent, Shown, query};
use crate::api::App;
use crate::approvals::{self, Choice, Decide};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::store::approvals::{self as table, Row};
use crate::store::{dispatches, journal, runs};
use crate::tools::policy::redacted;
use serde_json::Value;
use worker::Request;

/// Questions of one page.
const MAX_LIST: u64 = 200;

/// Whoever may decide, and whoever may look at runs, may look.
fn may_look(visitor: &Visitor) -> Result<(), Fault> {
    if visitor.principal.may("approve") { Ok(()) } else { visitor.require("runs") }
}

/// `GET /approvals?state=`.
///
/// # Errors
///
/// No scope, an unknown state, the database.
pub async fn index(app: &App, req: &Request, visitor: &Visitor) -> Result<Shown, Fault> {
    may_look(visitor)?;
    let wanted = query(req, "state")?.unwrap_or_else(|| "open".to_owned());
    let known = STATES.iter().find(|(state, _)| *state == wanted);
    let (state, _) = known.ok_or_else(|| Fault::invalid("state", "is none that there is"))?;
    let now = now_ms();
    app.db.run(&table::expire(now)).await?;
    let rows = table::list(&app.db, &visitor.principal.name, state, MAX_LIST).await?;
    let questions: Vec<Question> = rows.into_iter().map(question).collect();
    let body = list(&List { state, questions: &questions, now });
    let shown = Shown::new("Approvals", Here::Approvals, body);
    Ok(if *state == "open" { shown.live("/live?of=approvals") } else { shown })
}

/// `GET /approvals/:id`.
///
/// # Errors
///
/// No scope, no such approval, the database.
pub async fn one(app: &App, visitor: &Visitor, id: &str) -> Result<Shown, Fault> {
    may_look(visitor)?;
    let principal = visitor.principal.name.as_str();
    let not_found = || Fault::new(Code::ApprovalNotFound, "There is no such approval of yours.");
    let row = table::find(&app.db, principal, id).await?.ok_or_else(not_found)?;
    let now = now_ms();
    let rows = table::of_run(&app.db, &row.run_id, now).await?;
    let run = runs::find(&app.db, principal, &row.run_id).await?;
    let input = journal::input(&app.db, &row.run_id).await?;
    let done = dispatches::of_run(&app.db, &row.run_id).await?;
    let questions: Vec<Question> = rows.into_iter().map(question).collect();
    let asked = questions.iter().find(|other| other.id == id).ok_or_else(not_found)?;
    let others: Vec<&Question> =
        questions.iter().filter(|other| other.state == "open" && other.id != id).collect();
    let done: Vec<Done> = done
        .into_iter()
        .map(|call| Done { n: call.n, tool: call.path, state: call.state })
        .collect();
    let input = input.map(|(source, params)| (source, without_secrets(&params)));
    let body = page(&Page {
        question: asked,
        input: input.as_ref().map(|(source, params)| (source.as_str(), params.as_str())),
        label: run.as_ref().and_then(|run| run.label.as_deref()),
        done: &done,
        others: &others,
        may_decide: visitor.principal.may("approve"),
        csrf: &visitor.csrf,
        now,
    });
    Ok(Shown::new(&format!("Call of {}", asked.tool), Here::Approvals, body))
}

/// `POST /approvals/:id`: decides, and has the run go on.
///
/// # Errors
///
/// No scope, no such approval, the database.
pub async fn decide(app: &App, sent: &Sent<'_>, id: &str) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("approve")?;
    let decision = match form.text("decision") {
        "allow" => Choice::Allow,
        "allow_run" => Choice::AllowRun,
        "decline" => Choice::Decline,
        "cancel" => Choice::Cancel,
        _ => {
            let what = "must be allow, allow_run, decline or cancel";
            return Err(Fault::invalid("decision", what));
        }
    };
    let wanted = Decide { decision, reason: form.given("reason").map(str::to_owned) };
    let who = (visitor.principal.name.as_str(), visitor.by());
    match approvals::decide(&app.db, &app.desk, who, id, &wanted).await {
        Ok(row) => {
            app.hands().take_up_later(&row.run_id);
            Ok(Posted::To(format!("/approvals/{}", row.id)))
        }
        // Somebody was first, or the reason is too long: the page says so above what stands.
        Err(fault) if matches!(fault.code, Code::ApprovalStands | Code::InvalidRequest) => {
            let shown = one(app, visitor, id).await?.above(&notice(&fault));
            Ok(Posted::Shown(shown.refused(app, &fault)))
        }
        Err(fault) => Err(fault),
    }
}

/// Parameters as a person is shown them.
pub(super) fn without_secrets(params: &str) -> String {
    serde_json::from_str::<Value>(params)
        .map(|value| redacted(&value).to_string())
        .unwrap_or_default()
}

fn question(row: Row) -> Question {
    Question {
        id: row.id,
        run: row.run_id,
        n: row.n,
        tool: row.path,
        arguments: row.arguments,
        rule: row.rule,
        state: row.state,
        for_run: row.for_run > 0,
        reason: row.reason,
        decided_by: row.decided_by,
        created_at: row.created_at,
        expires_at: row.expires_at,
        decided_at: row.decided_at,
        line: row.line,
    }
}
