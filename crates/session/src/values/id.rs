//! Ids of sessions, of records within a session, and of calls and requests outside the journal.
//!
//! Inside the journal, a call is identified by the seq of the record that received it, because wire
//! ids repeat and may be missing. The ids outside are UUIDv5 values derived from that seq, so every
//! process derives the same ones.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The permanent id of a session, and its stream key in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

/// The sequence number of a record in its session, from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seq(pub u64);

/// The id of a call outside the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Uuid);

/// The id of a confirmation request outside the journal. Answers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub Uuid);

impl SessionId {
    /// The id outside the journal of the call received at `call`.
    pub fn call_id(self, call: Seq) -> CallId {
        CallId(self.derive("call", call))
    }

    /// The id outside the journal of the request recorded at `request`.
    pub fn request_id(self, request: Seq) -> RequestId {
        RequestId(self.derive("request", request))
    }

    /// The idempotency key of all attempts of the call received at `call`.
    pub fn idempotency_key(self, call: Seq) -> Uuid {
        self.derive("idempotency", call)
    }

    fn derive(self, what: &str, seq: Seq) -> Uuid {
        // On the stack, because a call's ids are derived several times and the text is short.
        let (mut name, what) = ([0; 48], what.as_bytes());
        let mut rest = &mut name[..];
        let written = rest.write_all(what).and_then(|()| write!(rest, ":{seq}"));
        let left = rest.len();
        debug_assert!(
            written.is_ok(),
            "a word and a seq are shorter than 48 bytes"
        );
        let used = name.len() - left;
        Uuid::new_v5(&self.0, name.get(..used).unwrap_or_default())
    }
}

impl Seq {
    /// The seq after this one.
    pub const fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Implements `Display` and `FromStr` by the UUID inside.
macro_rules! shown_as_uuid {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )+};
}

shown_as_uuid!(SessionId, CallId, RequestId);
