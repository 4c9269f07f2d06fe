//! Packages: the list, and one with its versions, exports and modules.

use super::frame::{hidden, more, press};
use super::program::listing;
use super::schedules::area;
use super::told::{self, word};
use super::{fault, text, time};
use crate::error::Fault;
use maud::{Markup, html};
use serde_json::Value;

/// The list, as `GET /v1/packages` tells it.
#[must_use]
pub fn list(told: &Value, csrf: &str) -> Markup {
    let packages = told.get("packages").and_then(Value::as_array).map(Vec::as_slice);
    let packages = packages.unwrap_or_default();
    html! {
        div.head { h1 { "Packages" } }
        @if packages.is_empty() {
            section.card.empty {
                h2 { "There is no package yet" }
                p { "A package is a saved, versioned program with named exports: " "save one here, or with " code { "PUT /v1/packages/:name" } " or the tool " code { "package_save" } ". " a href="/docs/packages" { "More about packages" } }
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
            (more(told, "/packages"))
        }
        details.card #save {
            summary { "Save a package" }
            (form(&Typed::default(), None, csrf))
        }
    }
}

/// What stands in the form that saves a version, as somebody typed it.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its modules: path and text.
    pub modules: Vec<(String, String)>,
    /// What is known of its exports, JSON.
    pub exports: String,
    /// Its services, JSON.
    pub services: String,
    /// Its budget, in milliseconds.
    pub budget_ms: String,
    /// Its limits, JSON.
    pub limits: String,
}

impl Typed {
    /// The form of a version that there is, for the next one.
    fn of(told: &Value) -> Self {
        let given = |value: &Value| value.as_object().is_none_or(|fields| !fields.is_empty());
        let json = |value: &Value| {
            let filled = Some(value).filter(|value| !value.is_null() && given(value));
            filled.and_then(|value| serde_json::to_string_pretty(value).ok()).unwrap_or_default()
        };
        let field = |name: &str| told.get(name).cloned().unwrap_or_default();
        let mut exports = field("exports");
        if let Some(exports) = exports.as_object_mut() {
            exports.retain(|_, about| given(about));
        }
        let modules = told.get("modules").and_then(Value::as_object).into_iter().flatten();
        Self {
            name: word(told, "name").to_owned(),
            description: word(told, "description").to_owned(),
            modules: modules
                .map(|(path, text)| (path.clone(), text.as_str().unwrap_or_default().to_owned()))
                .collect(),
            exports: json(&exports),
            services: json(&field("services")),
            budget_ms: told::number(told, "budgetMs").map(|ms| ms.to_string()).unwrap_or_default(),
            limits: json(&field("limits")),
        }
    }
}

/// The form again, with all that was typed: after a refusal, or for one more module.
#[must_use]
pub fn again(typed: &Typed, wrong: Option<&Fault>, csrf: &str) -> Markup {
    html! {
        div.head { p.over { a href="/packages" { "Packages" } } h1 { "Save a package" } }
        section.card { (form(typed, wrong, csrf)) }
    }
}

fn form(typed: &Typed, wrong: Option<&Fault>, csrf: &str) -> Markup {
    let first = [("index.js".to_owned(), String::new())];
    let modules = if typed.modules.is_empty() { &first[..] } else { &typed.modules };
    let of_module = wrong.and_then(|wrong| wrong.details.get("file")).and_then(Value::as_str);
    let is_there = modules.iter().any(|(path, _)| Some(path.as_str()) == of_module);
    let is_more = [&typed.exports, &typed.services, &typed.budget_ms, &typed.limits]
        .iter()
        .any(|text| !text.is_empty());
    html! {
        form method="post" action="/packages" {
            (hidden(csrf))
            @if let Some(wrong) = wrong.filter(|_| !is_there) { (fault::placed(wrong)) }
            div.fields {
                div {
                    label for="name" { "Name" }
                    input #name name="name" required maxlength="64" spellcheck="false" value=(typed.name) placeholder="greeter";
                }
                div {
                    label for="description" { "Description" }
                    input #description name="description" maxlength="2000" value=(typed.description) placeholder="Greets people.";
                }
            }
            @for ((path, text), number) in modules.iter().zip(1_u32..) {
                label for={ "path-" (number) } { "Module " (number) ", its file" }
                input id={ "path-" (number) } name="path" maxlength="200" spellcheck="false" value=(path);
                @if let Some(wrong) = wrong.filter(|_| is_there && Some(path.as_str()) == of_module) { (fault::placed(wrong)) }
                label for={ "text-" (number) } { "Its text, JavaScript or TypeScript" }
                textarea.code id={ "text-" (number) } name="text" rows="10" spellcheck="false" placeholder="export const greet = ({ who }) => `Hello ${who}`;" { "\n" (text) }
            }
            p.hint { "A module without a file and a text is left out. The entry is the only module, or " code { "index" } " or " code { "main" } "." }
            details open[is_more && wrong.is_some()] #more {
                summary { "Exports, services, budget and limits" }
                (area("exports", "What is known of exports, JSON: description, params, result", &typed.exports, 6, "{\"greet\": {\"description\": \"Says hello.\"}}"))
                (area("services", "Services, JSON", &typed.services, 3, "{}"))
                label for="budget" { "Budget, in milliseconds" }
                input #budget name="budget" maxlength="12" inputmode="numeric" value=(typed.budget_ms);
                (area("limits", "Limits, JSON", &typed.limits, 2, "{}"))
            }
            div.choices {
                button.primary type="submit" { "Save a version" }
                button type="submit" name="more" value="1" formnovalidate { "One more module" }
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
        @for warning in told::list(told, "warnings") {
            p.notice { (text::plain(warning.as_str().unwrap_or_default())) }
        }
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
                @if let Some(services) = told.get("services").and_then(Value::as_object).filter(|services| !services.is_empty()) {
                    section.card aria-labelledby="kept" {
                        h2 #kept { "Services" }
                        ul.plain {
                            @for service in services.keys() {
                                li { a href={ "/services/" (name) "/" (service) } { (text::plain(service)) } }
                            }
                        }
                    }
                }
                details.card #delete {
                    summary { "Delete the package" }
                    p { "All its versions go; their numbers are not used again." }
                    (press(page.csrf, &format!("/packages/{name}/delete"), "danger", &format!("Delete {name}")))
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
        details.card #save {
            summary { "Save another version" }
            (form(&Typed::of(told), None, page.csrf))
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
