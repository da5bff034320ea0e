//! A session whose calls could not be told.

use serde::Serialize;

use super::moment;
use crate::ledger::Erasure;
use crate::session::{SessionId, Timestamp};

/// A session whose calls could not be told, and what is known of it all the same.
///
/// ```json
/// {"session":"0199…","first_at":"2026-11-20T14:03:07.112345Z","last_at":"…","records":21,"calls":2,"answers":1,
///  "why":"key_not_given","problem":null,"erasure":null}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadSession {
    /// The session.
    pub session: SessionId,
    /// When it began.
    #[serde(serialize_with = "moment::text")]
    pub first_at: Timestamp,
    /// When something was recorded last.
    #[serde(serialize_with = "moment::text")]
    pub last_at: Timestamp,
    /// How many records it has.
    pub records: u64,
    /// How many of them received a call: the kinds of records stay in clear.
    pub calls: u64,
    /// How many of them are a person's answer that counted.
    pub answers: u64,
    /// Why they could not be told.
    pub why: Unread,
    /// What is wrong with it, where it is not sealed.
    pub problem: Option<String>,
    /// Who wanted it erased, and when it was, where somebody did.
    pub erasure: Option<Erasure>,
}

impl UnreadSession {
    /// What is to be said of it beside [`why`](Self::why): what is wrong with it, or who wanted it
    /// erased.
    pub fn more(&self) -> Option<String> {
        let erasure = || {
            let it = self.erasure.as_ref()?;
            Some(format!("{} wanted that: {}", it.by.in_short(), it.reason))
        };
        self.problem.clone().or_else(erasure)
    }
}

/// Why the calls of a session could not be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// It is sealed, and no key store was given.
    KeyNotGiven,
    /// It is sealed, and the key store has no key of it: it is kept elsewhere, or somebody removed
    /// it.
    KeyMissing,
    /// It is sealed, and its key was erased, and with it whatever it sealed;
    /// [`UnreadSession::erasure`] says who wanted it.
    Erased,
    /// A record, or something that one names, cannot be read.
    Unreadable,
}

impl Unread {
    /// As JSON spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Unread::KeyNotGiven => "key_not_given",
            Unread::KeyMissing => "key_missing",
            Unread::Erased => "erased",
            Unread::Unreadable => "unreadable",
        }
    }

    /// What that means.
    pub fn in_words(self) -> &'static str {
        match self {
            Unread::KeyNotGiven => "sealed, no key store given",
            Unread::KeyMissing => {
                "sealed, key not in the key store (kept elsewhere, or removed)"
            }
            Unread::Erased => "sealed, key erased",
            Unread::Unreadable => "not readable",
        }
    }
}
