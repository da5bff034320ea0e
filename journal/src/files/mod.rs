//! The files and directories of a journal: their permissions, and how they get their names.
//!
//! This module knows neither the content of a file nor the order in which the journal writes them.
//!
//! Read `private` first (files for one user), then `disk` (the operations that the log needs).
//! Beside them: `guard` (checks which other users may have written), `unfinished` and `swap`
//! (durable renames).

pub mod disk;
pub(crate) mod guard;
pub(crate) mod private;
pub(crate) mod swap;
pub(crate) mod unfinished;
