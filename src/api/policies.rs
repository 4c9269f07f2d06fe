//! `/v1/policies`: the rules that say of each call whether it is made, and a dry run of them.

use super::{App, allow, auth, body, json_text, nothing_at};
use crate::auth::Principal;
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::store::lists::{self, Lists};
use crate::store::policies;
use crate::tools::find;
use crate::tools::policy::{self, Policy, Rule, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use worker::{Method, Request, Response};

/// Bytes of one list, as JSON.
const MAX_BYTES: usize = 262_144;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    #[serde(default = "own")]
    scope: Scope,
    rules: Vec<Rule>,
}

const fn own() -> Scope {
    Scope::Own
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Trial {
    tool: String,
    #[serde(default)]
    arguments: Value,
    /// Rules in place of the principal's own, to see what they would do.
    rules: Option<Vec<Rule>>,
}

/// What `/v1/policies` answers to; `rest` are the parts of the path after it.
///
/// # Errors
///
/// As the resource.
pub async fn route(app: &App, req: Request, rest: &[&str]) -> Result<Response, Fault> {
    match rest {
        [] => list(app, req).await,
        ["test"] => {
            allow(&req, &[Method::Post])?;
            test(app, req).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `/v1/policies`: the lists.
///
/// # Errors
///
/// Another method; no scope, a wrong rule, the database.
pub async fn list(app: &App, req: Request) -> Result<Response, Fault> {
    allow(&req, &[Method::Get, Method::Put, Method::Delete])?;
    match req.method() {
        Method::Put => put(app, req).await,
        Method::Delete => remove(app, &req).await,
        _ => get(app, &req).await,
    }
}

/// `GET /v1/policies`: `{all, own}`.
async fn get(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "policies").await?;
    shown(&policies::of(&app.db, &principal.name).await?)
}

/// `PUT /v1/policies`: replaces a list as a whole.
async fn put(app: &App, mut req: Request) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "policies").await?;
    let wanted: Wanted = body::json(&mut req).await?;
    replace(app, &principal, wanted.scope, &wanted.rules).await?;
    shown(&policies::of(&app.db, &principal.name).await?)
}

/// Replaces a list as a whole.
///
/// # Errors
///
/// A wrong rule, rules for all by somebody else than the admin, the database.
pub async fn replace(
    app: &App,
    principal: &Principal,
    scope: Scope,
    rules: &[Rule],
) -> Result<(), Fault> {
    policy::check(rules)?;
    let of = list_of(principal, scope)?;
    let text = serde_json::to_string(rules).map_err(|error| Fault::invalid("rules", error))?;
    if text.len() > MAX_BYTES {
        return Err(Fault::invalid("rules", format!("may have {MAX_BYTES} bytes at most")));
    }
    lists::put(&app.db, Lists::Policies, &of, &text, &principal.name, now_ms()).await?;
    Ok(())
}

/// `DELETE /v1/policies?scope=own`: removes a list.
async fn remove(app: &App, req: &Request) -> Result<Response, Fault> {
    let principal = auth::require(app, req, "policies").await?;
    lists::remove(&app.db, Lists::Policies, &list_of(&principal, scope_of(req)?)?).await?;
    shown(&policies::of(&app.db, &principal.name).await?)
}

/// `POST /v1/policies/test`: what would happen to a call, and which rule says so. Nothing is called.
///
/// # Errors
///
/// No scope, a wrong rule, the database.
pub async fn test(app: &App, mut req: Request) -> Result<Response, Fault> {
    let principal = auth::require(app, &req, "policies").await?;
    let trial: Trial = body::json(&mut req).await?;
    let mut policy = policies::of(&app.db, &principal.name).await?;
    if let Some(rules) = trial.rules {
        policy::check(&rules)?;
        policy.own = rules;
    }
    let declares = find::declares(&app.db, &principal.name, &trial.tool).await?;
    let decision = policy.decide(&trial.tool, &trial.arguments, declares);
    json_text(serde_json::to_string(&decision).unwrap_or_default(), 200)
}

/// Which list a query names: `?scope=own`, or `all`.
pub(super) fn scope_of(req: &Request) -> Result<Scope, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let mut scope = Scope::Own;
    for (name, value) in url.query_pairs() {
        scope = match (name.as_ref(), value.as_ref()) {
            ("scope", "own") => Scope::Own,
            ("scope", "all") => Scope::All,
            _ => return Err(Fault::invalid("scope", "must be own or all")),
        };
    }
    Ok(scope)
}

/// Whose list it is. What holds for all is for whoever runs the deployment.
pub(super) fn list_of(principal: &Principal, scope: Scope) -> Result<String, Fault> {
    match scope {
        Scope::Own => Ok(principal.name.clone()),
        Scope::All if principal.name == "admin" => Ok(lists::ALL.to_owned()),
        Scope::All => {
            let message = "What holds for all is changed by the admin only.";
            Err(Fault::new(Code::ScopeMissing, message).with("scope", "policies"))
        }
    }
}

fn shown(policy: &Policy) -> Result<Response, Fault> {
    json_text(json!({ "all": policy.all, "own": policy.own }).to_string(), 200)
}
