//! Sentry: our own errors reported, the noise of budgets filtered, and a tunnel for SDKs.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`desk`] | where every place of ours hands in a fault |
//! | [`config`] | pure: what an operator says about Sentry |
//! | [`dsn`] | pure: where events go, and whose they are |
//! | [`filter`] | pure: which events are noise |
//! | [`envelope`] | pure: what an envelope holds, and which of its bytes go on |
//! | [`tunnel`] | pure: the order of its checks; in `tunnel::answer` its edge |
//! | [`redact`] | pure: secrets taken out of text |
//! | [`event`] | pure: one error of ours as Sentry reads it |
//! | [`limits`] | pure: when our reports have to pause |
//! | [`losses`] | pure: what was dropped, counted until a client report tells |
//! | [`reporter`] | sends events and client reports, after the answer |
//! | [`panic`] | reports a panic through JavaScript, while the Wasm instance dies |
//! | `transport` | the requests to the server |
//! | [`probe`] | raises errors and panics on request, where that is switched on |

pub mod config;
pub mod desk;
pub mod dsn;
pub mod envelope;
pub mod event;
pub mod filter;
mod json;
pub mod limits;
pub mod losses;
pub mod panic;
pub mod probe;
pub mod redact;
pub mod reporter;
mod transport;
pub mod tunnel;
