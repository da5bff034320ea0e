//! The request for a bundle.

use recount::session::Timestamp;
use recount_evidence::PublicKey;
use recount_journal::Hash;
use serde::Serialize;

use crate::disclosure::Disclose;
use crate::sample::Sample;
use crate::scope::Scope;

/// A request for a bundle.
#[derive(Clone, Debug)]
pub struct Request {
    /// The part of the journal.
    pub scope: Scope,
    /// The amount of content.
    pub disclose: Disclose,
    /// The sample to which the content is limited.
    pub sample: Option<Sample>,
    /// The fields that are taken out: JSON Pointers, or `secret arguments` if none was given and
    /// tools declare some. [`Contents::redact`](crate::Contents::redact) sets them.
    pub redacted: Vec<String>,
    /// The public keys that are copied into the bundle. A reader who trusts the bundle alone cannot
    /// trust them.
    pub public_keys: Vec<PublicKey>,
    /// The program that writes the bundle.
    pub written_by: WrittenBy,
    /// The time of writing.
    pub written_at: Timestamp,
}

/// The program that writes a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenBy {
    /// The name and version, for example `recount 0.1.0`.
    pub program: String,
    /// The SHA-256 of its file. `None` if the file cannot be read.
    pub sha256: Option<Hash>,
}
