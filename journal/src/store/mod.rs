//! The journal on disk: the log in front, the index behind it, each with a thread.
//!
//! The directory holds `JOURNAL` (what this is), `LOCK`, `CLOSED` (how the last close left
//! everything), `log/` and `sled/`, what a repair or a compaction sets aside, and in `snapshots/`
//! what readers keep and where the streams stand that wait, which may be removed at any time. The
//! store does not know what an event means, and does not trust the index over the log.
//!
//! Read `disk_journal` first (opening and close), then `serving` (the answers). The rooms, from the
//! lowest: `system`, `directory`, `survey`, `opening`, `group_commit`. `pages` and `reading` read
//! back.

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
pub use system::{After, IndexState, Opened};
