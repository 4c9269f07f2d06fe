//! The two kinds of sub-worker, as one sandbox.

use super::dynamic_worker::DynamicWorker;
use super::warm_worker::WarmWorker;
use super::{Host, Lost, Sandbox};
use crate::run::end::Place;
use crate::run::limits::Limits;

/// A sub-worker. One type, so that the loop around it is in the Wasm once.
#[derive(Debug)]
pub enum Isolate {
    /// For one attempt.
    Fresh(DynamicWorker),
    /// Of a package.
    Warm(WarmWorker),
}

impl Sandbox for Isolate {
    async fn evaluate(
        &self,
        module: &str,
        invocation: &str,
        limits: &Limits,
        host: Host,
    ) -> Result<String, Lost> {
        match self {
            Self::Fresh(worker) => worker.evaluate(module, invocation, limits, host).await,
            Self::Warm(worker) => worker.evaluate(module, invocation, limits, host).await,
        }
    }

    async fn place(&self, module: &str, line: u32, column: u32) -> Option<Place> {
        match self {
            Self::Fresh(worker) => worker.place(module, line, column).await,
            Self::Warm(worker) => worker.place(module, line, column).await,
        }
    }
}
