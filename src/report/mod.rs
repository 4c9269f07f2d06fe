//! Sentry: our own errors reported, the noise of budgets filtered, and a tunnel for SDKs.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`filter`] | pure: which events are noise |
//! | [`envelope`] | pure: what an envelope holds, and which of its bytes go on |
//! | [`losses`] | pure: what was dropped, counted until a client report tells |

pub mod envelope;
pub mod filter;
mod json;
pub mod losses;
