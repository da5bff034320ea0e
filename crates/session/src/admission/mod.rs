//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command` and
//! `claiming`, then `admit`. `approving` checks who may answer; `pausing` has the stop switch.

pub(super) mod admit;
pub(super) mod approving;
pub(super) mod claiming;
pub(super) mod command;
mod pausing;
