//! Errors: the catalogue, the fault that carries one of its entries, and the message of a timeout.
//!
//! Every error that leaves the worker is a [`Fault`]: an entry of the [catalogue](Code) with the
//! numbers and names of its case filled in. Pure: nothing here knows HTTP, MCP or a database;
//! the surfaces read what they need from the entry.

mod catalogue;
mod fault;
pub mod message;
pub mod page;

pub use catalogue::{Action, Code, Entry, Kind, Retry, Whose};
pub use fault::{Fault, Phase};
