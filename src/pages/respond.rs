//! Answers to browsers: pages under a strict content security policy, and ways on.

use super::view::frame::{Frame, document};
use crate::api::internal;
use crate::error::Fault;
use maud::Markup;
use worker::{Headers, Response};

/// Nothing is loaded that is not ours, nothing runs that stands in a page, nobody frames it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page.
///
/// # Errors
///
/// When the platform cannot make a response.
pub fn page(frame: &Frame<'_>, body: &Markup, status: u16) -> Result<Response, Fault> {
    html(document(frame, body), status)
}

/// A whole document.
///
/// # Errors
///
/// As [`page`].
pub fn html(document: String, status: u16) -> Result<Response, Fault> {
    let mut headers = vec![
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        // Not `no-referrer`: with it browsers send forms of ours without their origin.
        ("referrer-policy", "same-origin"),
    ];
    headers.push(("cache-control", "no-store"));
    respond(document.into_bytes(), status, &headers)
}

/// On to a place of ours, by GET.
///
/// # Errors
///
/// As [`page`].
pub fn see_other(place: &str) -> Result<Response, Fault> {
    respond(Vec::new(), 303, &[("location", place), ("cache-control", "no-store")])
}

/// A file that never changes.
///
/// # Errors
///
/// As [`page`].
pub fn asset(asset: super::assets::Asset) -> Result<Response, Fault> {
    let headers = [
        ("content-type", asset.kind),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    respond(asset.text.as_bytes().to_vec(), 200, &headers)
}

fn respond(body: Vec<u8>, status: u16, fields: &[(&str, &str)]) -> Result<Response, Fault> {
    let made = || -> worker::Result<Response> {
        let headers = Headers::new();
        for (name, value) in fields {
            headers.set(name, value)?;
        }
        headers.set("x-content-type-options", "nosniff")?;
        Ok(Response::from_bytes(body)?.with_headers(headers).with_status(status))
    };
    made().map_err(|error| internal(&error.to_string()))
}

/// Adds a cookie to an answer.
///
/// # Errors
///
/// As [`page`].
pub fn with_cookie(response: Response, cookie: &str) -> Result<Response, Fault> {
    let set = response.headers().append("set-cookie", cookie);
    set.map_err(|error| internal(&error.to_string()))?;
    Ok(response)
}
