//! The page of an error: what `docs/errors/` holds and the deployment's own `/docs` shows.

use super::catalogue::{Code, Retry, Whose, word};

/// File name of the page, below `docs/errors/`.
#[must_use]
pub fn file_name(code: Code) -> String {
    format!("{}.md", code.entry().code)
}

/// The page of one code, in Markdown.
#[must_use]
pub fn page(code: Code) -> String {
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
        Retry::WithKey => {
            "only under the same idempotency key or after a look at the run: part of it may have been done"
        }
    };
    let status = if entry.status == 200 {
        "200: it is the outcome of an accepted run".to_owned()
    } else {
        format!("{} for a refused request; 200 as the outcome of an accepted run", entry.status)
    };
    let timeout = match (code.is_timeout(), code.is_creation()) {
        (true, true) => "a timeout, and a failed creation",
        (true, false) => "a timeout",
        (false, true) => "a failed creation",
        (false, false) => "neither a timeout nor a failed creation",
    };
    format!(
        "# {}: {}\n\n\
         <!-- Made from src/error/catalogue.rs; do not edit. -->\n\n\
         ```\n{}\n```\n\n\
         **Next step.** {}\n\n\
         | | |\n|---|---|\n\
         | kind | `{}` |\n\
         | suggested action | `{}` |\n\
         | whose it is | {whose} |\n\
         | HTTP status | {status} |\n\
         | send the same again | {retry} |\n\
         | it is | {timeout} |\n",
        entry.code,
        entry.title,
        entry.shape,
        entry.next_step,
        word(&entry.kind),
        word(&entry.action),
    )
}

/// The index of all pages, in Markdown.
#[must_use]
pub fn index() -> String {
    let mut text = "# Errors\n\n\
         <!-- Made from src/error/catalogue.rs; do not edit. -->\n\n\
         Every error that leaves Holdfast is one of these. Codes are stable: never renumbered, never reused.\n\n\
         | code | kind | |\n|---|---|---|\n"
        .to_owned();
    for entry in Code::ALL.iter().map(|code| code.entry()) {
        let row = format!(
            "| [{0}]({0}.md) | `{1}` | {2} |\n",
            entry.code,
            word(&entry.kind),
            entry.title
        );
        text.push_str(&row);
    }
    text
}
