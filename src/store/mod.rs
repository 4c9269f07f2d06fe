//! D1: one file a table family. Rows are validated when read; every query of a client's has the
//! principal in its WHERE; every write of an attempt names its fence.

pub mod approvals;
pub mod attempts;
pub mod compensations;
pub mod db;
pub mod dispatches;
pub mod followed;
pub mod history;
pub mod journal;
pub mod ledger;
pub mod lists;
pub mod packages;
pub mod permits;
pub mod policies;
pub mod runs;
pub mod schedules;
pub mod secrets;
pub mod services;
pub mod sessions;
pub mod sources;
pub mod states;
pub mod storage;
pub mod tokens;
pub mod turns;
pub mod workflows;
