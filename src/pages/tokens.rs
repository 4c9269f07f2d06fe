//! `/tokens`: those of a principal, making one, ending one, one's own too.

use super::session::Visitor;
use super::view::frame::Here;
use super::view::tokens::{LIVES, Page, Token, page};
use super::{Posted, Sent, Shown};
use crate::api::App;
use crate::api::tokens::{self, Wanted};
use crate::auth::SCOPES;
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::store::tokens as table;

/// `GET /tokens`, and the page after one was made.
///
/// # Errors
///
/// The database.
pub async fn index(app: &App, visitor: &Visitor, made: Option<&str>) -> Result<Shown, Fault> {
    let principal = &visitor.principal;
    let tokens = if principal.may("tokens") {
        let rows = tokens::all(app, principal).await?;
        Some(rows.into_iter().map(token).collect::<Vec<_>>())
    } else {
        None
    };
    let is_admin = visitor.token.is_none();
    let scopes: Vec<&'static str> =
        SCOPES.iter().copied().filter(|scope| tokens::may_hand_on(principal, scope)).collect();
    let body = page(&Page {
        tokens: tokens.as_deref(),
        own: visitor.token.as_deref().map(|id| (id, visitor.label.as_str())),
        made,
        scopes: &scopes,
        is_admin,
        csrf: &visitor.csrf,
        now: now_ms(),
    });
    Ok(Shown::new("Tokens", Here::Tokens, body))
}

/// `POST /tokens`: makes one, and shows it the one time.
///
/// # Errors
///
/// No scope, bad input, the database.
pub async fn create(app: &App, sent: &Sent<'_>) -> Result<Shown, Fault> {
    let Sent { form, visitor, .. } = sent;
    visitor.require("tokens")?;
    let life = LIVES.iter().find(|(word, ..)| *word == form.text("life"));
    let (_, life_ms, _) = life.ok_or_else(|| Fault::invalid("life", "is none that there is"))?;
    let wanted = Wanted {
        label: form.text("label").trim().to_owned(),
        scopes: form.all("scope").map(str::to_owned).collect(),
        principal: form.given("principal").map(str::to_owned),
        expires_in_ms: *life_ms,
        email: form.given("email").map(str::to_owned),
    };
    let (_, whole) = tokens::make(app, &visitor.principal, wanted).await?;
    index(app, visitor, Some(&whole)).await
}

/// `POST /tokens/:id/revoke`. Whoever is signed in by a token may end that one.
///
/// # Errors
///
/// No scope, no such token, the database.
pub async fn revoke(app: &App, sent: &Sent<'_>, id: &str) -> Result<Posted, Fault> {
    let visitor = sent.visitor;
    if visitor.token.as_deref() != Some(id) {
        visitor.require("tokens")?;
    }
    tokens::end(app, &visitor.principal, id).await?;
    Ok(Posted::to("/tokens"))
}

fn token(row: table::Token) -> Token {
    Token {
        id: row.id,
        label: row.label,
        scopes: row.scopes,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        last_used_at: row.last_used_at,
        email: row.email,
        principal: row.principal,
    }
}
