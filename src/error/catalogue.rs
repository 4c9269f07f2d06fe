//! The catalogue: one entry a situation, its code never renumbered and never reused.
//!
//! 10xx request and configuration · 11xx capability · 12xx lifecycle · 13xx execution · 14xx
//! policy, approval and limits · 15xx authentication · 16xx tools and upstreams · 17xx storage ·
//! 18xx replay. The pages under `docs/errors/` are made from this file; a test holds them to it.

use serde::Serialize;

/// What kind of ending or refusal it is, for a reader who does not know the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// An approval's window passed without a decision.
    ApprovalExpired,
    /// A person declined the call.
    ApprovalDeclined,
    /// The caller's abort or hang-up.
    Cancelled,
    /// No permit and no room in line; nothing ran.
    CapacityExceeded,
    /// A variable or binding of this deployment is missing or wrong.
    ConfigurationInvalid,
    /// The sandbox could not be made.
    CreateFailed,
    /// Nothing is left that could settle the program.
    Deadlocked,
    /// A call was made and its answer is not known.
    EffectUnknown,
    /// The token lacks a scope.
    Forbidden,
    /// A fault of ours.
    InternalError,
    /// The request is not one that this deployment can read.
    InvalidRequest,
    /// An idempotency key whose first request is still at work.
    InProgress,
    /// A limit was hit; its name and value are told.
    LimitExceeded,
    /// What was asked for does not exist, or is another principal's.
    NotFound,
    /// The policy blocks the call.
    PolicyBlocked,
    /// The program went another way than its record.
    ReplayDiverged,
    /// The program threw, whatever it threw.
    RuntimeError,
    /// The isolate was lost.
    SandboxGone,
    /// A value that is not data.
    SerializationError,
    /// The database could not be read or written.
    StorageError,
    /// Refused before anything ran.
    SyntaxError,
    /// A clock of ours ran out; `phase` says which.
    TimedOut,
    /// An uncaught error of a tool call.
    ToolError,
    /// No tool has that name.
    ToolNotFound,
    /// No token, or one that is not valid.
    Unauthenticated,
}

impl Kind {
    /// The word on the wire and in tables.
    #[must_use]
    pub fn word(self) -> String {
        word(&self)
    }
}

/// The word of an enum on the wire.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Whose it is. Only [`Whose::Ours`] reaches Sentry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The caller's: another request helps.
    Caller,
    /// The program's: rewriting it helps.
    Program,
    /// A tool's or its upstream's.
    Tool,
    /// The policy's or a limit's: a person or a setting has to allow more.
    Policy,
    /// Ours or the platform's: only we can help.
    Ours,
}

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// It would end in the same way.
    No,
    /// Nothing was done; send it again, later.
    Safe,
    /// Something may have been done: only under the same idempotency key, or after a look.
    WithKey,
}

/// What the reader should do first, as one word a program can branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Change the program.
    FixCode,
    /// Change the request.
    FixRequest,
    /// Change the deployment's configuration.
    FixConfiguration,
    /// Send it again, as `retry` allows.
    Retry,
    /// Look the run up before anything else.
    LookUpRun,
    /// Give a token, or one with more scopes.
    SignIn,
    /// A person has to decide or to change a rule.
    AskPerson,
    /// Tell whoever runs this deployment, with the correlation id.
    Report,
}

/// One entry of the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// The stable code, `HF_E` and four digits.
    pub code: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// A few words: the title of its page.
    pub title: &'static str,
    /// How the message reads, the numbers and names of the case in braces.
    pub shape: &'static str,
    /// What to do next, written for an agent.
    pub next_step: &'static str,
    /// What to do first, as one word.
    pub action: Action,
    /// Whose it is.
    pub whose: Whose,
    /// HTTP status when a request ends in it. Inside an accepted run the answer is 200.
    pub status: u16,
    /// Whether to send the same again.
    pub retry: Retry,
}

macro_rules! catalogue {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal {
        $kind:ident, $whose:ident, $status:literal, $action:ident, $retry:ident,
        title: $title:literal, shape: $shape:literal, next: $next:literal $(,)?
    })+) => {
        /// A situation that Holdfast tells apart from all others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The entry of this code.
            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$name => &Entry {
                        code: $code,
                        kind: Kind::$kind,
                        title: $title,
                        shape: $shape,
                        next_step: $next,
                        action: Action::$action,
                        whose: Whose::$whose,
                        status: $status,
                        retry: Retry::$retry,
                    },)+
                }
            }
        }
    };
}

catalogue! {
    /// The body is not JSON.
    InvalidJson = "HF_E1001" {
        InvalidRequest, Caller, 400, FixRequest, No,
        title: "The body is not JSON",
        shape: "The body is not JSON: {reason} at line {line}, column {column}.",
        next: "Send one JSON object in UTF-8 with content-type application/json.",
    }
    /// A field is missing, unknown, or of the wrong type or range.
    InvalidRequest = "HF_E1002" {
        InvalidRequest, Caller, 400, FixRequest, No,
        title: "The request is not valid",
        shape: "{field}: {what is wrong}.",
        next: "Correct the field that the message names and send the request again. Nothing was stored.",
    }
    /// The body is larger than this resource takes.
    BodyTooLarge = "HF_E1003" {
        LimitExceeded, Caller, 413, FixRequest, No,
        title: "The body is too large",
        shape: "The body is over {limit} bytes, the most that is read here.",
        next: "Send less: put large data where a tool can read it, and pass its name as a parameter.",
    }
    /// The resource exists, the method does not.
    MethodNotAllowed = "HF_E1004" {
        InvalidRequest, Caller, 405, FixRequest, No,
        title: "The method is not allowed",
        shape: "{method} is not allowed here; {allowed} is.",
        next: "Use a method that the Allow header names.",
    }
    /// The content type is not the one that is read here.
    UnsupportedMediaType = "HF_E1005" {
        InvalidRequest, Caller, 415, FixRequest, No,
        title: "The content type is not supported",
        shape: "The content type is {given}; application/json is read here.",
        next: "Send the body as JSON with content-type application/json.",
    }
    /// No such path.
    RouteNotFound = "HF_E1006" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such path",
        shape: "There is nothing at {path}.",
        next: "Programs are run by POST /v1/runs or by the MCP endpoint /mcp.",
    }
    /// No run of this principal has the id.
    RunNotFound = "HF_E1007" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such run",
        shape: "There is no run {id}.",
        next: "Check the id; list your runs with GET /v1/runs or run_list. Another principal's run is not shown.",
    }
    /// The origin of a browser's request is not on the list.
    OriginNotAllowed = "HF_E1008" {
        Forbidden, Caller, 403, FixConfiguration, No,
        title: "The origin is not allowed",
        shape: "Requests from the origin {origin} are not allowed.",
        next: "Call from a program that is not a browser page, or have the origin added to HOLDFAST_ALLOWED_ORIGINS.",
    }
    /// The client takes neither of the types that are answered.
    NotAcceptable = "HF_E1009" {
        InvalidRequest, Caller, 406, FixRequest, No,
        title: "No acceptable answer type",
        shape: "The Accept header admits neither application/json nor text/event-stream.",
        next: "Accept application/json, text/event-stream, or both.",
    }
    /// The same idempotency key came with another payload.
    IdempotencyMismatch = "HF_E1010" {
        InvalidRequest, Caller, 422, FixRequest, No,
        title: "The idempotency key belongs to another request",
        shape: "The idempotency key {key} was first sent with another payload.",
        next: "Use a fresh key for a different request, or send the first payload again to get its answer.",
    }
    /// The first request under the key has not ended.
    IdempotencyInProgress = "HF_E1011" {
        InProgress, Caller, 409, Retry, WithKey,
        title: "The first request under this key is still at work",
        shape: "The request under the idempotency key {key} is still at work.",
        next: "Wait as long as Retry-After says and send the same request under the same key.",
    }
    /// An answer was given under the key, and it could not be kept.
    IdempotencyAnswerLost = "HF_E1012" {
        StorageError, Ours, 409, LookUpRun, No,
        title: "The answer under this key was not kept",
        shape: "The request under the idempotency key {key} was done, but its answer could not be kept.",
        next: "Look the run up by its id. It is not run again under this key.",
    }
    /// No package of this principal has the name.
    PackageNotFound = "HF_E1013" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such package",
        shape: "There is no package {name}.",
        next: "List the packages with GET /v1/packages or package_list.",
    }
    /// The package has no such export or version.
    ExportNotFound = "HF_E1014" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such export",
        shape: "The package {package} has no {what}; it has {exports}.",
        next: "Call one of the exports that the message names.",
    }
    /// No approval of this principal has the id.
    ApprovalNotFound = "HF_E1015" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such approval",
        shape: "There is no approval {id}.",
        next: "List what waits with GET /v1/approvals, with a token of the run's own principal.",
    }
    /// Another decision was first.
    ApprovalStands = "HF_E1016" {
        InvalidRequest, Caller, 409, FixRequest, No,
        title: "The approval is decided already",
        shape: "The call of {tool} is {state} already; that stands.",
        next: "Read what stands in the error's approval and run. A decision is not changed; cancel the run to stop what follows.",
    }
    /// The package declares no such service, or it was never started.
    ServiceNotFound = "HF_E1030" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such service",
        shape: "The package {package} declares no service {name}; it declares {services}.",
        next: "Look at the services of the package with GET /v1/packages/{name} or package_list; start one with service_start.",
    }
    /// The service is at work with other parameters.
    ServiceStands = "HF_E1031" {
        InvalidRequest, Caller, 409, FixRequest, No,
        title: "The service is started already",
        shape: "{service} is started already, with other parameters or another version.",
        next: "Stop the service and wait for its end, then start it with what is wanted.",
    }
    /// No schedule of this principal has the name.
    ScheduleNotFound = "HF_E1032" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such schedule",
        shape: "There is no schedule {name}.",
        next: "List the schedules with GET /v1/schedules or schedule_list.",
    }
    /// A variable or binding is missing or wrong.
    ConfigurationInvalid = "HF_E1050" {
        ConfigurationInvalid, Ours, 503, FixConfiguration, No,
        title: "The deployment is not configured",
        shape: "{variable}: {what is wrong}.",
        next: "Whoever runs this deployment has to set the variable or binding that the message names; docs/operate.md lists them.",
    }
    /// A fault of ours; the cause is inside, under the correlation id.
    Internal = "HF_E1099" {
        InternalError, Ours, 500, Report, WithKey,
        title: "A fault of Holdfast",
        shape: "Holdfast failed; the fault is recorded under {correlation id}.",
        next: "Look the run up before sending it again: part of it may have been done. Report the correlation id if it persists.",
    }
    /// The platform or the deployment lacks something that was asked for.
    CapabilityMissing = "HF_E1101" {
        ConfigurationInvalid, Policy, 501, FixRequest, No,
        title: "Not available here",
        shape: "{what} is not available in this deployment.",
        next: "Do it another way; the message says what is missing.",
    }
    /// The sandbox could not be created.
    CreateFailed = "HF_E1201" {
        CreateFailed, Ours, 503, Retry, Safe,
        title: "The sandbox could not be created",
        shape: "The sandbox could not be created: {reason}.",
        next: "Nothing of the program ran: send it again. If it persists, check that the account's plan has Worker Loaders (Workers Paid).",
    }
    /// The sandbox was created and could not be reached.
    ConnectFailed = "HF_E1202" {
        CreateFailed, Ours, 503, Retry, Safe,
        title: "The sandbox could not be reached",
        shape: "The sandbox could not be reached: {reason}.",
        next: "Nothing of the program ran: send it again.",
    }
    /// The sandbox was not there in time.
    CreateTimedOut = "HF_E1203" {
        TimedOut, Ours, 503, Retry, Safe,
        title: "Creating the sandbox took too long",
        shape: "The sandbox was not created within {limit}; nothing of the program ran.",
        next: "Nothing of the program ran: send it again.",
    }
    /// The isolate was lost while the program was in it.
    SandboxGone = "HF_E1204" {
        SandboxGone, Ours, 503, LookUpRun, WithKey,
        title: "The sandbox is gone",
        shape: "The sandbox of this run is gone: it ended without an outcome.",
        next: "Calls that had begun may have had their effect: look at the run's dispatches before repeating any. A sandbox lives at most as long as the ceiling of its run.",
    }
    /// No permit came free in time.
    PermitTimedOut = "HF_E1205" {
        TimedOut, Policy, 503, Retry, Safe,
        title: "Waiting for a permit took too long",
        shape: "Execution timed out after {limit}: the run was waiting in line for a permit and never started. …",
        next: "Nothing of the program ran. Send it again later, or run fewer programs at once.",
    }
    /// What a run did is not undone.
    NotUndoable = "HF_E1209" {
        InvalidRequest, Caller, 409, FixRequest, No,
        title: "The run cannot be undone",
        shape: "{run} cannot be undone: {why}.",
        next: "Only a run that failed or was cancelled can be undone, for a week, and only calls for whose tools a compensation was declared; GET /v1/runs/:id/rollback shows them.",
    }
    /// The program threw or rejected.
    RuntimeError = "HF_E1301" {
        RuntimeError, Program, 200, FixCode, WithKey,
        title: "The program failed",
        shape: "{name}: {message} [{code}]",
        next: "Read the message and the place, correct the program, and mind what its calls have already done.",
    }
    /// The budget of autonomous compute was spent.
    BudgetSpent = "HF_E1302" {
        TimedOut, Program, 200, FixCode, No,
        title: "The budget of autonomous compute is spent",
        shape: "Execution timed out after {budget}: Holdfast stopped watching the sandbox. …",
        next: "This run used its full budget, so the identical call will time out again. Submit long work with workflows.create({code, params}) of holdfast:runtime and follow it with workflow_run_list, or split the work into several runs.",
    }
    /// Nothing is left that could settle the program.
    Deadlocked = "HF_E1303" {
        Deadlocked, Program, 200, FixCode, No,
        title: "The program waits for what can never come",
        shape: "Execution deadlocked: the program awaits something that nothing will ever settle.",
        next: "No call and no timer is open, so more time does not help. Find the promise that nobody resolves and correct the program.",
    }
    /// The program's text was refused before anything ran.
    SyntaxRefused = "HF_E1304" {
        SyntaxError, Program, 200, FixCode, No,
        title: "The program could not be read",
        shape: "{what is wrong} (line {line}, column {column})",
        next: "Nothing ran. Correct the place that the message shows and send the program again.",
    }
    /// A result or argument is not data.
    NotData = "HF_E1305" {
        SerializationError, Program, 200, FixCode, No,
        title: "A value is not data",
        shape: "{what} cannot be sent: {path} is {type}.",
        next: "Return or pass plain data: map the value at the path to text, numbers, lists or objects.",
    }
    /// The attempt reached its ceiling.
    CeilingReached = "HF_E1306" {
        TimedOut, Program, 200, FixCode, No,
        title: "The run reached its ceiling",
        shape: "Execution timed out after {ceiling}: the run reached its ceiling, …",
        next: "The attempt took its most wall-clock time, tool calls included. Submit long work with workflows.create({code, params}) of holdfast:runtime, or split it.",
    }
    /// The caller went away or asked for the end.
    Cancelled = "HF_E1307" {
        Cancelled, Caller, 200, LookUpRun, WithKey,
        title: "The run was cancelled",
        shape: "The run was cancelled: {by whom}.",
        next: "Calls that had begun may have had their effect: look at the run's dispatches before repeating any.",
    }
    /// A call was left alone: never awaited and still open when the program ended.
    CallNotAwaited = "HF_E1308" {
        RuntimeError, Program, 200, FixCode, WithKey,
        title: "A call was not awaited",
        shape: "The program ended while its call of {tool} was open and nobody looked at it: await it.",
        next: "Await every call, or collect them and await Promise.all.",
    }
    /// The policy blocks the call.
    PolicyBlocked = "HF_E1401" {
        PolicyBlocked, Policy, 403, AskPerson, No,
        title: "The policy blocks this call",
        shape: "{tool} is blocked by the rule {rule}.",
        next: "Do without this tool, or ask a person to change the rule.",
    }
    /// A person declined.
    ApprovalDeclined = "HF_E1402" {
        ApprovalDeclined, Policy, 403, AskPerson, No,
        title: "A person declined the call",
        shape: "{tool} was declined: {reason}.",
        next: "Do not ask again for the same call. Do without it, or ask the person what would be acceptable.",
    }
    /// Nobody decided within the window.
    ApprovalExpired = "HF_E1403" {
        ApprovalExpired, Policy, 403, AskPerson, Safe,
        title: "Nobody decided in time",
        shape: "The approval for {tool} expired after {window}; nobody decided.",
        next: "Nobody declined it. Tell a person that a decision is needed, then run the program again.",
    }
    /// The host may not be called.
    HostNotAllowed = "HF_E1404" {
        PolicyBlocked, Policy, 403, AskPerson, No,
        title: "The host is not allowed",
        shape: "{host} may not be called: {reason}.",
        next: "Use a tool that reaches it, or have the host added to HOLDFAST_HTTP_HOSTS.",
    }
    /// What a client brought to go on with a call is not taken.
    StateRefused = "HF_E1405" {
        InvalidRequest, Caller, 400, FixRequest, No,
        title: "The request state is not taken",
        shape: "requestState {why}.",
        next: "Call resume with the run's id to go on with a run; make the call without requestState to run it anew.",
    }
    /// A secret may not go where it was asked to.
    SecretNotAllowed = "HF_E1406" {
        PolicyBlocked, Policy, 403, AskPerson, No,
        title: "The secret may not go there",
        shape: "The secret {name} may not {be shown to host | stand in place | be used by source}.",
        next: "Have whoever put the secret grant it with PUT /v1/secrets/{name}, or let the source use another.",
    }
    /// A limit was hit.
    LimitExceeded = "HF_E1410" {
        LimitExceeded, Policy, 200, FixCode, No,
        title: "A limit was hit",
        shape: "{what} is {actual}, over the limit of {limit}.",
        next: "Stay under the limit that the message names: ask for less, send less, or split the work.",
    }
    /// No permit and no room in line.
    CapacityExceeded = "HF_E1411" {
        CapacityExceeded, Policy, 503, Retry, Safe,
        title: "Too many runs at once",
        shape: "{count} runs are at work and the line of {line} is full; nothing ran, it is safe to retry.",
        next: "Nothing ran. Send it again after Retry-After, or run fewer programs at once.",
    }
    /// No token came with the request.
    TokenMissing = "HF_E1501" {
        Unauthenticated, Caller, 401, SignIn, No,
        title: "No token",
        shape: "This resource wants a token.",
        next: "Send the header Authorization: Bearer <token>. npm start prints the admin token of a local installation.",
    }
    /// The token is unknown, expired or revoked.
    TokenInvalid = "HF_E1502" {
        Unauthenticated, Caller, 401, SignIn, No,
        title: "The token is not valid",
        shape: "The token is unknown, expired or revoked.",
        next: "Ask whoever runs this deployment for a token.",
    }
    /// The token lacks a scope.
    ScopeMissing = "HF_E1503" {
        Forbidden, Caller, 403, SignIn, No,
        title: "The token lacks a scope",
        shape: "This needs the scope {scope}.",
        next: "Use a token that has the scope, or have it added.",
    }
    /// No tool has the name.
    ToolNotFound = "HF_E1601" {
        ToolNotFound, Program, 404, FixCode, No,
        title: "No such tool",
        shape: "There is no tool {name}. Near names: {names}.",
        next: "Use a name that exists: tools.search({query}) finds tools from inside a program.",
    }
    /// The tool answered with an error.
    ToolFailed = "HF_E1602" {
        ToolError, Tool, 200, FixCode, WithKey,
        title: "A tool failed",
        shape: "{tool}: {message} [{code}]",
        next: "Read the tool's message. Catch the error in the program if it can go on without this call.",
    }
    /// The dispatch took longer than it may.
    DispatchTimedOut = "HF_E1603" {
        ToolError, Tool, 200, FixCode, WithKey,
        title: "A tool call took too long",
        shape: "{tool} timed out after {limit}, the limit of one call.",
        next: "The call may still have its effect. Ask the tool for less at a time, or catch the error and go on.",
    }
    /// The arguments do not fit the tool.
    ArgumentsInvalid = "HF_E1604" {
        ToolError, Program, 200, FixCode, No,
        title: "The arguments do not fit the tool",
        shape: "{tool}: {path} {what is wrong}.",
        next: "Correct the argument at the path. tools.describe({path}) shows what the tool takes.",
    }
    /// An upstream could not be reached or answered something unreadable.
    UpstreamFailed = "HF_E1605" {
        ToolError, Tool, 502, Retry, WithKey,
        title: "An upstream failed",
        shape: "{tool}: {host} {what happened}.",
        next: "Try again later if the call changes nothing, or under an idempotency key.",
    }
    /// No source of this principal has the name.
    SourceNotFound = "HF_E1606" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such source",
        shape: "There is no source {name}.",
        next: "List the sources with GET /v1/sources, or connect one with PUT /v1/sources/{name}.",
    }
    /// No secret of this principal has the name.
    SecretNotFound = "HF_E1607" {
        NotFound, Caller, 404, FixRequest, No,
        title: "No such secret",
        shape: "There is no secret {name}.",
        next: "List the names with GET /v1/secrets, or put it with PUT /v1/secrets/{name}.",
    }
    /// What a source says of itself cannot be read.
    ImportFailed = "HF_E1608" {
        ToolError, Tool, 422, FixRequest, No,
        title: "The description of a source cannot be read",
        shape: "{source}: {place}: {why}.",
        next: "Correct the description or the URL that it is read from. What was imported before stays as it is.",
    }
    /// The database could not be read or written, and nothing was done.
    StorageUnavailable = "HF_E1701" {
        StorageError, Ours, 503, Retry, Safe,
        title: "The database is not available",
        shape: "The database could not be read or written; nothing was run.",
        next: "Send the request again after Retry-After.",
    }
    /// The record of a run could not be written while it ran.
    RecordLost = "HF_E1702" {
        StorageError, Ours, 503, LookUpRun, WithKey,
        title: "The record of the run could not be written",
        shape: "The record of the run could not be written; nothing further was run.",
        next: "Calls that had begun may have had their effect: look at what they changed before repeating any.",
    }
    /// The program went another way than its record.
    ReplayDiverged = "HF_E1801" {
        ReplayDiverged, Program, 200, FixCode, WithKey,
        title: "The program went another way when it was run again",
        shape: "Replay diverged at call {n}: the record has {recorded}, the program made {made}.",
        next: "Wrap what differs from one run to the next in step(name, fn), so that it is recorded.",
    }
    /// The journal has no room for another call.
    JournalFull = "HF_E1802" {
        LimitExceeded, Policy, 200, FixCode, No,
        title: "The journal is full",
        shape: "The journal of this run is full: {limit}.",
        next: "Split the work into several runs, or keep large values where a tool can read them.",
    }
    /// A call was made and its answer is not known.
    EffectUnknown = "HF_E1803" {
        EffectUnknown, Tool, 200, LookUpRun, No,
        title: "The effect of a call is not known",
        shape: "{tool} was called and the answer was lost with the sandbox; it is not called again.",
        next: "Ask the tool's own side whether the effect is there before repeating it.",
    }
}

#[cfg(test)]
mod tests {
    //! The catalogue's own rules.

    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_ordered_and_well_formed() {
        let codes: Vec<_> = Code::ALL.iter().map(|code| code.entry().code).collect();
        assert_eq!(codes.iter().collect::<HashSet<_>>().len(), codes.len());
        assert!(codes.is_sorted());
        for code in codes {
            let digits = code.strip_prefix("HF_E").expect(code);
            assert!(digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()), "{code}");
        }
    }

    #[test]
    fn every_entry_says_what_to_do_next() {
        for entry in Code::ALL.iter().map(|code| code.entry()) {
            assert!(entry.next_step.len() > 20 && entry.next_step.ends_with('.'), "{}", entry.code);
            assert!(!entry.title.is_empty() && !entry.shape.is_empty(), "{}", entry.code);
        }
    }

    #[test]
    fn only_timeouts_of_execution_begin_with_the_filtered_words() {
        for code in Code::ALL {
            let filtered = code.entry().shape.starts_with(crate::error::message::PREFIX);
            let expected =
                matches!(code, Code::BudgetSpent | Code::CeilingReached | Code::PermitTimedOut);
            assert_eq!(filtered, expected, "{}", code.entry().code);
        }
    }
}
