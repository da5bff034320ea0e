//! The step: folding one event, the decisions that follow, and what is owed then.
//!
//! It holds no rule of its own. Read `step`, which names every event and phase, then `restless`,
//! which names them again: the calls that an event wakes.

pub(super) mod causes;
mod restless;
pub(super) mod rules;
pub(super) mod step;
#[cfg(test)]
mod step_tests;
