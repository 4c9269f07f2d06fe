//! Holdfast runs programs that AI agents write, at the edge, under watch.
//!
//! | Module | Lives there |
//! |---|---|
//! | [`api`] | HTTP: one file a resource |
//! | [`mcp`] | MCP, pure: both wire eras, the tools that are listed |
//! | [`runs`] | runs as every surface uses them: start, find, list, cancel, end the lost ones |
//! | [`approvals`] | what waits for people: list, decide, take the runs up that waited |
//! | [`rollback`] | what a run did is undone, by a run of its own |
//! | [`workflows`] | durable runs: create, list, cancel; the segments that the engine drives |
//! | [`ledger`] | idempotency keys: one run a key, its answer ever after |
//! | [`pages`] | what people see: pages of HTML, signing in |
//! | [`packages`] | saved, versioned programs with named exports, and their invocation |
//! | [`schedules`] | runs that begin at their times, each time once |
//! | [`services`] | exports of packages that are kept at work, one stretch after the other |
//! | [`attempt`] | one attempt, in a request of its own: the driver, the recorder |
//! | [`run`] | pure: budget, watchdog, limits, outcome, the run as a state machine |
//! | [`code`] | pure: from what an agent wrote to a module |
//! | [`error`] | pure: the catalogue, the message of a timeout |
//! | [`sandbox`] | the isolate that holds an attempt, and the harness inside it |
//! | [`tools`] | what a program may call, and where requests of ours may go |
//! | [`store`] | D1: one file a table family |
//! | [`access`] | pure: assertions of Cloudflare Access |
//! | [`auth`], [`signing`], [`config`], [`hex`] | tokens and scopes; what we sign; variables; bytes as text |
//! | [`report`] | Sentry: what is reported, what is noise, the tunnel |
//! | [`platform`] | bindings by hand: raw types inside, safe types outside |
//!
//! One direction: surfaces know runs, runs know tools and the store, nothing knows its caller.
//! `run`, `code` and `error` know no JavaScript value, no clock and no database; the file
//! `tests/the_rules_are_pure.rs` holds that.

pub mod access;
pub mod api;
pub mod approvals;
pub mod attempt;
pub mod auth;
pub mod code;
pub mod config;
pub mod entry;
pub mod error;
pub mod hex;
pub mod ledger;
pub mod mcp;
pub mod packages;
pub mod pages;
pub mod platform;
pub mod report;
pub mod rollback;
pub mod run;
pub mod runs;
pub mod sandbox;
pub mod schedules;
pub mod services;
pub mod signing;
pub mod store;
pub mod tools;
pub mod workflows;
