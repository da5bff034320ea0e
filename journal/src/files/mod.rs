//! The files and directories of a journal: who may read and write them, and how they get their
//! names.
//!
//! What a file holds is not known here, nor is the order in which the journal writes its files.
//!
//! Read `private` first (files for one user alone), then `disk` (the operations that the log
//! needs), `guard` (who else may have written here), `unfinished` and `swap` (new names that are
//! durable).

pub mod disk;
pub(crate) mod guard;
pub(crate) mod private;
pub(crate) mod swap;
pub(crate) mod unfinished;
