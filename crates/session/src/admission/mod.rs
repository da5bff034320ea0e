//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command`, then
//! `admit`; `pausing` has the stop switch.

pub(super) mod admit;
pub(super) mod command;
pub(super) mod pausing;
