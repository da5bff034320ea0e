//! The step: folds one event, makes the decisions that follow, and lists the effects owed.
//!
//! This module contains no rules of its own. Read `step`, which names every event and phase, then
//! `restless`, which names the calls that each event wakes.

pub(super) mod admitting;
pub(super) mod causes;
mod restless;
pub(super) mod rules;
pub(super) mod step;
#[cfg(test)]
mod step_tests;
