//! Packages: the list, and one with its versions, exports and modules.

use super::frame::hidden;
use super::program::listing;
use super::told::{self, word};
use super::{text, time};
use maud::{Markup, html};
use serde_json::Value;

/// The list, as `GET /v1/packages` tells it.
#[must_use]
pub fn list(told: &Value) -> Markup {
    let packages = told.get("packages").and_then(Value::as_array).map(Vec::as_slice);
    let packages = packages.unwrap_or_default();
    html! {
        div.head { h1 { "Packages" } }
        @if packages.is_empty() {
            section.card.empty {
                h2 { "There is no package yet" }
                p { "A package is a saved, versioned program with named exports: " code { "PUT /v1/packages/:name" } " or the tool " code { "package_save" } ". " a href="/docs/packages" { "More about packages" } }
            }
        } @else {
            ul.cards {
                @for package in packages {
                    @let name = word(package, "name");
                    li.card {
                        h2 { a href={ "/packages/" (name) } { (text::plain(name)) } " " span.state { "version " (number(package, "version")) } }
                        p { (text::plain(word(package, "description"))) }
                        p.hint {
                            "Exports " @for (name, _) in exports(package) { code { (text::plain(name)) } " " }
                            "· saved " (time::moment(number(package, "createdAt")))
                        }
                    }
                }
            }
            @if let Some(next) = told.get("nextCursor").and_then(Value::as_str) {
                nav.choices aria-label="Pages of packages" { a.button href={ "/packages?cursor=" (next) } rel="next" { "More" } }
            }
        }
    }
}

/// One version of a package.
#[derive(Debug)]
pub struct One<'a> {
    /// As `GET /v1/packages/:name` tells it.
    pub told: &'a Value,
    /// As `GET /v1/packages/:name/versions` tells them.
    pub versions: &'a Value,
    /// Whether whoever looks may invoke it.
    pub may_run: bool,
    /// Of its forms.
    pub csrf: &'a str,
}

/// One version of a package.
#[must_use]
pub fn one(page: &One<'_>) -> Markup {
    let told = page.told;
    let name = word(told, "name");
    let version = number(told, "version");
    let is_current = told.get("current").and_then(Value::as_bool).unwrap_or_default();
    html! {
        div.head {
            p.over { a href="/packages" { "Packages" } }
            h1 { (text::plain(name)) " " span.state { "version " (version) @if is_current { ", current" } } }
            div.choices {
                @if !is_current {
                    form method="post" action={ "/packages/" (name) "/version" } {
                        (hidden(page.csrf))
                        button type="submit" name="version" value=(version) { "Make this the current one" }
                    }
                }
            }
        }
        p { (text::plain(word(told, "description"))) }
        div.split {
            div {
                section.card aria-labelledby="exports" {
                    h2 #exports { "Exports" }
                    @for (export, about) in exports(told) { (shown(page, name, version, export, about)) }
                }
                section.card aria-labelledby="versions" {
                    h2 #versions { "Versions" }
                    ul.plain {
                        @for one in page.versions.get("versions").and_then(Value::as_array).into_iter().flatten() {
                            @let number = number(one, "version");
                            li {
                                a href={ "/packages/" (name) "?version=" (number) } aria-current=[(number == version).then_some("true")] { "Version " (number) }
                                @if one.get("current").and_then(Value::as_bool) == Some(true) { ", current" }
                                ", " (time::moment(self::number(one, "createdAt")))
                            }
                        }
                    }
                }
                details.card #delete {
                    summary { "Delete the package" }
                    p { "All its versions go; their numbers are not used again." }
                    form method="post" action={ "/packages/" (name) "/delete" } {
                        (hidden(page.csrf))
                        button.danger type="submit" { "Delete " (text::plain(name)) }
                    }
                }
            }
            section.card aria-labelledby="modules" {
                h2 #modules { "Modules" }
                @for (file, source) in told.get("modules").and_then(Value::as_object).into_iter().flatten() {
                    h3 { code { (text::plain(file)) } }
                    (listing(source.as_str().unwrap_or_default(), &[]))
                }
            }
        }
    }
}

fn shown(page: &One<'_>, name: &str, version: u64, export: &str, about: &Value) -> Markup {
    let schema = |kind: &str| about.get(kind).filter(|schema| !schema.is_null());
    html! {
        h3 { code { (text::plain(export)) } }
        @if let Some(says) = about.get("description").and_then(Value::as_str) { p { (text::plain(says)) } }
        @for (kind, says) in [("params", "Takes"), ("result", "Gives")] {
            @if let Some(schema) = schema(kind) {
                details { summary { (says) } (text::json(&schema.to_string())) }
            }
        }
        @if page.may_run {
            details {
                summary { "Invoke" }
                form method="post" action={ "/packages/" (name) "/" (export) } {
                    (hidden(page.csrf))
                    input type="hidden" name="version" value=(version);
                    label for={ "params-" (export) } { "Parameters, JSON" }
                    textarea.code id={ "params-" (export) } name="params" rows="4" spellcheck="false" { "{}" }
                    button.primary type="submit" { "Invoke " (text::plain(export)) }
                }
            }
        }
    }
}

fn number(value: &Value, name: &str) -> u64 {
    told::number(value, name).unwrap_or_default()
}

fn exports(package: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let exports = package.get("exports").and_then(Value::as_object).into_iter().flatten();
    exports.map(|(name, about)| (name.as_str(), about))
}
