//! The records of the journal, and the types that callers hand in and get back.
//!
//! A record is one line of JSON, kept and hashed as those exact bytes. The room knows neither files
//! nor threads, and not what an event means.
//!
//! Read `append` first (one atomic append), then `record` and `line` (how a record is read and
//! kept), `draft` (how it is written), `limits` and `admission` (which appends are taken),
//! `open_work`. Beside them: `plain_line` and `outline` (quick readings), `timestamp`, `merkle`
//! (the root over all records), `export_lines` (the lines of an export that are no records).

pub(crate) mod admission;
pub(crate) mod append;
pub(crate) mod draft;
pub(crate) mod export_lines;
pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod merkle;
pub(crate) mod open_work;
pub(crate) mod outline;
mod plain_line;
pub(crate) mod record;
mod timestamp;
