//! A reading of a log that may be damaged.

mod log;
pub(crate) mod streams;

pub(crate) use log::{BEHIND, Survey, of_log};
