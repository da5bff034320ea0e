//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command` with
//! `rejection`, `unfit_answer` and `claiming`, then `admit` and `keyed`. `approving` checks who may
//! answer, `standing` admits standing leaves, and `pausing` has the stop switch.

pub(super) mod admit;
pub(super) mod approving;
pub(super) mod claiming;
pub(super) mod command;
pub(super) mod keyed;
pub(super) mod pausing;
mod rejection;
mod standing;
mod unfit_answer;
