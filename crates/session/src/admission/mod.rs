//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command` with
//! `unfit_answer`, then `admit`. `standing` admits standing leaves.

pub(super) mod admit;
pub(super) mod command;
mod standing;
mod unfit_answer;
