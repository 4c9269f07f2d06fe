//! Sources: where tools come from that a principal connects. One trait, one file a kind.
//!
//! SKETCH for the branch `imports`; the common shape of an imported tool is its `tools/import.rs`.
//! What this side needs of it:
//!
//! ```text
//! pub struct Import   { tools: Vec<Imported>, left_out: Vec<LeftOut> }
//! pub struct LeftOut  { what: String, why: String }
//! pub struct Imported {
//!     upstream: String,          // the upstream's own stable key: tool name, operation, field
//!     path: String,              // without the source's name: `group.tool`, made by naming.rs from
//!                                // upstream keys and the paths known from before (stable, numbered)
//!     title: Option<String>, description: String,
//!     input: Value,              // JSON Schema of the one object that is the argument
//!     output: Option<Value>,     // JSON Schema of what the call gives, if known
//!     declares: Declared,        // policy.rs
//!     idempotent: bool,          // may be sent again
//!     plan: Value,               // whatever the kind needs to make the call; stored as JSON
//! }
//! // pure, for OpenAPI and GraphQL: arguments to a request, response to a value
//! fn request(plan: &Value, base: &Url, args: &Value) -> Result<HttpRequest, String>
//!     HttpRequest { method, url, headers: Vec<(String, String)>, body: Option<Vec<u8>> }
//! fn answer(plan: &Value, status: u16, headers: &[(String, String)], body: Vec<u8>) -> Result<tagged JSON String, Fault>
//! // schema.rs:      compile(&Value) -> Schema; schema.check(&Value) -> Result<(), Vec<Problem{path, what}>>
//! // typescript.rs:  argument_type(&Value) -> String; result_type(Option<&Value>) -> String
//! ```
