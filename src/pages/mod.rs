//! What people see: pages of HTML, rendered here, useful without script and live with it.
//!
//! Who looks is told by a cookie ([`session`]); what changes something is a form ([`form`]). The pages
//! themselves are pure ([`view`]): the files beside them read what a page shows, and carry out what it
//! asks for through the same functions as HTTP and MCP.

pub mod access;
pub mod approvals;
pub mod assets;
pub mod form;
pub mod live;
pub mod packages;
pub mod policies;
pub mod respond;
pub mod runs;
pub mod schedules;
pub mod services;
pub mod session;
pub mod sources;
pub mod tokens;
pub mod view;

use crate::api::{App, allow, origin};
use crate::error::{Code, Fault};
use crate::platform::clock::now_ms;
use crate::report::desk::Circumstances;
use crate::store::approvals as questions;
use crate::store::db::{Db, StoreError};
use crate::store::sessions;
use form::Form;
use maud::{Markup, html};
use serde_json::Value;
use serde_json::value::RawValue;
use session::Visitor;
use view::frame::{Frame, Here, Who};
use worker::{Method, Request, Response};

/// A page that is ready, but for what stands around it.
#[derive(Debug)]
pub struct Shown {
    title: String,
    here: Here,
    live: Option<String>,
    status: u16,
    body: Markup,
}

impl Shown {
    /// A page.
    #[must_use]
    pub fn new(title: &str, here: Here, body: Markup) -> Self {
        Self { title: title.to_owned(), here, live: None, status: 200, body }
    }

    /// It changes by itself; `place` tells when.
    #[must_use]
    pub fn live(self, place: &str) -> Self {
        Self { live: Some(place.to_owned()), ..self }
    }

    /// It is the answer to a form that was refused, and says so.
    #[must_use]
    pub fn refused(self, app: &App, fault: &Fault) -> Self {
        app.desk.take(fault, &Circumstances::default());
        Self { status: fault.status().max(400), ..self }
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
        "schedules",
        "services",
        "sign-in",
        "sign-out",
        "secrets",
        "sources",
        "tokens",
    ];
    match segments {
        [one] => ONE.contains(one),
        [first, _] => {
            ["approvals", "assets", "docs", "packages", "runs", "schedules", "sources"]
                .contains(first)
                || *segments == ["policies", "test"]
        }
        [first, second, third] => match *first {
            "runs" => ["cancel", "again", "rollback"].contains(third),
            "tokens" => *third == "revoke",
            "secrets" => *third == "delete",
            "sources" => ["refresh", "delete"].contains(third),
            "schedules" => ["pause", "resume", "run", "delete"].contains(third),
            "docs" => *second == "errors",
            first => first == "packages" || first == "services",
        },
        ["services", _, _, last] => *last == "stop",
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
        // Whoever Access names and nobody knows may read, and sign in by a token.
        Err(fault)
            if fault.code == Code::IdentityRefused
                && matches!(segments, ["sign-in"] | ["docs", ..]) =>
        {
            None
        }
        Err(fault) => return failed(app, None, &fault).await,
    };
    match route(app, req, segments, visitor.as_ref()).await {
        Ok(response) => Ok(response),
        Err(fault) => failed(app, visitor.as_ref(), &fault).await,
    }
}

async fn failed(app: &App, visitor: Option<&Visitor>, fault: &Fault) -> Result<Response, Fault> {
    let shown = Shown::new(fault.code.entry().title, Here::Elsewhere, view::fault::page(fault));
    show(app, visitor, shown.refused(app, fault)).await
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
            return show(app, visitor, docs(segments)?).await;
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
            Posted::To(place) => return respond::see_other(&place),
            Posted::Shown(shown) => shown,
        }
    } else {
        allow(&req, methods(segments))?;
        if segments == ["live"] {
            return live::answer(app, &req, visitor).await;
        }
        looked_at(app, &req, segments, visitor).await?
    };
    show(app, Some(visitor), shown).await
}

/// What can be done with a path besides looking at it.
fn methods(segments: &[&str]) -> &'static [Method] {
    match segments {
        ["runs"]
        | ["policies", "test"]
        | ["runs" | "tokens" | "packages" | "sources" | "secrets" | "schedules", _, _]
        | ["services", _, _, _] => &[Method::Post],
        ["tokens" | "policies" | "sources" | "secrets" | "packages" | "schedules" | "services"]
        | ["approvals", _] => &[Method::Get, Method::Head, Method::Post],
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
        ["schedules"] => schedules::index(app, req, visitor).await,
        ["schedules", name] => schedules::show(app, req, visitor, name).await,
        ["services"] => services::index(app, req, visitor).await,
        ["services", package, name] => services::show(app, visitor, (package, name)).await,
        ["sources"] => sources::index(app, visitor).await,
        ["sources", name] => sources::show(app, visitor, name).await,
        ["tokens"] => tokens::index(app, visitor, None).await,
        _ => Err(Fault::new(Code::RouteNotFound, "There is no such page.")),
    }
}

/// A form that was sent.
#[derive(Debug)]
pub struct Sent<'a> {
    /// Its fields.
    pub form: Form,
    /// By whom.
    pub visitor: &'a Visitor,
    /// Where this deployment is reached.
    pub origin: String,
}

/// What a form came to.
#[derive(Debug)]
pub enum Posted {
    /// The way to where its effect is seen.
    To(String),
    /// A page that is shown this one time.
    Shown(Shown),
}

impl Posted {
    fn to(place: &str) -> Self {
        Self::To(place.to_owned())
    }
}

async fn posted(
    app: &App,
    mut req: Request,
    segments: &[&str],
    visitor: &Visitor,
) -> Result<Posted, Fault> {
    allow(&req, methods(segments))?;
    let form = Form::read(&mut req, &visitor.csrf).await?;
    let sent = Sent { form, visitor, origin: origin(&req) };
    match segments {
        ["runs"] => runs::create(app, &sent).await,
        ["runs", id, "cancel"] => runs::cancel(app, &sent, id).await,
        ["runs", id, "again"] => runs::again(app, &sent, id).await,
        ["runs", id, "rollback"] => runs::roll_back(app, &sent, id).await,
        ["approvals", id] => approvals::decide(app, &sent, id).await,
        ["packages"] => packages::save(app, &sent).await,
        ["packages", name, what] => packages::change(app, &sent, (name, what)).await,
        ["policies"] => policies::change(app, &sent).await,
        ["secrets"] => sources::put_secret(app, &sent).await,
        ["secrets", name, "delete"] => sources::delete_secret(app, &sent, name).await,
        ["schedules"] => schedules::put(app, &sent).await,
        ["schedules", name, what] => schedules::change(app, &sent, (name, what)).await,
        ["services"] => services::start(app, &sent).await,
        ["services", package, name, _] => services::stop(app, &sent, (package, name)).await,
        ["sources"] => sources::connect(app, &sent).await,
        ["sources", name, what] => sources::change(app, &sent, (name, what)).await,
        ["tokens", id, "revoke"] => tokens::revoke(app, &sent, id).await,
        ["policies", "test"] => policies::test(app, &sent).await.map(Posted::Shown),
        ["tokens"] => tokens::create(app, &sent).await.map(Posted::Shown),
        _ => Err(Fault::new(Code::RouteNotFound, "There is no such form.")),
    }
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
async fn show(app: &App, visitor: Option<&Visitor>, shown: Shown) -> Result<Response, Fault> {
    let waiting = match visitor {
        // A badge is no reason to fail.
        Some(visitor) => {
            questions::waiting(&app.db, &visitor.principal.name, now_ms()).await.unwrap_or_default()
        }
        None => 0,
    };
    let who = visitor.map(|visitor| Who {
        name: &visitor.principal.name,
        csrf: &visitor.csrf,
        by_access: visitor.is_by_access(),
        waiting,
    });
    let frame = Frame { title: &shown.title, here: shown.here, who, live: shown.live.as_deref() };
    respond::page(&frame, &shown.body, shown.status)
}

/// What HTTP tells, read.
fn read(told: &str) -> Value {
    serde_json::from_str(told).unwrap_or_default()
}

/// Parameters that somebody typed.
fn params(typed: &str) -> Result<Box<RawValue>, Fault> {
    RawValue::from_string(typed.to_owned())
        .map_err(|error| Fault::invalid("params", format!("is no JSON ({error})")))
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
