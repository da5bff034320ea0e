//! Maintenance: operations on a journal beside appending and reading.
//!
//! Each operation takes a whole journal or file, and reports its findings and actions. The store
//! never calls one. No operation interprets records.
//!
//! Read `verify` first, then `backup`, `export` with `export_writer`, and `import` (a journal as a
//! file of lines), `repair` and `compact`. `read_export` is an import into memory. The others
//! import only `verify`.

pub mod backup;
pub(crate) mod compact;
pub(crate) mod export;
pub(crate) mod export_writer;
pub(crate) mod import;
pub(crate) mod read_export;
pub(crate) mod repair;
pub mod verify;
