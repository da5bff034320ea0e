//! What a caller hands to the journal in one atomic append, and what it gets back.

use std::sync::Arc;

use uuid::Uuid;

use crate::{Hash, Line};

/// One atomic addition to one stream: all of it is kept, or nothing.
#[derive(Clone, Debug)]
pub struct Append {
    /// The stream.
    pub session: Uuid,
    /// The last seq the caller knows, 0 for none. Another one in the journal is a conflict.
    pub expected: u64,
    /// The records, in order, at least one.
    pub lines: Vec<Line>,
    /// The objects these records name first.
    pub objects: Vec<Object>,
    /// What these records open and settle.
    pub open_work: Vec<WorkChange>,
    /// When the append is acknowledged.
    pub durability: Durability,
}

impl Append {
    /// A durable append of lines alone.
    pub fn new(session: Uuid, expected: u64, lines: Vec<Line>) -> Self {
        Self {
            session,
            expected,
            lines,
            objects: Vec::new(),
            open_work: Vec::new(),
            durability: Durability::Durable,
        }
    }
}

/// When an append is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// Once it is on the disk.
    Durable,
    /// Once it is checked and queued. It is on the disk with the next commit, which it awaits five
    /// milliseconds at most; a crash may lose it, together with all that follows it.
    Buffered,
}

/// A blob kept under the hash of its bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Object {
    /// `SHA-256(bytes)`; checked when appended.
    pub hash: Hash,
    /// The content.
    pub bytes: Arc<[u8]>,
}

impl Object {
    /// Takes bytes as an object and hashes them.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            hash: Hash::of_object(&bytes),
            bytes,
        }
    }
}

/// A change of the list of open work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WorkChange {
    /// Adds an item, or replaces the one of the same session and seq.
    Put(OpenItem),
    /// Removes an item; one that is not there is no error.
    Remove {
        /// The stream.
        session: Uuid,
        /// The seq that names the item.
        item: u64,
    },
}

/// Something that is open in a session. It holds ids, kinds, seqs, times and flags, never content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenItem {
    /// The stream.
    pub session: Uuid,
    /// The seq that names the item.
    pub item: u64,
    /// What sort of item it is, at most 255 bytes.
    pub kind: String,
    /// Since when, in microseconds since 1970.
    pub since_us: i64,
    /// When it runs out.
    pub deadline_us: Option<i64>,
    /// The id by which the outside names it.
    pub request: Option<Uuid>,
    /// Free for the caller.
    pub flags: u32,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Head {
    /// The seq of the last record.
    pub seq: u64,
    /// Its leaf hash.
    pub hash: Hash,
    /// Its time, in microseconds since 1970.
    pub at_us: i64,
}
