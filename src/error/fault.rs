//! A fault: an entry of the catalogue, with what its case adds.

use super::catalogue::{Code, Kind, Whose};
use super::message;
use serde_json::{Map, Value, json};

/// Which clock of ours ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting in line for a permit.
    Permit,
    /// Creating the sandbox.
    Create,
    /// The program's own time.
    Execute,
    /// One tool call.
    Dispatch,
    /// The attempt as a whole.
    Ceiling,
}

impl Phase {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Create => "create",
            Self::Execute => "execute",
            Self::Dispatch => "dispatch",
            Self::Ceiling => "ceiling",
        }
    }
}

/// One failure, as its reader is told about it.
///
/// `cause` is for Sentry and the log only: it never becomes part of what leaves the worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The entry of the catalogue.
    pub code: Code,
    /// What happened, in one text: the message of the run or of the request's error.
    pub message: String,
    /// In place of the entry's next step, where the case knows better.
    pub next_step: Option<String>,
    /// Fields that a program can read: `limit`, `tool`, `line`, `timedOutAfterMs`, ….
    pub details: Map<String, Value>,
    /// What was underneath. For Sentry and the log; never shown outside.
    pub cause: Option<String>,
}

impl Fault {
    /// A fault of `code` with its message.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), next_step: None, details: Map::new(), cause: None }
    }

    /// Adds a field that a program can read. `name` is camelCase, as on the wire.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Replaces the entry's next step.
    #[must_use]
    pub fn with_next_step(mut self, next_step: impl Into<String>) -> Self {
        self.next_step = Some(next_step.into());
        self
    }

    /// Keeps what was underneath, for Sentry and the log.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// A request whose field is wrong; `what` reads after the field's name.
    #[must_use]
    pub fn invalid(field: &str, what: impl std::fmt::Display) -> Self {
        Self::new(Code::InvalidRequest, format!("{field}: {what}.")).with("field", field)
    }

    /// A limit that was hit: what it limits, how much there was, how much there may be.
    #[must_use]
    pub fn limit(name: &str, what: &str, actual: Option<u64>, limit: u64, unit: &str) -> Self {
        let message = match actual {
            Some(actual) => format!("{what} is {actual} {unit}, over the limit of {limit}."),
            None => format!("{what} is over the limit of {limit} {unit}."),
        };
        let fault =
            Self::new(Code::LimitExceeded, message).with("limitName", name).with("limit", limit);
        match actual {
            Some(actual) => fault.with("actual", actual),
            None => fault,
        }
    }

    /// The budget of autonomous compute is spent.
    #[must_use]
    pub fn budget_spent(budget_ms: u64) -> Self {
        let fault = Self::timed_out(
            Code::BudgetSpent,
            Phase::Execute,
            message::budget_spent(budget_ms),
            Some(budget_ms),
        );
        fault.with_next_step(budget_next_step(Some(budget_ms)))
    }

    /// The attempt reached its ceiling.
    #[must_use]
    pub fn ceiling_reached(ceiling_ms: u64) -> Self {
        Self::timed_out(
            Code::CeilingReached,
            Phase::Ceiling,
            message::ceiling_reached(ceiling_ms),
            Some(ceiling_ms),
        )
    }

    /// No permit came free in time.
    #[must_use]
    pub fn permit_wait_spent(wait_ms: u64) -> Self {
        Self::timed_out(
            Code::PermitTimedOut,
            Phase::Permit,
            message::permit_wait_spent(wait_ms),
            Some(wait_ms),
        )
    }

    /// The sandbox was not there in time.
    #[must_use]
    pub fn create_timed_out(limit_ms: u64) -> Self {
        Self::timed_out(
            Code::CreateTimedOut,
            Phase::Create,
            format!(
                "The sandbox was not created within {}; nothing of the program ran.",
                message::span(limit_ms)
            ),
            Some(limit_ms),
        )
    }

    /// One tool call took longer than it may.
    #[must_use]
    pub fn dispatch_timed_out(tool: &str, limit_ms: u64) -> Self {
        Self::timed_out(
            Code::DispatchTimedOut,
            Phase::Dispatch,
            format!("{tool} timed out after {}, the limit of one call.", message::span(limit_ms)),
            Some(limit_ms),
        )
        .with("tool", tool)
    }

    /// A timeout as a row of an older form tells it: by its message alone.
    #[must_use]
    pub fn from_stored_message(text: &str) -> Option<Self> {
        let timeout = message::read(text)?;
        let fault =
            Self::timed_out(Code::BudgetSpent, Phase::Execute, text.to_owned(), timeout.after_ms);
        Some(fault.with_next_step(budget_next_step(timeout.after_ms)))
    }

    /// A fault of ours. `correlation` is the only thing that leads from outside to `cause`.
    #[must_use]
    pub fn internal(correlation: &str, cause: impl Into<String>) -> Self {
        Self::new(
            Code::Internal,
            format!("Holdfast failed; the fault is recorded under {correlation}."),
        )
        .with("correlationId", correlation)
        .caused_by(cause)
    }

    fn timed_out(code: Code, phase: Phase, message: String, after_ms: Option<u64>) -> Self {
        Self::new(code, message).with("phase", phase.as_str()).with("timedOutAfterMs", after_ms)
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.code.entry().kind
    }

    /// Whose it is.
    #[must_use]
    pub fn whose(&self) -> Whose {
        self.code.entry().whose
    }

    /// HTTP status of a request that ends in it.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.code.entry().status
    }

    /// Whether a clock of ours ran out, in any phase.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.code.is_timeout()
    }

    /// Whether the sandbox never came to be.
    #[must_use]
    pub fn is_creation(&self) -> bool {
        self.code.is_creation()
    }

    /// What to do next, for an agent.
    #[must_use]
    pub fn next_step(&self) -> &str {
        self.next_step.as_deref().unwrap_or(self.code.entry().next_step)
    }

    /// The error as it leaves the worker: in `error` of a refused request, in `errorDetails` of a
    /// run. Keys are camelCase; the details of the case stand beside the fixed ones.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let entry = self.code.entry();
        let mut object = Map::new();
        object.insert("code".to_owned(), json!(entry.code));
        object.insert("kind".to_owned(), json!(entry.kind));
        object.insert("message".to_owned(), json!(self.message));
        object.insert("nextStep".to_owned(), json!(self.next_step()));
        object.insert("suggestedAction".to_owned(), json!(entry.action));
        object.insert("retry".to_owned(), json!(entry.retry));
        object.insert("isTimeout".to_owned(), json!(self.is_timeout()));
        object.insert("isCreation".to_owned(), json!(self.is_creation()));
        for (name, value) in &self.details {
            object.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(object)
    }
}

impl Code {
    /// Whether it says that a clock of ours ran out.
    #[must_use]
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::BudgetSpent
                | Self::CeilingReached
                | Self::PermitTimedOut
                | Self::CreateTimedOut
                | Self::DispatchTimedOut
        )
    }

    /// Whether it says that the sandbox never came to be.
    #[must_use]
    pub const fn is_creation(self) -> bool {
        matches!(self, Self::CreateFailed | Self::ConnectFailed | Self::CreateTimedOut)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {}", self.code.entry().code, self.message)
    }
}

impl std::error::Error for Fault {}

/// What an agent should do about a budget that was spent; `None` when an older row did not name it.
fn budget_next_step(budget_ms: Option<u64>) -> String {
    let used = match budget_ms {
        Some(ms) => format!("This run used its full budget of {}", message::span(ms)),
        None => "This run used its full budget (90s of own time is usual)".to_owned(),
    };
    format!(
        "{used}, so the identical call will time out again. Submit long work with \
         workflows.create({{code, params}}) of holdfast:runtime and follow it with \
         workflow_run_list, or split the work into several runs."
    )
}

#[cfg(test)]
mod tests {
    //! What leaves the worker is complete, and keeps its secrets.

    use super::*;

    #[test]
    fn a_timeout_names_its_budget_everywhere() {
        let json = Fault::budget_spent(90_000).to_json();
        assert_eq!(json["kind"], "timed_out");
        assert_eq!(json["code"], "HF_E1302");
        assert_eq!(json["phase"], "execute");
        assert_eq!(json["timedOutAfterMs"], 90_000);
        assert_eq!(json["suggestedAction"], "fix_code");
        assert!(json["message"].as_str().unwrap().starts_with("Execution timed out after 90s: "));
        let next = json["nextStep"].as_str().unwrap();
        for part in ["budget of 90s", "workflows.create({code, params})", "workflow_run_list"] {
            assert!(next.contains(part), "{next}");
        }
    }

    #[test]
    fn a_row_of_an_older_form_is_a_timeout_without_a_number() {
        let fault = Fault::from_stored_message("Execution timed out: stopped").unwrap();
        let json = fault.to_json();
        assert_eq!(json["kind"], "timed_out");
        assert_eq!(json["timedOutAfterMs"], Value::Null);
        assert!(fault.next_step().contains("90s of own time is usual"));
        assert_eq!(Fault::from_stored_message("boom"), None);
    }

    #[test]
    fn timeouts_and_creations_are_told_apart() {
        let cases = [
            (Code::CreateFailed, false, true),
            (Code::ConnectFailed, false, true),
            (Code::CreateTimedOut, true, true),
            (Code::SandboxGone, false, false),
            (Code::BudgetSpent, true, false),
            (Code::DispatchTimedOut, true, false),
            (Code::Cancelled, false, false),
        ];
        for (code, timeout, creation) in cases {
            assert_eq!((code.is_timeout(), code.is_creation()), (timeout, creation), "{code:?}");
        }
    }

    #[test]
    fn the_cause_stays_inside() {
        let fault = Fault::internal("c0ffee", "D1_ERROR: no such table: https://secret");
        assert!(!fault.to_json().to_string().contains("secret"));
        assert!(!fault.to_string().contains("secret"));
    }

    #[test]
    fn a_detail_never_hides_a_fixed_field() {
        let json = Fault::new(Code::RuntimeError, "boom").with("code", "E_MINE").to_json();
        assert_eq!(json["code"], "HF_E1301");
    }
}
