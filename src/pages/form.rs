//! What a form sends, and whether it was one of ours that sent it.

use crate::api::body;
use crate::auth;
use crate::error::{Code, Fault};
use worker::Request;

/// The fields of a form, in order.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

/// The largest form: a program at its limit, escaped, and then some.
const MAX_BYTES: usize = 1_048_576;

impl Form {
    /// Reads the form of a request that one of our pages sent: its origin is ours, and it carries
    /// what only a page that was made for this browser knows.
    ///
    /// # Errors
    ///
    /// Another content type, a form that is too large, another origin, a wrong `csrf`.
    pub async fn read(req: &mut Request, csrf: &str) -> Result<Self, Fault> {
        same_origin(req)?;
        let kind = req.headers().get("content-type").ok().flatten().unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            return Err(Fault::new(Code::UnsupportedMediaType, "This takes a form of a page."));
        }
        let bytes = body::bytes(req, MAX_BYTES).await?;
        let form = Self(url::form_urlencoded::parse(&bytes).into_owned().collect());
        if !auth::same(form.text("csrf"), csrf) {
            return Err(not_ours());
        }
        Ok(form)
    }

    /// The value of a field; empty when it is not there.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// The same, `None` when there is nothing in it.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    /// Every value of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Refuses a request that a page of another origin made. Browsers send one of the two headers with
/// every form.
fn same_origin(req: &Request) -> Result<(), Fault> {
    let header = |name: &str| req.headers().get(name).ok().flatten();
    let own = crate::api::origin(req);
    let ours = match (header("origin"), header("sec-fetch-site")) {
        (Some(origin), _) => origin == own,
        (None, Some(site)) => site == "same-origin",
        (None, None) => false,
    };
    if ours { Ok(()) } else { Err(not_ours()) }
}

fn not_ours() -> Fault {
    Fault::new(Code::OriginNotAllowed, "This form was not sent by a page of this deployment.")
        .with_next_step("Go back, load the page again, and send the form from there.")
}
