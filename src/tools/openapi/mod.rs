//! `OpenAPI` 3.0 and 3.1: a document becomes tools, a tool's arguments a request, an answer a value.
//! Pure.

pub mod plan;

pub use plan::Plan;
