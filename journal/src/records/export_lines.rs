//! The lines of an export that are not records: its objects and its trailer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Hash;

/// The last line of an export: the content of a complete file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Trailer {
    /// The number of records.
    pub records: u64,
    /// The number of objects.
    pub objects: u64,
    /// The head of each stream.
    pub heads: BTreeMap<Uuid, TrailerHead>,
    /// The tree hash of RFC 6962 over the leaf hashes of all records in the order of the file.
    pub root: Hash,
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
