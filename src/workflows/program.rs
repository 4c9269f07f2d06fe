//! `workflows.create`, `.get` and `.cancel` of a program.

use super::WorkflowRequest;
use crate::approvals::Hands;
use crate::error::Fault;
use crate::run::value;
use crate::tools::unfit;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The dispatches, and whether a call only reads.
pub const PATHS: [(&str, bool); 3] =
    [("workflows.cancel", false), ("workflows.create", false), ("workflows.get", true)];

/// What one attempt needs to make others.
#[derive(Debug)]
pub struct Maker {
    /// What reaches the rows and the engine.
    pub hands: Hands,
    /// Whose they are.
    pub principal: String,
    /// The run whose program makes them.
    pub run_id: String,
    /// Of the links to their approvals.
    pub origin: String,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

impl Maker {
    /// Whether `path` is one of these.
    #[must_use]
    pub fn has(path: &str) -> bool {
        PATHS.iter().any(|(name, _)| *name == path)
    }

    /// Answers call `n`. Arguments and answer are tagged JSON; inside they cross as plain JSON, as they
    /// do over HTTP. A call creates one workflow ever: made again, after its answer was lost with an
    /// isolate, it finds that one by a key of its own.
    ///
    /// # Errors
    ///
    /// What HTTP would refuse it for.
    pub async fn call(&self, n: u32, path: &str, arguments: &str) -> Result<String, Fault> {
        let (plain, _) = value::plain(arguments).map_err(|error| unfit(path, error))?;
        let answer = if path == "workflows.create" {
            let mut request: WorkflowRequest = serde_json::from_str(&plain).map_err(|error| {
                let wants = "wants {code | package, params, runAt, idempotencyKey, label, retries}";
                unfit(path, format!("{wants} ({error})"))
            })?;
            request.idempotency_key.get_or_insert_with(|| format!("{}:{n}", self.run_id));
            super::create(&self.hands, &self.principal, &self.origin, request).await?.text
        } else {
            let Named { id } = serde_json::from_str(&plain)
                .map_err(|_| unfit(path, "wants the id of a workflow"))?;
            match path {
                "workflows.get" => super::get(&self.hands, &self.principal, &id).await?,
                _ => super::cancel(&self.hands, &self.principal, &id).await?,
            }
        };
        let answer: &RawValue = serde_json::from_str(&answer)
            .map_err(|error| Fault::internal("none", error.to_string()))?;
        value::tagged(answer.get()).map_err(|error| Fault::internal("none", error.to_string()))
    }
}
