//! The records of an access journal: their kinds, and their bodies beside reads.

use recount::session::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The kind of the record of a read. Its body is a [`Read`](crate::Read).
pub(crate) const READ: &str = "sessions_read";

/// The kind of the record of reads that were not written again.
pub(crate) const REPEATED: &str = "reads_repeated";

/// The kind of the record of reads that could not be written.
pub(crate) const MISSED: &str = "reads_missed";

/// The kind of the record of the begin of a service that records reads.
pub(crate) const BEGAN: &str = "recording_began";

/// The kind of the record of its end.
pub(crate) const ENDED: &str = "recording_ended";

/// The body of a record of repeated reads.
///
/// ```json
/// {"of":{"stream":"20261128-0000-8000-8000-616363657373","seq":12},"times":3,
///  "last_us":1795183387112345}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repeated {
    /// The first read of the time in which the others were not written again.
    pub(crate) of: Place,
    /// The number of the others.
    pub(crate) times: u64,
    /// The time of the last one.
    #[serde(rename = "last_us")]
    pub(crate) last: Timestamp,
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) stream: Uuid,
    pub(crate) seq: u64,
}

/// The body of a record of missed reads.
///
/// ```json
/// {"reads":5,"from_us":1795183387112345,"until_us":1795183390112345,"error":"the disk has …"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MissedReads {
    pub(crate) reads: u64,
    #[serde(rename = "from_us")]
    pub(crate) from: Timestamp,
    #[serde(rename = "until_us")]
    pub(crate) until: Timestamp,
    pub(crate) error: String,
}

/// The body of a record of the begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Began {
    /// The seconds within which the same read is not written again.
    pub(crate) window_s: u64,
    /// `serve` or `refuse`.
    pub(crate) on_failure: String,
}

/// The body of a record of the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// True if the configuration switches the recording off, false at the end of a service.
    pub(crate) off: bool,
}
