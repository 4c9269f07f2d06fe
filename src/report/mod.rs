//! Sentry: our own errors reported, the noise of budgets filtered, and a tunnel for SDKs.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`filter`] | pure: which events are noise |

pub mod filter;
