//! What a person is told when a page cannot be shown, or something was refused.

use super::text;
use crate::error::Fault;
use maud::{Markup, html};
use serde_json::Value;

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

/// The same of a form that is shown again: the line that is wrong stands with its caret.
#[must_use]
pub fn placed(fault: &Fault) -> Markup {
    html! { div.notice.bad #wrong role="alert" tabindex="-1" autofocus { (told(fault)) } }
}

fn told(fault: &Fault) -> Markup {
    let entry = fault.code.entry();
    let next = fault.next_step.as_deref().unwrap_or(entry.next_step);
    let excerpt = fault.details.get("excerpt").and_then(Value::as_str).unwrap_or_default();
    let message = fault.message.strip_suffix(excerpt).unwrap_or(&fault.message).trim_end();
    html! {
        p.said { (text::plain(message)) }
        @if !excerpt.is_empty() { pre.place { (text::plain(excerpt)) } }
        p { (text::plain(next)) " " a href={ "/docs/errors/" (entry.code) } { (entry.code) } }
    }
}
