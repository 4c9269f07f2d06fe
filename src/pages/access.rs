//! Who looks, as Cloudflare Access says: an assertion that is verified with each request, and the token
//! that an admin bound to its e-mail. Without such a token an e-mail is nobody.

use super::session::{Visitor, csrf_of};
use crate::access::{Access, Assertion, Key, keys};
use crate::api::{App, auth as request_auth};
use crate::auth::Principal;
use crate::error::{Code, Fault};
use crate::platform::clock::{now_ms, sleep_ms};
use crate::platform::rs256;
use crate::store::tokens;
use crate::tools::egress::HostRules;
use crate::tools::exchange::Request as Outgoing;
use crate::tools::gateway::{Passage, send};
use futures_util::future::{Either, select};
use std::cell::RefCell;
use std::pin::pin;
use worker::Request;

/// How long an isolate keeps a team's keys, in milliseconds. They change every six weeks.
const KEPT_MS: u64 = 3_600_000;

/// A key that is not known has the keys read again, at most this often, in milliseconds.
const AGAIN_MS: u64 = 60_000;

/// How long the keys may take to come, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The longest answer with keys, in bytes.
const MAX_BYTES: u64 = 65_536;

/// Keys as they were read.
#[derive(Debug, Clone)]
struct Kept {
    issuer: String,
    read_at: u64,
    keys: Vec<Key>,
}

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Who is signed in by Access; `None`: the deployment does not use it, or the request came another way.
///
/// # Errors
///
/// `identity_refused` for an assertion that does not count, or an e-mail that no token is bound to; the
/// database.
pub async fn visitor(app: &App, req: &Request) -> Result<Option<Visitor>, Fault> {
    let Some(access) = &app.config.access else { return Ok(None) };
    let Some(text) = req.headers().get("cf-access-jwt-assertion").ok().flatten() else {
        return Ok(None);
    };
    let assertion = Assertion::read(&text).map_err(refused)?;
    let now = now_ms();
    let email = access.email(&assertion.claims, now).map_err(refused)?;
    let key = key_of(access, &assertion.kid, now).await?;
    let key = key.ok_or_else(|| refused("is signed by a key that the team does not have"))?;
    let verified = rs256::verify(&key.n, &key.e, assertion.signed, &assertion.signature).await;
    if !matches!(verified, Ok(true)) {
        return Err(refused("has a signature that is wrong"));
    }
    let Some(row) = tokens::of_email(&app.db, &email, now).await? else {
        let message = format!("No token of this deployment is bound to {email}.");
        return Err(Fault::new(Code::IdentityRefused, message).with_next_step(
            "Ask whoever runs this deployment to make a token for this e-mail, or sign in with a token at /sign-in.",
        ));
    };
    request_auth::touch(app, &row, now);
    Ok(Some(Visitor {
        principal: Principal::with_scopes(&row.principal, &row.scopes),
        token: Some(row.id),
        label: row.label,
        csrf: csrf_of(&text),
        hash: None,
    }))
}

fn refused(why: &str) -> Fault {
    Fault::new(Code::IdentityRefused, format!("The assertion of Cloudflare Access {why}."))
}

async fn key_of(access: &Access, kid: &str, now: u64) -> Result<Option<Key>, Fault> {
    let find = |kept: &Kept| kept.keys.iter().find(|key| key.kid == kid).cloned();
    let kept = KEPT.with_borrow(Clone::clone).filter(|kept| kept.issuer == access.issuer);
    if let Some(kept) = &kept {
        let age = now.saturating_sub(kept.read_at);
        let found = find(kept);
        if age < AGAIN_MS || (found.is_some() && age < KEPT_MS) {
            return Ok(found);
        }
    }
    let keys = read(access).await?;
    let kept = Kept { issuer: access.issuer.clone(), read_at: now, keys };
    let found = find(&kept);
    KEPT.set(Some(kept));
    Ok(found)
}

async fn read(access: &Access) -> Result<Vec<Key>, Fault> {
    let lost = |cause: &str| {
        let message = "The keys of the Cloudflare Access team cannot be read.";
        let next = "Try again in a minute. If it stays so, whoever runs this deployment looks at HOLDFAST_ACCESS_TEAM.";
        worker::console_error!("{message} {cause}");
        Fault::new(Code::IdentityRefused, message).with_next_step(next)
    };
    let hosts = HostRules::parse(&access.issuer).map_err(|what| lost(&what))?;
    let request = Outgoing {
        method: "GET".to_owned(),
        url: access.keys_at(),
        headers: vec![("accept".to_owned(), "application/json".to_owned())],
        body: None,
    };
    let passage = Passage { hosts: &hosts, tool: "access", secrets: &[], repeatable: false };
    let asked = async {
        let mut answer = send(passage, &request).await?;
        if answer.status != 200 {
            return Ok(None);
        }
        answer.bytes(MAX_BYTES).await.map(Some)
    };
    match select(pin!(asked), pin!(sleep_ms(WAIT_MS))).await {
        Either::Left((Ok(bytes), _)) => {
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.as_deref().and_then(keys).ok_or_else(|| lost("The answer has none."))
        }
        Either::Left((Err(fault), _)) => Err(lost(&fault.message)),
        Either::Right(_) => Err(lost("There was no answer in time.")),
    }
}
