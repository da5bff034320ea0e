//! The records of the journal, and the types of its interface.
//!
//! A record is one line of JSON, stored and hashed as those exact bytes. This module uses neither
//! files nor threads, and does not interpret events.
//!
//! Read `append` first (one atomic append), then `record` and `line` (how a record is read and
//! kept) and `draft` (how it is written). `limits` and `admission` say which appends are accepted.
//! Beside them: `open_work`, `plain_line` and `outline` (fast readers), `timestamp`, `export_lines`
//! (the lines of an export that are not records).

pub(crate) mod admission;
pub(crate) mod append;
pub(crate) mod draft;
pub(crate) mod export_lines;
pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod open_work;
pub(crate) mod outline;
mod plain_line;
pub(crate) mod record;
mod timestamp;
