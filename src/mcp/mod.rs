//! The MCP endpoint: Streamable HTTP, both wire eras, no JavaScript.
//!
//! Requests come in as plain parts, and leave as a finished [`Answer`] or as something the
//! worker has to do first: a [`List`] wants to know what is connected, a [`Call`] wants a tool
//! run. Nothing here awaits, reads a clock or knows a database. The types are written by hand:
//! the SDKs for Rust either need a runtime that a worker lacks or are several times the size.
//!
//! The way of a request, in the order in which it can be refused:
//!
//! 1. [`Endpoint::open`]: path, `Host`, `Origin`, preflight, method;
//! 2. [`Opened::admit`]: who asks, then `Content-Type`, `Accept`, declared length;
//! 3. [`Admitted::read`]: length, UTF-8, JSON, shape, era, `_meta`, headers against body,
//!    method, parameters, arguments;
//! 4. the worker runs the tool and gives the outcome to [`Reply::answer`], or, once the call has
//!    been open for [`STREAM_AFTER_MS`], to a [`Stream`].
//!
//! Each step is a value that only the step before it makes, so the order cannot be got wrong.
//!
//! | File | Noun |
//! |---|---|
//! | `endpoint` | the order of checks |
//! | `headers`, `accept`, `origin`, `mirror` | what the HTTP head says, and whether it may |
//! | `access`, `well_known` | bearer tokens, and that there is no OAuth |
//! | `envelope`, `id`, `params`, `era` | the message: stage by stage, never an untagged enum |
//! | `discover`, `initialize`, `list`, `tools` | what is asked for |
//! | `arguments` | the arguments of a tool, typed, each fault with its path |
//! | `state`, `ask` | what a client carries from a call that waits for people to the one that goes on |
//! | `reply`, `result`, `rpc_error`, `refusal`, `answer` | what goes back |
//! | `sse`, `stream` | what goes back piece by piece |

mod accept;
mod access;
mod answer;
mod arguments;
mod ask;
mod discover;
mod endpoint;
mod envelope;
mod era;
mod headers;
mod id;
mod initialize;
mod list;
mod mirror;
mod origin;
mod params;
mod refusal;
mod reply;
mod result;
mod rpc_error;
mod sse;
mod state;
mod stream;
mod tools;
mod well_known;

pub use access::Access;
pub use answer::Answer;
pub use ask::{Ask, Responses, Word};
pub use endpoint::{Admitted, Call, Endpoint, Head, Opened, Read, Returned};
pub use era::{Era, LEGACY, MODERN, NEWEST_LEGACY};
pub use headers::Headers;
pub use list::List;
pub use origin::Origins;
pub use params::Capabilities;
pub use reply::Reply;
pub use result::{ToolAnswer, ToolOutcome};
pub use state::{MAX_ASKED, MAX_ROUNDS, Refused, State, States};
pub use stream::{STREAM_AFTER_MS, Stream};
pub use tools::{
    Change, Execute, Guide, PackageInvoke, PackageList, RunList, ScheduleChange, ScheduleList,
    SchedulePut, ServiceStart, ServiceStatus, Tool, WorkflowCreate,
};
pub use well_known::well_known;

/// Runs the tools that are called. The worker has the real one, tests have fakes.
///
/// Whoever implements it knows the principal. Dropping the future is the cancel: the client has
/// closed the stream.
pub trait Host {
    /// Runs one tool to its outcome.
    ///
    /// # Errors
    ///
    /// The [`Fault`](crate::error::Fault) when no run came of it: unknown run, no capacity, key in use, ours.
    fn call(&self, call: &Call) -> impl Future<Output = ToolAnswer>;
}
