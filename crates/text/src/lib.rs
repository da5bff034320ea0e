//! Text from outside: [`json`] keeps JSON to the digit, and `files` reads and writes the files that
//! people name.
//!
//! It knows nothing of sessions, journals or the Live protocol. `json` is pure; `files` is a
//! feature, so that the pure core cannot reach a disk through this crate.

#[cfg(feature = "files")]
pub mod files;
pub mod json;
