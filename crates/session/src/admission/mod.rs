//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command` with
//! `unfit_answer`, then `admit`. `approving` checks who may answer, and `standing` admits standing
//! leaves.

pub(super) mod admit;
pub(super) mod approving;
pub(super) mod command;
mod standing;
mod unfit_answer;
