//! The sandbox as a dynamic sub-worker: the harness, the program, no environment, no network.

use super::{Host, Lost, Sandbox, words};
use crate::platform::loader::{Code, Loader};
use crate::run::limits::Limits;

macro_rules! harness {
    ($($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("harness/", $file)))),+]
    };
}

/// The harness, its main module first. Real files, checked by a linter, put in at build time.
pub const HARNESS: &[(&str, &str)] = harness![
    "harness.js",
    "attempt.js",
    "base64.js",
    "clock.js",
    "codec.js",
    "console.js",
    "dispatch.js",
    "duration.js",
    "errors.js",
    "evaluate.js",
    "fetch.js",
    "format.js",
    "globals.js",
    "guard.js",
    "hash.js",
    "intrinsics.js",
    "kinds.js",
    "logs.js",
    "outbox.js",
    "random.js",
    "replay.js",
    "runtime.js",
    "timers.js",
    "turns.js",
];

/// Sub-workers of this deployment's loader.
#[derive(Debug)]
pub struct DynamicWorker {
    loader: Loader,
}

impl DynamicWorker {
    /// Sub-workers made by `loader`.
    #[must_use]
    pub const fn new(loader: Loader) -> Self {
        Self { loader }
    }
}

impl Sandbox for DynamicWorker {
    async fn evaluate(
        &self,
        module: &str,
        invocation: &str,
        limits: &Limits,
        host: Host,
    ) -> Result<String, Lost> {
        let mut modules = HARNESS.to_vec();
        modules.push(("program.js", module));
        let code =
            Code { modules: &modules, cpu_ms: limits.cpu_ms, sub_requests: limits.sub_requests };
        let lost = |thrown: crate::platform::thrown::Thrown| {
            words::read(&thrown.message, thrown.in_sandbox, limits)
        };
        let worker = self.loader.load(&code).map_err(lost)?;
        worker.evaluate(invocation, move |message| host(message)).await.map_err(lost)
    }
}
