//! The step: folding one event, the decisions that follow, and what is owed then.
//!
//! It names every event once and holds no rule of its own. Read `step`, then `restless`.

pub(super) mod causes;
mod restless;
pub(super) mod rules;
pub(super) mod step;
#[cfg(test)]
mod step_tests;
