//! Tokens: those of a principal, making one, ending one.

use super::frame::hidden;
use super::{text, time};
use maud::{Markup, html};

/// A token, never its secret.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// Its owner's name for it.
    pub label: String,
    /// Its scopes.
    pub scopes: String,
    /// When it was made.
    pub created_at: u64,
    /// When it stops working.
    pub expires_at: Option<u64>,
    /// When it was revoked.
    pub revoked_at: Option<u64>,
    /// When it was last used.
    pub last_used_at: Option<u64>,
    /// Whom of Cloudflare Access it is bound to.
    pub email: Option<String>,
    /// Whose it is.
    pub principal: String,
}

/// The page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The tokens; `None`: whoever looks may not see them.
    pub tokens: Option<&'a [Token]>,
    /// The token of this browser: its id and name; `None` for the admin's.
    pub own: Option<(&'a str, &'a str)>,
    /// A token that was just made, whole, for the only time.
    pub made: Option<&'a str>,
    /// Scopes that whoever looks may hand on.
    pub scopes: &'a [&'static str],
    /// Whether a token may be made for another principal.
    pub is_admin: bool,
    /// Of its forms.
    pub csrf: &'a str,
    /// Now.
    pub now: u64,
}

/// How long a token may be made for: a word of the form, milliseconds, what it says.
pub const LIVES: &[(&str, Option<u64>, &str)] = &[
    ("day", Some(86_400_000), "a day"),
    ("month", Some(2_592_000_000), "30 days"),
    ("year", Some(31_536_000_000), "a year"),
    ("ever", None, "until it is revoked"),
];

/// The page.
#[must_use]
pub fn page(page: &Page<'_>) -> Markup {
    html! {
        div.head { h1 { "Tokens" } }
        @if let Some(made) = page.made {
            div.notice.good role="status" {
                p { strong { "The token is made. " } "It is shown this one time; keep it where secrets are kept." }
                pre #made tabindex="0" { (made) }
                button.quiet type="button" data-copy="made" { "Copy" }
            }
        }
        section.card aria-labelledby="own" {
            h2 #own { "This browser" }
            @match page.own {
                Some((id, label)) => {
                    p { "Signed in by the token " strong { (text::plain(label)) } " " code { (id) } "." }
                    form method="post" action={ "/tokens/" (id) "/revoke" } {
                        (hidden(page.csrf))
                        button.danger type="submit" { "Revoke this token and sign out" }
                    }
                },
                None => { p { "Signed in by the admin token of the deployment. It looks and does not decide." } },
            }
        }
        @if let Some(tokens) = page.tokens {
            section.card aria-labelledby="all" {
                h2 #all { "All tokens of yours" }
                @if tokens.is_empty() { p.hint { "There is none." } } @else { (table(page, tokens)) }
            }
            (form(page))
        }
    }
}

fn table(page: &Page<'_>, tokens: &[Token]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Token" } th scope="col" { "Scopes" } th scope="col" { "Made" }
                        th scope="col" { "Last used" } th scope="col" { "Ends" } th scope="col" { span.unseen { "Revoke" } }
                    }
                }
                tbody {
                    @for token in tokens {
                        tr {
                            td { (text::plain(&token.label)) br; code.hint { (token.id) }
                                @if let Some(email) = &token.email { br; span.hint { (text::plain(email)) ", " (text::plain(&token.principal)) } }
                            }
                            td { (text::plain(&token.scopes)) }
                            td { (time::moment(token.created_at)) }
                            td { @match token.last_used_at { Some(at) => { (time::moment(at)) }, None => { "never" } } }
                            td {
                                @match (token.revoked_at, token.expires_at) {
                                    (Some(at), _) => { "revoked " (time::moment(at)) },
                                    (None, Some(at)) if at <= page.now => { "expired " (time::moment(at)) },
                                    (None, Some(at)) => { (time::moment(at)) },
                                    (None, None) => { "never" },
                                }
                            }
                            td {
                                @if token.revoked_at.is_none() {
                                    form method="post" action={ "/tokens/" (token.id) "/revoke" } {
                                        (hidden(page.csrf))
                                        button.danger.quiet type="submit" { "Revoke" span.unseen { " " (text::plain(&token.label)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn form(page: &Page<'_>) -> Markup {
    html! {
        section.card aria-labelledby="make" {
            h2 #make { "Make a token" }
            form method="post" action="/tokens" {
                (hidden(page.csrf))
                label for="label" { "Name" }
                input #label name="label" required maxlength="200" placeholder="Ada's laptop";
                @if page.is_admin {
                    label for="principal" { "Principal" }
                    input #principal name="principal" maxlength="64" placeholder="admin" spellcheck="false" aria-describedby="principal-about";
                    p.hint #principal-about { "Whose runs it is for. Nobody sees another principal's." }
                    label for="email" { "E-mail at Cloudflare Access" }
                    input #email name="email" type="email" maxlength="254" spellcheck="false" aria-describedby="email-about";
                    p.hint #email-about { "May stay empty. Whoever Cloudflare Access says has it is signed in by this token." }
                }
                fieldset {
                    legend { "Scopes" }
                    @for scope in page.scopes {
                        label { input type="checkbox" name="scope" value=(scope); (scope) }
                    }
                }
                label for="life" { "It works for" }
                select #life name="life" {
                    @for (word, _, says) in LIVES { option value=(word) { (says) } }
                }
                button.primary type="submit" { "Make it" }
            }
        }
    }
}
