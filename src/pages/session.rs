//! Who is signed in: a token that was posted once, and the cookie that stands for it.
//!
//! The cookie's value is random; the database knows its hash. It is read with the row of its token
//! each time, so that revoking the token ends the session at once. What a form carries is derived from
//! the cookie and tells nothing about it.

use super::form::Form;
use super::respond;
use crate::api::{App, auth as request_auth, internal};
use crate::auth::{self, Principal};
use crate::error::Fault;
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::store::sessions;
use worker::{Request, Response};

/// How long a session lives, in milliseconds: a working day.
const LIFE_MS: u64 = 43_200_000;

/// The window in which tries are counted, and how many an address has in it. A token of the database
/// has 256 bits, and needs no bound; the admin token is what somebody chose.
pub const TRIES_WINDOW_MS: u64 = 900_000;
const MAX_TRIES: u64 = 10;

/// A browser that is signed in.
#[derive(Debug)]
pub struct Visitor {
    /// Whose token it was.
    pub principal: Principal,
    /// The token's id; `None` for the admin's.
    pub token: Option<String>,
    /// Its owner's name for it.
    pub label: String,
    /// What its forms carry.
    pub csrf: String,
    /// Of its cookie; `None`: Cloudflare Access says who it is, with each request.
    pub(super) hash: Option<String>,
}

impl Visitor {
    /// Who is noted as having decided something.
    #[must_use]
    pub fn by(&self) -> &str {
        self.token.as_deref().unwrap_or(&self.principal.name)
    }

    /// Whether Cloudflare Access says who it is.
    #[must_use]
    pub fn is_by_access(&self) -> bool {
        self.hash.is_none()
    }

    /// Refuses whoever lacks a scope.
    ///
    /// # Errors
    ///
    /// `scope_missing`.
    pub fn require(&self, scope: &str) -> Result<(), Fault> {
        if self.principal.may(scope) { Ok(()) } else { Err(request_auth::missing(scope)) }
    }
}

/// Names of our cookies. Over HTTPS they are bound to this host and to HTTPS; plain HTTP is for one's
/// own machine.
#[derive(Debug, Clone, Copy)]
struct Cookies {
    session: &'static str,
    form: &'static str,
    attributes: &'static str,
}

fn cookies(req: &Request) -> Option<Cookies> {
    let url = req.url().ok()?;
    Cookies::of(url.scheme(), url.host_str())
}

impl Cookies {
    fn of(scheme: &str, host: Option<&str>) -> Option<Self> {
        if scheme == "https" {
            return Some(Self {
                session: "__Host-holdfast",
                form: "__Host-holdfast-form",
                attributes: "Path=/; HttpOnly; SameSite=Strict; Secure",
            });
        }
        let loopback = matches!(host, Some("127.0.0.1" | "localhost" | "[::1]"));
        loopback.then_some(Self {
            session: "holdfast",
            form: "holdfast-form",
            attributes: "Path=/; HttpOnly; SameSite=Strict",
        })
    }
}

/// The value of a cookie, if it is one that we gave.
fn value(req: &Request, name: &str) -> Option<String> {
    let header = req.headers().get("cookie").ok().flatten()?;
    let found = header.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = found.into_iter().find(|(key, _)| *key == name)?;
    let is_ours = value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit());
    is_ours.then(|| value.to_owned())
}

/// What a form of a browser with this cookie, or this assertion, carries.
pub(super) fn csrf_of(cookie: &str) -> String {
    auth::hash(&format!("form {cookie}"))
}

/// What binds a session to the admin token.
fn proof_of(cookie: &str, admin: &str) -> String {
    auth::hash(&format!("{cookie} {admin}"))
}

/// Who is signed in; `None`: nobody. Whoever signed in by a token here is that, whatever Access says.
///
/// # Errors
///
/// An assertion of Access that does not count; the database.
pub async fn visitor(app: &App, req: &Request) -> Result<Option<Visitor>, Fault> {
    match of_cookie(app, req).await? {
        Some(visitor) => Ok(Some(visitor)),
        None => super::access::visitor(app, req).await,
    }
}

async fn of_cookie(app: &App, req: &Request) -> Result<Option<Visitor>, Fault> {
    let Some(cookie) = cookies(req).and_then(|names| value(req, names.session)) else {
        return Ok(None);
    };
    let hash = auth::hash(&cookie);
    let Some(row) = sessions::find(&app.db, &hash, now_ms()).await? else { return Ok(None) };
    let csrf = csrf_of(&cookie);
    let label = row.label.unwrap_or_default();
    let principal = match (&row.token_id, row.principal, row.scopes) {
        (Some(_), Some(name), Some(scopes)) => Principal::with_scopes(&name, &scopes),
        (None, ..) => {
            let (Some(admin), Some(proof)) = (&app.config.admin_token, &row.proof) else {
                return Ok(None);
            };
            if !auth::same(&proof_of(&cookie, admin), proof) {
                return Ok(None);
            }
            Principal::admin()
        }
        _ => return Ok(None),
    };
    Ok(Some(Visitor { principal, token: row.token_id, label, csrf, hash: Some(hash) }))
}

/// A place of ours to go on to: a path of this deployment and nothing else.
#[must_use]
pub fn onward(wanted: &str) -> &str {
    let is_ours = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && wanted.len() <= 2_048
        && wanted.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if is_ours { wanted } else { "/" }
}

/// `GET /sign-in`.
///
/// # Errors
///
/// When the platform cannot make a response.
pub fn show(req: &Request) -> Result<Response, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let next = url.query_pairs().find(|(name, _)| name == "next").map(|(_, value)| value);
    form(req, onward(next.as_deref().unwrap_or("/")), None, 200)
}

/// The form, bound to this browser.
fn form(req: &Request, next: &str, wrong: Option<&str>, status: u16) -> Result<Response, Fault> {
    use super::view::frame::{Frame, Here};
    use super::view::sign_in::{SignIn, page};
    let names = cookies(req);
    let known = names.and_then(|names| value(req, names.form));
    let (cookie, is_fresh) = match known {
        Some(cookie) => (cookie, false),
        None => (random::hex::<32>().map_err(|error| internal(&error.to_string()))?, true),
    };
    let sign_in = SignIn { csrf: &csrf_of(&cookie), next, wrong, is_safe: names.is_some() };
    let frame = Frame { title: "Sign in", here: Here::Elsewhere, who: None, live: None };
    let response = respond::page(&frame, &page(&sign_in), status)?;
    match names {
        Some(names) if is_fresh => {
            let cookie = format!("{}={cookie}; {}; Max-Age=3600", names.form, names.attributes);
            respond::with_cookie(response, &cookie)
        }
        _ => Ok(response),
    }
}

/// `POST /sign-in`: the one time that a token is sent.
///
/// # Errors
///
/// A form that is not ours; too many tries; the database.
pub async fn sign_in(app: &App, mut req: Request) -> Result<Response, Fault> {
    let Some(names) = cookies(&req) else { return show(&req) };
    let Some(csrf) = value(&req, names.form).map(|cookie| csrf_of(&cookie)) else {
        let wrong = "This page was open for too long, or the browser keeps no cookies. Try again.";
        return form(&req, "/", Some(wrong), 403);
    };
    let posted = Form::read(&mut req, &csrf).await?;
    let next = onward(posted.text("next"));
    let now = now_ms();
    let address = auth::hash(&network(&req));
    if sessions::count_try(&app.db, &address, now, TRIES_WINDOW_MS).await? > MAX_TRIES {
        let wrong = "There were too many tries from this address. Wait a quarter of an hour.";
        return form(&req, next, Some(wrong), 429);
    }
    let token = posted.text("token").trim();
    let (token, expires_at) = match request_auth::of_token(app, token).await {
        Ok(known) => known,
        Err(fault) if fault.status() == 401 => {
            return form(&req, next, Some("This token is unknown, expired or revoked."), 401);
        }
        Err(fault) => return Err(fault),
    };
    let cookie = random::hex::<32>().map_err(|error| internal(&error.to_string()))?;
    let proof = match (&token, &app.config.admin_token) {
        (None, Some(admin)) => Some(proof_of(&cookie, admin)),
        _ => None,
    };
    let ends_at = now.saturating_add(LIFE_MS).min(expires_at.unwrap_or(u64::MAX));
    let hash = auth::hash(&cookie);
    let (token, proof) = (token.as_deref(), proof.as_deref());
    sessions::insert(&app.db, &hash, token, proof, (now, ends_at)).await?;
    app.db.run(&sessions::uncount(&address)).await?;
    let life = ends_at.saturating_sub(now).div_euclid(1_000);
    let response = respond::see_other(next)?;
    let kept = format!("{}={cookie}; {}; Max-Age={life}", names.session, names.attributes);
    respond::with_cookie(response, &kept)
}

/// `POST /sign-out`.
///
/// # Errors
///
/// A form that is not ours; the database.
pub async fn sign_out(app: &App, mut req: Request) -> Result<Response, Fault> {
    let Some(names) = cookies(&req) else { return respond::see_other("/sign-in") };
    if let Some(Visitor { csrf, hash: Some(hash), .. }) = of_cookie(app, &req).await? {
        Form::read(&mut req, &csrf).await?;
        sessions::remove(&app.db, &hash).await?;
    }
    let response = respond::see_other("/sign-in")?;
    respond::with_cookie(response, &format!("{}=; {}; Max-Age=0", names.session, names.attributes))
}

/// Whoever shares a bound: an address, of IPv6 the network that one customer has.
fn network(req: &Request) -> String {
    let address = req.headers().get("cf-connecting-ip").ok().flatten().unwrap_or_default();
    match address.parse::<std::net::Ipv6Addr>() {
        Ok(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
        Err(_) => address,
    }
}

/// What a page answers that nobody is signed in for.
///
/// A link from another site brings no cookie that is `SameSite=Strict`. So the first answer to such a
/// request loads the same page once more, from here; that request brings it.
///
/// # Errors
///
/// When the platform cannot make a response.
pub fn ask(req: &Request) -> Result<Response, Fault> {
    let url = req.url().map_err(|_| Fault::invalid("url", "cannot be read"))?;
    let place = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let site = req.headers().get("sec-fetch-site").ok().flatten();
    if site.is_some_and(|site| site == "cross-site" || site == "same-site") {
        let again = maud::html! {
            (maud::DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="refresh" content={ "0;url=" (onward(&place)) };
                    title { "Holdfast" }
                }
                body { p { a href=(onward(&place)) { "Go on" } } }
            }
        };
        return respond::html(again.0, 200);
    }
    let next: String = url::form_urlencoded::byte_serialize(place.as_bytes()).collect();
    respond::see_other(&format!("/sign-in?next={next}"))
}

#[cfg(test)]
mod tests {
    //! Signing in leads nowhere but here.

    use super::*;

    #[test]
    fn a_session_is_kept_over_https_or_on_ones_own_machine() {
        let safe = Cookies::of("https", Some("holdfast.example.com")).unwrap();
        assert!(safe.session.starts_with("__Host-") && safe.attributes.ends_with("; Secure"));
        for host in ["127.0.0.1", "localhost", "[::1]"] {
            let local = Cookies::of("http", Some(host)).unwrap();
            assert!(!local.session.starts_with("__Host-") && !local.attributes.contains("Secure"));
        }
        assert!(Cookies::of("http", Some("holdfast.example.com")).is_none());
        assert!(Cookies::of("http", Some("localhost.example.com")).is_none());
    }

    #[test]
    fn the_way_on_stays_here() {
        for place in ["/", "/approvals/apr_1", "/?status=failed&text=a%20b", "/runs/run_1#L3"] {
            assert_eq!(onward(place), place);
        }
        for place in [
            "",
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "javascript:alert(1)",
            "/a\nb",
            " /a",
            "/é",
        ] {
            assert_eq!(onward(place), "/", "{place:?}");
        }
    }
}
