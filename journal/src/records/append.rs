//! The types of one atomic append, and of its result.

use std::sync::Arc;

use uuid::Uuid;

use crate::{Hash, Line};

/// An atomic append to one stream: all of it is stored, or nothing.
#[derive(Clone, Debug)]
pub struct Append {
    /// The stream.
    pub session: Uuid,
    /// The last seq that the caller knows, 0 for none. Another one in the journal is a conflict.
    pub expected: u64,
    /// The records, in order, at least one.
    pub lines: Vec<Line>,
    /// The objects that these records are the first to name.
    pub objects: Vec<Object>,
    /// The changes of open work that these records make.
    pub open_work: Vec<WorkChange>,
    /// The point at which the append is acknowledged.
    pub durability: Durability,
    /// The request of another process that these records carry out, in a journal with several
    /// writers. It is committed with them.
    pub carries_out: Option<CarriedOut>,
}

/// A request to the owner of a stream that an append carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CarriedOut {
    /// The id of the request.
    pub request: Uuid,
    /// The seq of the record that is its outcome.
    pub at: u64,
}

impl Append {
    /// Creates a durable append of lines, without objects or open work.
    pub fn new(session: Uuid, expected: u64, lines: Vec<Line>) -> Self {
        Self {
            session,
            expected,
            lines,
            objects: Vec::new(),
            open_work: Vec::new(),
            durability: Durability::Durable,
            carries_out: None,
        }
    }
}

/// The point at which an append is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// Acknowledged once it is on disk.
    Durable,
    /// Acknowledged once it is checked and queued. It is written with the next commit, after five
    /// milliseconds at most. A crash may lose it, together with all later appends.
    Buffered,
}

/// A blob that is stored under the hash of its bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Object {
    /// `SHA-256(bytes)`, which every append checks.
    pub hash: Hash,
    /// The content.
    pub bytes: Arc<[u8]>,
}

impl Object {
    /// Creates an object and hashes its bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            hash: Hash::of_object(&bytes),
            bytes,
        }
    }
}

/// A change of the open work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WorkChange {
    /// Adds an item, or replaces the item of the same session and seq.
    Put(OpenItem),
    /// Removes an item. A missing item is no error.
    Remove {
        /// The stream.
        session: Uuid,
        /// The seq that names the item.
        item: u64,
    },
}

/// An open item of a session. It holds ids, kinds, seqs, times and flags, never content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenItem {
    /// The stream.
    pub session: Uuid,
    /// The seq that names the item.
    pub item: u64,
    /// The kind of the item, at most 255 bytes.
    pub kind: String,
    /// The time at which it was opened, in microseconds since 1970.
    pub since_us: i64,
    /// The time at which it expires, in microseconds since 1970.
    pub deadline_us: Option<i64>,
    /// The external id of the item.
    pub request: Option<Uuid>,
    /// Flags of the caller.
    pub flags: u32,
}

/// The last record of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Head {
    /// The seq of the last record.
    pub seq: u64,
    /// Its leaf hash.
    pub hash: Hash,
    /// Its time, in microseconds since 1970.
    pub at_us: i64,
}
