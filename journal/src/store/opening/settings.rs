//! The settings that an opening, a repair and a compaction share.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::store::directory::claim::Others;

/// The shared settings, with their defaults.
///
/// The options of an opening, a repair and a compaction each hold one, and set its fields.
pub(crate) struct Settings {
    /// The name of the program in the system stream.
    pub(crate) program: String,
    /// The memory that the index caches, in bytes.
    pub(crate) cache_bytes: u64,
    pub(crate) progress: Box<dyn Fn(Progress) + Send>,
    /// The time of a record of the system stream, in microseconds since 1970.
    pub(crate) clock: Arc<dyn Fn() -> i64 + Send + Sync>,
    pub(crate) others: Others,
    /// Called with each change of the directory before it is made.
    pub(crate) steps: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: concat!("recount-journal ", env!("CARGO_PKG_VERSION")).to_owned(),
            cache_bytes: 8 << 20,
            progress: Box::new(|_| {}),
            clock: Arc::new(wall_clock),
            others: Others::Refused,
            steps: Arc::new(|_| {}),
        }
    }
}

/// The progress of an opening or a copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// The bytes of the log that were read or copied.
    pub done: u64,
    /// The bytes of the log.
    pub total: u64,
}

fn wall_clock() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
