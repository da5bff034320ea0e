//! Files and directories of a journal: who may read and write them, and how they get their names.

pub mod disk;
pub(crate) mod guard;
pub(crate) mod private;
pub(crate) mod swap;
pub(crate) mod unfinished;
