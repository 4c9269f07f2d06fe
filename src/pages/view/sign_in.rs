//! The page where somebody signs in.

use super::frame::hidden;
use maud::{Markup, html};

/// What it shows.
#[derive(Debug, Clone, Copy)]
pub struct SignIn<'a> {
    /// Of the form.
    pub csrf: &'a str,
    /// Where to go afterwards.
    pub next: &'a str,
    /// What was wrong with the last try.
    pub wrong: Option<&'a str>,
    /// Whether a session can be kept here.
    pub is_safe: bool,
}

/// The page.
#[must_use]
pub fn page(sign_in: &SignIn<'_>) -> Markup {
    html! {
        section.card.narrow {
            h1 { "Sign in" }
            @if !sign_in.is_safe {
                p.notice.bad role="alert" {
                    "This page came over plain HTTP, where a session could be read on the way. Open it over HTTPS."
                }
            } @else {
                @if let Some(wrong) = sign_in.wrong { p.notice.bad #wrong role="alert" { (wrong) } }
                form method="post" action="/sign-in" {
                    (hidden(sign_in.csrf))
                    input type="hidden" name="next" value=(sign_in.next);
                    label for="token" { "Your token" }
                    input #token type="password" name="token" required autocomplete="current-password"
                        spellcheck="false" maxlength="512" autofocus
                        aria-describedby={ "about" @if sign_in.wrong.is_some() { " wrong" } };
                    p.hint #about {
                        "It is sent once. This browser is then known by a cookie that scripts cannot read, for 12 hours or "
                        "until you sign out, whichever is first; revoking the token ends it at once."
                    }
                    button.primary type="submit" { "Sign in" }
                }
                details {
                    summary { "Which token?" }
                    p {
                        "A person's token has the scope " code { "approve" } " to decide about calls, and "
                        code { "runs" } " to look at them. The admin token may look, and may not decide. "
                        code { "npm start" } " prints the admin token of a local installation. "
                        a href="/docs/pages" { "More about signing in" }
                    }
                }
            }
        }
    }
}
