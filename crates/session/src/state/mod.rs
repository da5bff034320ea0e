//! The session at one moment: the fold of its events, and what the world is owed.
//!
//! It moves by no rule of its own: the step and the reducers write to it. Read `session`, then
//! `terms` and `effect`. `snapshot` keeps a session as bytes, in the forms of `rows`; `open_work`
//! and `waiting` list what is open.

pub(super) mod closing;
pub(super) mod effect;
pub(super) mod library;
pub(super) mod open_work;
pub(super) mod resumption;
mod rows;
pub(super) mod session;
pub mod snapshot;
#[cfg(test)]
mod state_tests;
pub(super) mod terms;
pub(super) mod waiting;
