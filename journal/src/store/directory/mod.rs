//! The directory of a journal: its marker, its locks, and its notes.
//!
//! This module does not know the bytes of the log or of the index. It knows only their paths, and
//! the noted end of the log.
//!
//! Read `claim` first (the marker), then `lock`, `manifest` (the end of the log), `closed` (the
//! note of a clean close) and `snapshots` (the snapshots of readers, a cache).

pub(crate) mod claim;
pub(crate) mod closed;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod snapshots;
