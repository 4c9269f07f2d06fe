//! `/policies`: the rules, a dry run, changing them.

use super::form::Form;
use super::session::Visitor;
use super::view::frame::Here;
use super::view::policies::{List, Page, Rule as Row, Trial, page};
use super::{Posted, Sent, Shown};
use crate::api::App;
use crate::api::body;
use crate::api::policies;
use crate::error::Fault;
use crate::store::policies as table;
use crate::tools;
use crate::tools::policy::{Rule, Scope};
use serde_json::{Value, json};

/// `GET /policies`.
///
/// # Errors
///
/// No scope, the database.
pub async fn index(app: &App, visitor: &Visitor) -> Result<Shown, Fault> {
    show(app, visitor, Trial::default()).await
}

async fn show(app: &App, visitor: &Visitor, trial: Trial<'_>) -> Result<Shown, Fault> {
    visitor.require("policies")?;
    let policy = table::of(&app.db, &visitor.principal.name).await?;
    let (all, own) = (rules(&policy.all), rules(&policy.own));
    let text = |rules: &[Rule]| serde_json::to_string_pretty(rules).unwrap_or_default();
    let is_admin = visitor.token.is_none();
    let lists = [
        List {
            scope: "all",
            title: "Rules for everybody",
            rules: &all,
            json: is_admin.then(|| text(&policy.all)),
        },
        List { scope: "own", title: "Your own rules", rules: &own, json: Some(text(&policy.own)) },
    ];
    let body = page(&Page { lists: &lists, trial, csrf: &visitor.csrf });
    Ok(Shown::new("Policies", Here::Policies, body))
}

/// `POST /policies/test`: what would happen to a call. Nothing is called.
///
/// # Errors
///
/// No scope, an argument that is no JSON, the database.
pub async fn test(app: &App, sent: &Sent<'_>) -> Result<Shown, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("policies")?;
    let tool = form.text("tool").trim();
    let arguments = form.given("arguments").unwrap_or("{}");
    let value: Value = body::parse(arguments.as_bytes())?;
    let policy = table::of(&app.db, &visitor.principal.name).await?;
    let decision = policy.decide(tool, &value, tools::declared(tool));
    let action = serde_json::to_value(decision.action).unwrap_or_default();
    let rule = serde_json::to_string(&decision.rule).unwrap_or_default();
    let came_to = Some((action.as_str().unwrap_or_default().to_owned(), rule));
    show(app, visitor, Trial { tool, arguments, came_to }).await
}

/// `POST /policies`: adds a rule, removes one, or replaces a list.
///
/// # Errors
///
/// No scope, a wrong rule, the database.
pub async fn change(app: &App, sent: &Sent<'_>) -> Result<Posted, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("policies")?;
    let scope = match form.text("scope") {
        "all" => Scope::All,
        "own" => Scope::Own,
        _ => return Err(Fault::invalid("scope", "must be own or all")),
    };
    let policy = table::of(&app.db, &visitor.principal.name).await?;
    let known = match scope {
        Scope::All => policy.all,
        Scope::Own => policy.own,
    };
    let changed = changed(form, known)?;
    policies::replace(app, &visitor.principal, scope, &changed).await?;
    Ok(Posted::to("/policies"))
}

/// A list as a form would have it.
fn changed(form: &Form, known: Vec<Rule>) -> Result<Vec<Rule>, Fault> {
    if form.given("replace").is_some() {
        return body::parse(form.text("rules").as_bytes());
    }
    let mut rules = known;
    if let Some(number) = form.given("remove") {
        let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let place = place.filter(|place| {
            // The list may have changed since the page was made.
            rules.get(*place).is_some_and(|rule| rule.pattern == form.text("rule"))
        });
        let gone = || Fault::invalid("rule", "is not there any more; load the page again");
        rules.remove(place.ok_or_else(gone)?);
        return Ok(rules);
    }
    let when: Value = body::parse(form.given("when").unwrap_or("[]").as_bytes())?;
    let rule = json!({
        "pattern": form.text("pattern").trim(),
        "action": form.text("action"),
        "when": when,
        "note": form.given("note"),
    });
    rules.push(serde_json::from_value(rule).map_err(|error| Fault::invalid("rule", error))?);
    Ok(rules)
}

fn rules(rules: &[Rule]) -> Vec<Row> {
    let text = |value: Result<Value, _>| -> Value { value.unwrap_or_default() };
    rules
        .iter()
        .map(|rule| Row {
            pattern: rule.pattern.clone(),
            when: rule
                .when
                .iter()
                .map(|condition| text(serde_json::to_value(condition)).to_string())
                .collect(),
            action: text(serde_json::to_value(rule.action)).as_str().unwrap_or_default().to_owned(),
            note: rule.note.clone(),
            window_ms: rule.window_ms,
        })
        .collect()
}
