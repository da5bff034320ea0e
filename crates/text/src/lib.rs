//! Text from outside: [`json`] keeps JSON unchanged, and `files` reads and writes files that a user
//! names.
//!
//! This crate knows nothing of sessions, journals or the Live protocol. `json` is pure. `files` is
//! a feature, so that the pure core cannot access a disk through this crate.

#[cfg(feature = "files")]
pub mod files;
pub mod json;
