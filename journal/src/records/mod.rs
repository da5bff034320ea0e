//! The records of the journal, and the types that callers hand in and get back.

pub(crate) mod admission;
pub(crate) mod append;
pub(crate) mod draft;
pub(crate) mod line;
pub(crate) mod merkle;
pub(crate) mod open_work;
pub(crate) mod outline;
mod plain_line;
pub(crate) mod record;
mod timestamp;
