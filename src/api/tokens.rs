//! `/v1/tokens`: make one (its secret is shown once), list them, revoke one.

use super::{App, allow, auth as request_auth, body, internal, json_text, nothing_at};
use crate::auth::{self, Principal};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::store::tokens::{self, Token};
use serde::Deserialize;
use serde_json::json;
use worker::{Method, Request, Response};

/// The longest life of a token, in milliseconds: ten years, so that a slip of the pen is noticed.
const MAX_LIFE_MS: u64 = 315_360_000_000;

/// A token to make.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// Its owner's name for it.
    pub label: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// Whose it is; the maker's without.
    pub principal: Option<String>,
    /// How long it works; for ever without.
    pub expires_in_ms: Option<u64>,
    /// Whom of Cloudflare Access it is bound to.
    pub email: Option<String>,
}

/// Whether a principal may make tokens that may. Nobody hands on what it does not have; only the
/// admin token makes approvers.
#[must_use]
pub fn may_hand_on(owner: &Principal, scope: &str) -> bool {
    owner.may(scope) || owner.name == "admin"
}

/// `/v1/tokens`; `segments` is what follows.
///
/// # Errors
///
/// Whatever refuses the request.
pub async fn route(app: &App, req: Request, segments: &[&str]) -> Result<Response, Fault> {
    match segments {
        [] => {
            allow(&req, &[Method::Get, Method::Post])?;
            if req.method() == Method::Post {
                create(app, req).await
            } else {
                list(app, &req).await
            }
        }
        [id] => {
            allow(&req, &[Method::Delete])?;
            revoke(app, &req, id).await
        }
        _ => Err(nothing_at(&req.path())),
    }
}

/// `POST /v1/tokens` makes a token: `{token, id, …}`, the secret for the only time.
///
/// # Errors
///
/// Bad input, no scope, the database.
pub async fn create(app: &App, mut req: Request) -> Result<Response, Fault> {
    let owner = request_auth::require(app, &req, "tokens").await?;
    let wanted: Wanted = body::json(&mut req).await?;
    let (token, whole) = make(app, &owner, wanted).await?;
    let mut shown = view(&token);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("token".to_owned(), json!(whole));
    }
    json_text(shown.to_string(), 201)
}

/// Makes a token of `owner`'s: its row, and the token whole, for the only time.
///
/// # Errors
///
/// Bad input, a scope that `owner` lacks, the database.
pub async fn make(app: &App, owner: &Principal, wanted: Wanted) -> Result<(Token, String), Fault> {
    if wanted.label.is_empty() || wanted.label.len() > 200 {
        return Err(Fault::invalid("label", "must have 1 to 200 bytes"));
    }
    if wanted.scopes.is_empty() || wanted.scopes.len() > 50 {
        return Err(Fault::invalid("scopes", "must name 1 to 50 scopes"));
    }
    for scope in &wanted.scopes {
        if !auth::is_scope(scope) {
            let what = format!("must be of {}, or invoke:name[/export]", auth::SCOPES.join(", "));
            return Err(Fault::invalid("scopes", what));
        }
        if !may_hand_on(owner, scope) {
            return Err(request_auth::missing(scope));
        }
    }
    if let Some((gates, runs)) = auth::clash(&wanted.scopes) {
        let what = format!(
            "has {gates} beside {runs}: an agent does not change what gates it. Make two tokens, or a \
             person's with approve"
        );
        return Err(Fault::invalid("scopes", what));
    }
    let principal = match wanted.principal {
        None => owner.name.clone(),
        Some(name) if owner.name == "admin" && is_name(&name) => name,
        Some(_) if owner.name == "admin" => {
            let what = "must have 1 to 64 letters, digits, dots, dashes, underscores or @";
            return Err(Fault::invalid("principal", what));
        }
        Some(name) if name == owner.name => name,
        Some(_) => return Err(Fault::invalid("principal", "can be chosen by the admin only")),
    };
    let email = match wanted.email.map(|text| crate::access::email(&text)) {
        None => None,
        // Whoever has the e-mail is then what the token is: nobody claims somebody else.
        Some(_) if owner.name != "admin" => {
            return Err(Fault::invalid("email", "can be bound by the admin only"));
        }
        Some(None) => return Err(Fault::invalid("email", "is none")),
        Some(email) => email,
    };
    let now = now_ms();
    let expires_at = match wanted.expires_in_ms {
        None => None,
        Some(life) if (1..=MAX_LIFE_MS).contains(&life) => Some(now.saturating_add(life)),
        Some(_) => {
            return Err(Fault::invalid("expiresInMs", format!("must be from 1 to {MAX_LIFE_MS}")));
        }
    };
    let random = |made: worker::Result<String>| made.map_err(|error| internal(&error.to_string()));
    let id = random(random::hex::<8>())?;
    let secret = random(random::hex::<32>())?;
    let token = Token {
        id: id.clone(),
        principal: principal.clone(),
        hash: auth::hash(&secret),
        label: wanted.label,
        scopes: wanted.scopes.join(" "),
        created_at: now,
        expires_at,
        revoked_at: None,
        last_used_at: None,
        email,
    };
    tokens::insert(&app.db, &token).await?;
    Ok((token, auth::join(&id, &secret)))
}

/// Lists the principal's tokens, never a secret.
///
/// # Errors
///
/// No scope, the database.
pub async fn list(app: &App, req: &Request) -> Result<Response, Fault> {
    let owner = request_auth::require(app, req, "tokens").await?;
    let tokens = all(app, &owner).await?;
    let shown: Vec<_> = tokens.iter().map(view).collect();
    json_text(json!({ "tokens": shown }).to_string(), 200)
}

/// The tokens of a principal; of an admin also those that are bound to e-mails, whosever they are.
///
/// # Errors
///
/// The database.
pub async fn all(app: &App, owner: &Principal) -> Result<Vec<Token>, Fault> {
    let mut all = tokens::list(&app.db, &owner.name, 1_000).await?;
    if owner.name == "admin" {
        all.extend(tokens::bound(&app.db, &owner.name, 1_000).await?);
    }
    Ok(all)
}

/// Revokes a token that [`all`] has; it holds at once.
///
/// # Errors
///
/// No such token, the database.
pub async fn end(app: &App, owner: &Principal, id: &str) -> Result<(), Fault> {
    let who = (owner.name.as_str(), owner.name == "admin");
    if tokens::revoke(&app.db, who, id, now_ms()).await? {
        return Ok(());
    }
    Err(Fault::new(Code::RouteNotFound, "There is no such token to revoke."))
}

/// Revokes one of the principal's tokens; it holds at once.
///
/// # Errors
///
/// No scope, no such token, the database.
pub async fn revoke(app: &App, req: &Request, id: &str) -> Result<Response, Fault> {
    let owner = request_auth::require(app, req, "tokens").await?;
    end(app, &owner, id).await?;
    json_text(json!({ "id": id, "revoked": true }).to_string(), 200)
}

fn view(token: &Token) -> serde_json::Value {
    json!({
        "id": token.id,
        "label": token.label,
        "principal": token.principal,
        "scopes": token.scopes.split_ascii_whitespace().collect::<Vec<_>>(),
        "createdAt": token.created_at,
        "expiresAt": token.expires_at,
        "revokedAt": token.revoked_at,
        "lastUsedAt": token.last_used_at,
        "email": token.email,
    })
}

fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}
