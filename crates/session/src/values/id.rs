//! Names: of sessions, of records within one, and the ids that go outside.
//!
//! Inside the journal a call is named by the seq of the record that received it, because wire ids
//! repeat and may be missing. Ids for the outside are UUIDv5 of that name, so every process derives
//! the same ones.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Names one session for ever; the journal's stream key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

/// The place of a record in its session, from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seq(pub u64);

/// Names a call outside the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Uuid);

/// Names a confirmation request outside the journal; what a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub Uuid);

impl SessionId {
    /// The outside name of the call received at `call`.
    pub fn call_id(self, call: Seq) -> CallId {
        CallId(self.derive("call", call))
    }

    /// The outside name of the request asked at `request`.
    pub fn request_id(self, request: Seq) -> RequestId {
        RequestId(self.derive("request", request))
    }

    /// The key that stays the same over all attempts of the call received at `call`.
    pub fn idempotency_key(self, call: Seq) -> Uuid {
        self.derive("idempotency", call)
    }

    fn derive(self, what: &str, seq: Seq) -> Uuid {
        // Written to the stack: a call is named several times, and its names are short.
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

/// Displays and parses as the UUID inside.
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
