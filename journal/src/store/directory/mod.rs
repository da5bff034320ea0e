//! The directory of a journal: whose it is, who holds it, and the notes in it.
//!
//! The room does not know the bytes of the log or of the index, only where they are and where a
//! note says that the log ends.
//!
//! Read `claim` first (the marker), then `lock`, `manifest` (where the log ends), `closed` (the
//! note of a clean close) and `snapshots` (what readers keep, a cache).

pub(crate) mod claim;
pub(crate) mod closed;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod snapshots;
