//! The lines of an export that are not records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::Hash;

/// The format of an export, as its trailer says. Format 1 has the records of stream after stream.
/// Format 2 has them in the order of the log, with their indexes among the leaves of the tree.
pub(crate) const FORMAT: u32 = 2;

/// The last line of an export: the content of a complete file.
///
/// ```json
/// {"trailer":{"format":2,"records":42,"objects":3,"heads":{"0199…":{"seq":41,"hash":"9f86…"}},
///  "root":"0ac5…","size":42}}
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trailer {
    /// The format of the file; 1 if it is absent.
    #[serde(default = "first")]
    pub format: u32,
    /// The number of records.
    pub records: u64,
    /// The number of objects.
    pub objects: u64,
    /// The head of each stream.
    pub heads: BTreeMap<Uuid, TrailerHead>,
    /// The tree hash of RFC 6962 over the leaf hashes of all records in the order of the file. With
    /// a `size` it is the root that a checkpoint of this size signs.
    pub root: Hash,
    /// The number of leaves, if the file has all leaves of the journal from the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

fn first() -> u32 {
    1
}

/// The head of a stream in a trailer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TrailerHead {
    /// The seq of the last record.
    pub seq: u64,
    /// Its leaf hash.
    pub hash: Hash,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct TrailerLine {
    pub(crate) trailer: Trailer,
}

/// An object of an export: UTF-8 as text, everything else in Base64.
#[derive(Deserialize, Serialize)]
pub(crate) struct ObjectLine {
    pub(crate) object: Hash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<String>,
}

/// The index of the next record among the leaves of the tree. The records behind it follow one by
/// one.
#[derive(Deserialize, Serialize)]
pub(crate) struct LeafLine {
    pub(crate) leaf: u64,
}

/// A record that is not shown as it is: its leaf hash, and what is shown of it.
#[derive(Deserialize, Serialize)]
pub(crate) struct WithheldLine {
    pub(crate) withheld: Withheld,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Withheld {
    pub(crate) hash: Hash,
    /// The record with another body, `null` if nothing of it is shown.
    pub(crate) record: Box<RawValue>,
}

/// Leaves that the file does not show, as the root of their full subtree.
#[derive(Deserialize, Serialize)]
pub(crate) struct SubtreeLine {
    pub(crate) subtree: Subtree,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Subtree {
    pub(crate) leaves: u64,
    pub(crate) hash: Hash,
}
