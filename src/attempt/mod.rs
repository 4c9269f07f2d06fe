//! One attempt of a run, in a request of its own: prepare, load, watch, record, answer.
//!
//! The pure rules are [`Run`](crate::run::machine::Run)'s; this module carries out what it
//! commands. Whoever starts an attempt gets back the response as it was stored.

pub mod driver;
pub mod memory;
pub mod message;
pub mod order;
pub mod people;
pub mod permit;
pub mod program;
pub mod recorder;
pub mod shift;

pub use driver::run;
pub use order::{Order, PackageOrder, Parent, ServiceOrder, Wanted};
