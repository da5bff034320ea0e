//! Commands from outside, and the reasons for which they are refused.
//!
//! It folds nothing: an admitted command is an observation. Read `command`, then `admit`.

pub(super) mod admit;
pub(super) mod command;
