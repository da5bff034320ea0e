//! A session whose calls could not be read.

use serde::Serialize;

use super::moment;
use crate::ledger::Erasure;
use crate::session::{SessionId, Timestamp};

/// A session whose calls could not be read, and the facts that are known without them.
///
/// ```json
/// {"session":"0199…","first_at":"2026-11-20T14:03:07.112345Z","last_at":"…","records":21,
///  "calls":2,"answers":1,
///  "why":"key_not_given","problem":null,"erasure":null}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadSession {
    /// The session.
    pub session: SessionId,
    /// The time of the first record.
    #[serde(serialize_with = "moment::text")]
    pub first_at: Timestamp,
    /// The time of the last record.
    #[serde(serialize_with = "moment::text")]
    pub last_at: Timestamp,
    /// The number of records.
    pub records: u64,
    /// The number of records that received a call. The kinds of records are never sealed.
    pub calls: u64,
    /// The number of records with an accepted answer of a person.
    pub answers: u64,
    /// The reason.
    pub why: Unread,
    /// The error, if the reason is not the sealing.
    pub problem: Option<String>,
    /// The recorded erasure of the session.
    pub erasure: Option<Erasure>,
}

impl UnreadSession {
    /// Returns the details beside [`why`](Self::why): the error, or who requested the erasure.
    pub fn more(&self) -> Option<String> {
        let erasure = || {
            let it = self.erasure.as_ref()?;
            Some(format!("requested by {}: {}", it.by.in_short(), it.reason))
        };
        self.problem.clone().or_else(erasure)
    }
}

/// The reason why the calls of a session could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// The session is sealed, and no key store was given.
    KeyNotGiven,
    /// The session is sealed, and the key store has no key for it. The key is in another store or
    /// was removed.
    KeyMissing,
    /// The session is sealed, and its key was erased. [`UnreadSession::erasure`] has the request.
    Erased,
    /// A record, or an object that a record names, cannot be read.
    Unreadable,
}

impl Unread {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Unread::KeyNotGiven => "key_not_given",
            Unread::KeyMissing => "key_missing",
            Unread::Erased => "erased",
            Unread::Unreadable => "unreadable",
        }
    }

    /// Returns an explanation.
    pub fn in_words(self) -> &'static str {
        match self {
            Unread::KeyNotGiven => "sealed, no key store given",
            Unread::KeyMissing => "sealed, key not in the key store (kept elsewhere, or removed)",
            Unread::Erased => "sealed, key erased",
            Unread::Unreadable => "not readable",
        }
    }
}
