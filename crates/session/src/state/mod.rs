//! The session at one moment: the fold of its events, and what the world is owed.
//!
//! It moves by no rule of its own: the reducers write to it. Read `session`, then `terms`.

pub(super) mod effect;
pub(super) mod open_work;
pub(super) mod resumption;
pub(super) mod session;
pub mod snapshot;
#[cfg(test)]
mod state_tests;
pub(super) mod terms;
pub(super) mod waiting;
