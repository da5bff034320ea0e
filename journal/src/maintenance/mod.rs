//! Maintenance: the work on a journal beside appending and reading.
//!
//! Each tool takes a whole journal or file, reports what it found and did, and is never called by
//! the store. No tool knows what a record means.
//!
//! Read `verify` first, then `backup`, `export` and `import` (a journal as a file of lines),
//! `repair` and `compact`. Only `verify` is imported by the others.

pub mod backup;
pub(crate) mod compact;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod repair;
pub mod verify;
