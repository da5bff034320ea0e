//! Commands from outside, and the reasons for which they are refused.
//!
//! This module folds nothing: an admitted command becomes an observation. Read `command` and
//! `claiming`, then `admit`.

pub(super) mod admit;
pub(super) mod claiming;
pub(super) mod command;
