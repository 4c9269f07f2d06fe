//! Who asks: the token of a request, looked up.

use super::App;
use crate::auth::{self, Principal};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::store::tokens;
use std::rc::Rc;
use worker::Request;

/// A token's last use is noted at most this often, in milliseconds.
const TOUCH_MS: u64 = 60_000;

/// The principal of a request that needs `scope`.
///
/// # Errors
///
/// 401 without a valid token, 403 without the scope, 503 without the database.
pub async fn require(app: &App, req: &Request, scope: &str) -> Result<Principal, Fault> {
    let principal = principal(app, req).await?;
    if principal.may(scope) {
        return Ok(principal);
    }
    Err(missing(scope))
}

/// The id of a request's token, for whoever wants to know who it was; the admin token has none.
#[must_use]
pub fn token_id(req: &Request) -> Option<String> {
    let header = req.headers().get("authorization").ok().flatten()?;
    let (id, _) = auth::split(auth::bearer(&header)?)?;
    Some(id.to_owned())
}

/// The fault of a token that lacks a scope.
#[must_use]
pub fn missing(scope: &str) -> Fault {
    Fault::new(Code::ScopeMissing, format!("This needs the scope {scope}.")).with("scope", scope)
}

/// The principal of a request, whatever it may.
///
/// # Errors
///
/// 401 without a valid token, 503 without the database.
pub async fn principal(app: &App, req: &Request) -> Result<Principal, Fault> {
    let header = req.headers().get("authorization").ok().flatten();
    let Some(token) = header.as_deref().and_then(auth::bearer) else {
        return Err(Fault::new(Code::TokenMissing, "This resource wants a token."));
    };
    match known(app, token).await? {
        None => Ok(Principal::admin()),
        Some(row) => Ok(Principal::with_scopes(&row.principal, &row.scopes)),
    }
}

/// The id of a token, `None` for the admin's, and when it expires.
///
/// # Errors
///
/// As [`principal`].
pub async fn of_token(app: &App, token: &str) -> Result<(Option<String>, Option<u64>), Fault> {
    let row = known(app, token).await?;
    Ok(row.map_or((None, None), |row| (Some(row.id), row.expires_at)))
}

/// The row of a valid token; `None` for the admin token, which has none.
async fn known(app: &App, token: &str) -> Result<Option<tokens::Token>, Fault> {
    if let Some(admin) = &app.config.admin_token
        && auth::same(token, admin)
    {
        return Ok(None);
    }
    let invalid = || Fault::new(Code::TokenInvalid, "The token is unknown, expired or revoked.");
    let (id, secret) = auth::split(token).ok_or_else(invalid)?;
    let row = tokens::find(&app.db, id).await?.ok_or_else(invalid)?;
    let now = now_ms();
    let alive = row.revoked_at.is_none() && row.expires_at.is_none_or(|at| at > now);
    if !auth::same(&auth::hash(secret), &row.hash) || !alive {
        return Err(invalid());
    }
    touch(app, &row, now);
    Ok(Some(row))
}

/// Notes that a token was used, behind the answer.
pub fn touch(app: &App, row: &tokens::Token, now: u64) {
    if row.last_used_at.is_none_or(|at| now.saturating_sub(at) >= TOUCH_MS) {
        let db = Rc::clone(&app.db);
        let id = row.id.clone();
        app.ctx.wait_until(async move {
            if let Err(error) = tokens::touch(&db, &id, now).await {
                worker::console_error!("token {id}: its use could not be noted: {error}");
            }
        });
    }
}
