//! The journal on disk: the log first, the index after it, each with a thread.
//!
//! The directory holds `JOURNAL` (the marker), `LOCK`, `CLOSED` (the state at the last close),
//! `log/` and `sled/`. It may also hold files that a repair or a compaction set aside, and the
//! cache `snapshots/`, which may be removed at any time. The store does not interpret events, and
//! trusts the log over the index.
//!
//! Read `disk_journal` first (opening and close), then `serving` (the trait). The modules, from the
//! lowest: `system`, `directory`, `survey`, `opening`, `group_commit`. `pages` and `reading` read
//! records back.

pub(crate) mod directory;
mod disk_journal;
mod group_commit;
pub(crate) mod opening;
mod pages;
mod reading;
mod serving;
pub(crate) mod survey;
pub(crate) mod system;

pub use disk_journal::DiskJournal;
pub use group_commit::metrics::Metrics;
pub use opening::options::Options;
pub use opening::settings::Progress;
pub use system::{After, IndexState, Opened, own_append};
