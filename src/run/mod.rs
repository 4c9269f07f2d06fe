//! The rules of a run, pure: budget, watchdog, limits, outcome, and the run itself.
//!
//! [`Run`](machine::Run) takes events, each with a time, and returns commands. It holds no JavaScript value, no
//! clock and no database, so its whole behaviour is tested natively. All times are Unix
//! milliseconds of the host's clock, which in production stands still between two I/O
//! operations: neighbours can be equal.

pub mod end;
pub mod journal;
pub mod limits;
pub mod log;
pub mod machine;
pub mod outcome;
pub mod segment;
pub mod surface;
pub mod value;
pub mod watchdog;
