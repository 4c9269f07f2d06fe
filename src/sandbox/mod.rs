//! The isolate that holds an attempt.
//!
//! [`Sandbox`] is what the rest of Holdfast knows of it; [`dynamic_worker`] is the first
//! implementation. The protocol between host and harness stands in `docs/sandbox.md`.

pub mod dynamic_worker;
pub mod isolate;
pub mod warm_worker;
pub mod words;

use crate::error::Fault;
use crate::run::end::Place;
use crate::run::limits::Limits;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// Version of the harness's numbering: which calls, timers and operations take a number, and in which
/// order. A record holds for one version, so whoever changes the numbering changes this.
pub const NUMBERING: u64 = 1;

/// Answers the harness's messages. JSON text in, JSON text out.
pub type Host = Rc<dyn Fn(String) -> Pin<Box<dyn Future<Output = String>>>>;

/// Something that runs a prepared program beside the harness.
pub trait Sandbox {
    /// Runs the module to its end, as the harness tells it (`run::end` reads it).
    ///
    /// When the future is dropped nothing that the program started reaches the host any more.
    ///
    /// # Errors
    ///
    /// A [`Fault`] of the lifecycle when there is no end: it could not be made, or it was lost.
    fn evaluate(
        &self,
        module: &str,
        invocation: &str,
        limits: &Limits,
        host: Host,
    ) -> impl Future<Output = Result<String, Lost>>;

    /// Where a place in one of its modules is in what the author wrote; `None` where the sandbox has
    /// no module but the program that it is given.
    fn place(
        &self,
        _module: &str,
        _line: u32,
        _column: u32,
    ) -> impl Future<Output = Option<Place>> {
        async { None }
    }
}

/// Why there was no end.
#[derive(Debug)]
pub enum Lost {
    /// The engine refused the program's text; its own words, with a place in `program.js`.
    Refused(String),
    /// Anything else.
    Fault(Fault),
}
