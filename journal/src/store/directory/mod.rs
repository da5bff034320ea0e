//! The directory of a journal: whose it is, who holds it, and the notes in it that say where the log ends.

pub(crate) mod claim;
pub(crate) mod closed;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod snapshots;
