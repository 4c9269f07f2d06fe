//! The pages, pure: each is a function from what it shows to markup. Nothing here knows a request, a
//! database or a clock, so a page is tested by calling it.

pub mod approval;
pub mod arguments;
pub mod docs;
pub mod fault;
pub mod frame;
pub mod packages;
pub mod policies;
pub mod program;
pub mod run;
pub mod runs;
pub mod schedules;
pub mod services;
pub mod sign_in;
pub mod sources;
pub mod text;
pub mod time;
pub mod timeline;
pub mod tokens;
pub mod told;
