//! The documentation on one's own deployment: how to use it, and every error.

use crate::error::{Code, Retry, Whose};
use maud::{Markup, PreEscaped, html};

/// `(name, title, HTML)` of the pages under `docs/use/`, as the build rendered them.
const PAGES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/docs.rs"));

/// The index.
#[must_use]
pub fn index() -> Markup {
    html! {
        div.docs {
            div.head { h1 { "Docs" } }
            section.card {
                ul {
                    @for (name, title, _) in PAGES { li { a href={ "/docs/" (name) } { (title) } } }
                    li { a href="/docs/errors" { "Errors" } }
                }
            }
        }
    }
}

/// A page by its name, and its title.
#[must_use]
pub fn page(name: &str) -> Option<(&'static str, Markup)> {
    let (_, title, text) = PAGES.iter().find(|(known, ..)| *known == name)?;
    let body = html! {
        p.over { a href="/docs" { "Docs" } }
        // Ours, from the build.
        article.docs.card { (PreEscaped(text)) }
    };
    Some((title, body))
}

/// Every error.
#[must_use]
pub fn errors() -> Markup {
    html! {
        div.docs {
            p.over { a href="/docs" { "Docs" } }
            div.head { h1 { "Errors" } }
            p { "Every error that leaves Holdfast is one of these. Codes are stable: never renumbered, never reused." }
            div.card.scroll tabindex="0" {
                table {
                    thead { tr { th scope="col" { "Code" } th scope="col" { "Kind" } th scope="col" { "What it is" } } }
                    tbody {
                        @for entry in Code::ALL.iter().map(|code| code.entry()) {
                            tr {
                                td { a href={ "/docs/errors/" (entry.code) } { (entry.code) } }
                                td { code { (entry.kind.word()) } }
                                td { (entry.title) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One error by its code, and its title.
#[must_use]
pub fn error(code: &str) -> Option<(&'static str, Markup)> {
    let code = Code::ALL.iter().copied().find(|known| known.entry().code == code)?;
    let entry = code.entry();
    let whose = match entry.whose {
        Whose::Caller => "the caller's: another request helps",
        Whose::Program => "the program's: rewriting it helps",
        Whose::Tool => "a tool's or its upstream's",
        Whose::Policy => "the policy's or a limit's: a person or a setting has to allow more",
        Whose::Ours => "Holdfast's or the platform's; it is reported",
    };
    let retry = match entry.retry {
        Retry::No => "no, it would end in the same way",
        Retry::Safe => "yes, nothing was done",
        Retry::WithKey => "only under the same idempotency key or after a look at the run",
    };
    let body = html! {
        div.docs {
            p.over { a href="/docs" { "Docs" } " › " a href="/docs/errors" { "Errors" } }
            article.card {
                h1 { (entry.code) ": " (entry.title) }
                pre.said tabindex="0" { (entry.shape) }
                p { strong { "Next step. " } (entry.next_step) }
                dl.facts {
                    div { dt { "kind" } dd { code { (entry.kind.word()) } } }
                    div { dt { "whose it is" } dd { (whose) } }
                    div { dt { "HTTP status of a refused request" } dd { (entry.status) } }
                    div { dt { "send the same again" } dd { (retry) } }
                }
            }
        }
    };
    Some((entry.title, body))
}

#[cfg(test)]
mod tests {
    //! Every link of the documentation leads somewhere.

    use super::*;

    fn leads(link: &str) -> bool {
        let (place, fragment) = link.split_once('#').unwrap_or((link, ""));
        let shown = match place.strip_prefix("/docs") {
            Some("" | "/") => Some(index()),
            Some("/errors") => Some(errors()),
            Some(rest) => match rest.strip_prefix("/errors/") {
                Some(code) => error(code).map(|(_, body)| body),
                None => page(rest.trim_start_matches('/')).map(|(_, body)| body),
            },
            None => None,
        };
        shown.is_some_and(|body| {
            fragment.is_empty() || body.0.contains(&format!("id=\"{fragment}\""))
        })
    }

    #[test]
    fn every_link_leads_somewhere() {
        let mut bodies: Vec<(String, String)> = PAGES
            .iter()
            .map(|(name, ..)| (format!("/docs/{name}"), page(name).unwrap().1.0))
            .collect();
        bodies.push(("/docs".to_owned(), index().0));
        bodies.push(("/docs/errors".to_owned(), errors().0));
        let mut followed = 0;
        for (own, body) in bodies {
            for link in body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let link =
                    if link.starts_with('#') { format!("{own}{link}") } else { link.to_owned() };
                if link.starts_with("https://") {
                    continue;
                }
                followed += 1;
                assert!(leads(&link), "{own} links to {link}");
            }
        }
        assert!(followed > Code::ALL.len());
    }

    #[test]
    fn every_error_has_its_page() {
        for code in Code::ALL {
            assert!(error(code.entry().code).is_some());
        }
        assert!(error("HF_E0000").is_none() && page("nothing").is_none());
    }
}
