//! Recount.

pub mod session;
