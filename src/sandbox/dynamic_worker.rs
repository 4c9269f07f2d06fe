//! The sandbox as a dynamic sub-worker: the harness, the program, no environment, no network.

use super::{Host, Lost, Sandbox, words};
use crate::error::{self, Fault};
use crate::platform::loader::{Code, Loader};
use crate::run::limits::Limits;

/// The harness, its main module first: the files of `harness/`, put in by `build.rs`.
pub const HARNESS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/harness.rs"));

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
        let worker = self.loader.load(&code).map_err(|thrown| match lost(thrown) {
            // There was no sandbox yet that could have gone.
            Lost::Fault(fault) if fault.code == error::Code::SandboxGone => {
                let message = "The sandbox could not be created: the platform refused it.";
                let cause = fault.cause.unwrap_or_default();
                Lost::Fault(Fault::new(error::Code::CreateFailed, message).caused_by(cause))
            }
            known => known,
        })?;
        worker.evaluate(invocation, move |message| host(message)).await.map_err(lost)
    }
}
