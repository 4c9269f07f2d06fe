//! What a person is told when a page cannot be shown, or something was refused.

use super::text;
use crate::error::Fault;
use maud::{Markup, html};

/// The page of a fault.
#[must_use]
pub fn page(fault: &Fault) -> Markup {
    let entry = fault.code.entry();
    html! {
        section.card.narrow {
            h1 { (entry.title) }
            (told(fault))
            p { a href="/" { "To the runs" } }
        }
    }
}

/// A fault above a page that is shown all the same.
#[must_use]
pub fn notice(fault: &Fault) -> Markup {
    html! { div.notice.bad role="alert" { (told(fault)) } }
}

fn told(fault: &Fault) -> Markup {
    let entry = fault.code.entry();
    let next = fault.next_step.as_deref().unwrap_or(entry.next_step);
    html! {
        p.said { (text::plain(&fault.message)) }
        p { (text::plain(next)) " " a href={ "/docs/errors/" (entry.code) } { (entry.code) } }
    }
}
