//! What people see: pages of HTML, rendered here, useful without script and live with it.
//!
//! Who looks is told by a cookie ([`session`]); what changes something is a form ([`form`]). The pages
//! themselves are pure ([`view`]): the files beside them read what a page shows, and carry out what it
//! asks for through the same functions as HTTP and MCP.

pub mod approvals;
pub mod assets;
pub mod form;
pub mod live;
pub mod packages;
pub mod policies;
pub mod respond;
pub mod runs;
pub mod session;
pub mod sources;
pub mod tokens;
pub mod view;

use crate::api::{App, allow};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::report::desk::Circumstances;
use crate::store::approvals as questions;
use crate::store::db::{Db, StoreError};
use crate::store::sessions;
use maud::{Markup, html};
use session::Visitor;
use view::frame::{Frame, Here, Who};
use worker::{Method, Request, Response};

/// A page that is ready, but for what stands around it.
#[derive(Debug)]
pub struct Shown {
    title: String,
    here: Here,
    live: Option<String>,
    body: Markup,
}

impl Shown {
    /// A page.
    #[must_use]
    pub fn new(title: &str, here: Here, body: Markup) -> Self {
        Self { title: title.to_owned(), here, live: None, body }
    }

    /// It changes by itself; `place` tells when.
    #[must_use]
    pub fn live(self, place: &str) -> Self {
        Self { live: Some(place.to_owned()), ..self }
    }

    /// With something said above it.
    #[must_use]
    pub fn above(self, notice: &Markup) -> Self {
        let body = html! { (notice) (self.body) };
        Self { body, ..self }
    }
}

/// Whether a path is a page's.
#[must_use]
pub fn owns(segments: &[&str]) -> bool {
    const ONE: &[&str] = &[
        "",
        "approvals",
        "docs",
        "live",
        "packages",
        "policies",
        "runs",
        "sign-in",
        "sign-out",
        "secrets",
        "sources",
        "tokens",
    ];
    match segments {
        [one] => ONE.contains(one),
        [first, _] => {
            ["approvals", "assets", "docs", "packages", "runs", "sources"].contains(first)
                || *segments == ["policies", "test"]
        }
        [first, second, third] => match *first {
            "runs" => ["cancel", "again", "rollback"].contains(third),
            "tokens" => *third == "revoke",
            "secrets" => *third == "delete",
            "sources" => ["refresh", "delete"].contains(third),
            "docs" => *second == "errors",
            first => first == "packages",
        },
        _ => false,
    }
}

/// Answers the request of a page. What goes wrong is a page, too.
///
/// # Errors
///
/// When the platform cannot make a response at all.
pub async fn answer(app: &App, req: Request, segments: &[&str]) -> Result<Response, Fault> {
    if let ["assets", name] = segments {
        allow(&req, &[Method::Get, Method::Head])?;
        let none = || Fault::new(Code::RouteNotFound, "There is no such file.");
        return respond::asset(assets::find(name).ok_or_else(none)?);
    }
    let visitor = match session::visitor(app, &req).await {
        Ok(visitor) => visitor,
        Err(fault) => return failed(app, None, &fault).await,
    };
    match route(app, req, segments, visitor.as_ref()).await {
        Ok(response) => Ok(response),
        Err(fault) => failed(app, visitor.as_ref(), &fault).await,
    }
}

async fn failed(app: &App, visitor: Option<&Visitor>, fault: &Fault) -> Result<Response, Fault> {
    app.desk.take(fault, &Circumstances::default());
    let shown = Shown::new(fault.code.entry().title, Here::Elsewhere, view::fault::page(fault));
    show(app, visitor, shown, fault.status()).await
}

async fn route(
    app: &App,
    req: Request,
    segments: &[&str],
    visitor: Option<&Visitor>,
) -> Result<Response, Fault> {
    let posts = req.method() == Method::Post;
    match segments {
        ["sign-in"] => {
            allow(&req, &[Method::Get, Method::Head, Method::Post])?;
            return if posts { session::sign_in(app, req).await } else { session::show(&req) };
        }
        ["sign-out"] => {
            allow(&req, &[Method::Post])?;
            return session::sign_out(app, req).await;
        }
        ["docs", ..] => {
            allow(&req, &[Method::Get, Method::Head])?;
            return show(app, visitor, docs(segments)?, 200).await;
        }
        _ => {}
    }
    let Some(visitor) = visitor else {
        if req.method() == Method::Get {
            return session::ask(&req);
        }
        let message = "Nobody is signed in here any more.";
        return Err(Fault::new(Code::TokenMissing, message)
            .with_next_step("Sign in, and send the form again. Nothing was done."));
    };
    let shown = if posts {
        match posted(app, req, segments, visitor).await? {
            Posted::Answered(response) => return Ok(response),
            Posted::Shown(shown) => shown,
        }
    } else {
        allow(&req, methods(segments))?;
        if segments == ["live"] {
            return live::answer(app, &req, visitor).await;
        }
        looked_at(app, &req, segments, visitor).await?
    };
    show(app, Some(visitor), shown, 200).await
}

/// What can be done with a path besides looking at it.
fn methods(segments: &[&str]) -> &'static [Method] {
    match segments {
        ["runs"]
        | ["policies", "test"]
        | ["runs" | "tokens" | "packages" | "sources" | "secrets", _, _] => &[Method::Post],
        ["tokens" | "policies" | "sources" | "secrets"] | ["approvals", _] => {
            &[Method::Get, Method::Head, Method::Post]
        }
        _ => &[Method::Get, Method::Head],
    }
}

/// A page that somebody looks at.
async fn looked_at(
    app: &App,
    req: &Request,
    segments: &[&str],
    visitor: &Visitor,
) -> Result<Shown, Fault> {
    match segments {
        [""] => runs::index(app, req, visitor).await,
        ["runs", id] => runs::one(app, req, visitor, id).await,
        ["approvals"] => approvals::index(app, req, visitor).await,
        ["approvals", id] => approvals::one(app, visitor, id).await,
        ["packages"] => packages::index(app, req, visitor).await,
        ["packages", name] => packages::show(app, req, visitor, name).await,
        ["policies"] => policies::index(app, visitor).await,
        ["secrets"] => sources::all_secrets(app, visitor).await,
        ["sources"] => sources::index(app, visitor).await,
        ["sources", name] => sources::show(app, visitor, name).await,
        ["tokens"] => tokens::index(app, visitor, None).await,
        _ => Err(Fault::new(Code::RouteNotFound, "There is no such page.")),
    }
}

/// What a form came to.
enum Posted {
    /// An answer, mostly the way to where its effect is seen.
    Answered(Response),
    /// A page that is shown this one time.
    Shown(Shown),
}

async fn posted(
    app: &App,
    req: Request,
    segments: &[&str],
    visitor: &Visitor,
) -> Result<Posted, Fault> {
    let answered = match segments {
        ["runs"] => runs::create(app, req, visitor).await,
        ["runs", id, "cancel"] => runs::cancel(app, req, visitor, id).await,
        ["runs", id, "again"] => runs::again(app, req, visitor, id).await,
        ["runs", id, "rollback"] => runs::roll_back(app, req, visitor, id).await,
        ["approvals", id] => approvals::decide(app, req, visitor, id).await,
        ["packages", name, what] => packages::change(app, req, visitor, (name, what)).await,
        ["policies"] => policies::change(app, req, visitor).await,
        ["secrets"] => sources::put_secret(app, req, visitor).await,
        ["secrets", name, "delete"] => sources::delete_secret(app, req, visitor, name).await,
        ["sources"] => sources::connect(app, req, visitor).await,
        ["sources", name, what] => sources::change(app, req, visitor, (name, what)).await,
        ["tokens", id, "revoke"] => tokens::revoke(app, req, visitor, id).await,
        ["policies", "test"] => {
            return policies::test(app, req, visitor).await.map(Posted::Shown);
        }
        ["tokens"] => return tokens::create(app, req, visitor).await.map(Posted::Shown),
        _ => {
            allow(&req, methods(segments))?;
            Err(Fault::new(Code::RouteNotFound, "There is no such form."))
        }
    };
    answered.map(Posted::Answered)
}

/// A page of the documentation, for everybody: an error's link leads here.
fn docs(segments: &[&str]) -> Result<Shown, Fault> {
    use view::docs;
    let none = || Fault::new(Code::RouteNotFound, "There is no such page of the documentation.");
    let (title, body) = match segments {
        ["docs"] => ("Docs", docs::index()),
        ["docs", "errors"] => ("Errors", docs::errors()),
        ["docs", "errors", code] => docs::error(code).ok_or_else(none)?,
        ["docs", name] => docs::page(name).ok_or_else(none)?,
        _ => return Err(none()),
    };
    Ok(Shown::new(title, Here::Docs, body))
}

/// Puts the frame around a page.
async fn show(
    app: &App,
    visitor: Option<&Visitor>,
    shown: Shown,
    status: u16,
) -> Result<Response, Fault> {
    let waiting = match visitor {
        // A badge is no reason to fail.
        Some(visitor) => {
            questions::waiting(&app.db, &visitor.principal.name, now_ms()).await.unwrap_or_default()
        }
        None => 0,
    };
    let who =
        visitor.map(|visitor| Who { name: &visitor.principal.name, csrf: &visitor.csrf, waiting });
    let frame = Frame { title: &shown.title, here: shown.here, who, live: shown.live.as_deref() };
    respond::page(&frame, &shown.body, status)
}

/// A parameter of the query.
fn query(req: &Request, name: &str) -> Result<Option<String>, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let found = url.query_pairs().find(|(key, value)| key == name && !value.is_empty());
    Ok(found.map(|(_, value)| value.into_owned()))
}

/// Once a minute: forgets sessions that have ended, and tries that count no more.
///
/// # Errors
///
/// The database.
pub async fn forget(db: &Db) -> Result<(), StoreError> {
    let now = now_ms();
    let since = now.saturating_sub(session::TRIES_WINDOW_MS);
    db.batch(&sessions::prune(now, since)).await.map(|_| ())
}
