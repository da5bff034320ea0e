//! The state of a session at one moment: the fold of its events, and the effects it owes.
//!
//! This module contains no rules: the step and the reducers write the state. Read `session`, then
//! `terms` and `effect`. `snapshot` stores a session as bytes, with the row formats of `rows`.
//! `open_work` and `waiting` list what is open. `recent_approvals` counts approvals per approver.

pub(super) mod closing;
pub(super) mod effect;
pub(super) mod library;
pub(super) mod open_work;
pub(crate) mod pauses;
pub(super) mod recent_approvals;
pub(super) mod resumption;
mod rows;
pub(super) mod session;
pub mod snapshot;
pub(super) mod standing;
#[cfg(test)]
mod state_tests;
pub(super) mod terms;
pub(super) mod waiting;
