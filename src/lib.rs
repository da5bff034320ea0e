//! Recount.

pub mod session;
#[cfg(feature = "engine")]
pub mod tool;
