//! A legal hold: its target, its record, its end, and the reasons to refuse one.

use std::collections::BTreeMap;
use std::fmt;

use chrono::DateTime;
use serde::{Deserialize, Serialize};

use crate::session::{Actor, Seq, SessionId, Timestamp};

/// The sessions that a legal hold keeps from erasure.
///
/// ```json
/// {"session":"0199…"}
/// {"label":{"key":"matter","value":"17"}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HoldTarget {
    /// One session.
    Session(SessionId),
    /// All sessions with this label, also those that are opened while the hold is in force.
    Label {
        /// The name of the label.
        key: String,
        /// The value of the label.
        value: String,
    },
}

impl HoldTarget {
    /// The one session that the target is. `None` for a label.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self {
            HoldTarget::Session(session) => Some(*session),
            HoldTarget::Label { .. } => None,
        }
    }

    /// True if the target covers the session, which has these labels.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use recount::ledger::HoldTarget;
    /// use recount::session::SessionId;
    ///
    /// let matter = |value: &str| ("matter".to_owned(), value.to_owned());
    /// let (key, value) = matter("17");
    /// let target = HoldTarget::Label { key, value };
    /// let id = SessionId(uuid::Uuid::nil());
    /// assert!(target.covers(id, &BTreeMap::from([matter("17")])));
    /// assert!(!target.covers(id, &BTreeMap::from([matter("18")])));
    /// ```
    #[must_use]
    pub fn covers(&self, session: SessionId, labels: &BTreeMap<String, String>) -> bool {
        match self {
            HoldTarget::Session(held) => *held == session,
            HoldTarget::Label { key, value } => labels.get(key) == Some(value),
        }
    }
}

impl fmt::Display for HoldTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoldTarget::Session(session) => write!(f, "session {session}"),
            HoldTarget::Label { key, value } => write!(f, "sessions with the label {key}={value}"),
        }
    }
}

/// A legal hold, as recorded in the journal's own stream.
///
/// ```json
/// {"hold":7,"target":{"label":{"key":"matter","value":"17"}},"reason":"letter of counsel",
///  "by":{"name":"ada","authenticated_by":"os_user"},"since_us":1795183387112345}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The id of the hold: the seq of its record in the stream with the nil id.
    #[serde(rename = "hold")]
    pub id: Seq,
    /// The sessions that it keeps.
    pub target: HoldTarget,
    /// The reason, stored in clear.
    pub reason: String,
    /// The person who placed it.
    pub by: Actor,
    /// The time of its record.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
    /// The end of the hold. `None`, and omitted, while it is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<HoldEnd>,
}

impl Hold {
    /// True until the hold is released.
    #[must_use]
    pub fn is_in_force(&self) -> bool {
        self.released.is_none()
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, by, since) = (self.id, self.by.in_short(), spelled(self.since));
        write!(f, "hold {id} on {}, placed by {by} at {since}", self.target)?;
        write!(f, ": {}", self.reason)
    }
}

/// The release of a hold.
///
/// ```json
/// {"record":9,"reason":"settled","by":{"name":"ada","authenticated_by":"os_user"},
///  "at_us":1795183387112345}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldEnd {
    /// The record of the release, in the stream with the nil id.
    pub record: Seq,
    /// The reason, stored in clear.
    pub reason: String,
    /// The person who released it.
    pub by: Actor,
    /// The time of the record.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
}

/// The reason why a hold was not placed or not released. Nothing is recorded, with one exception:
/// [`ErasureRequested`](HoldRefusal::ErasureRequested).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HoldRefusal {
    /// The reason is empty.
    #[error("expected a reason, found none")]
    NoReason,
    /// The name of the label is empty.
    #[error("expected the name of a label, found none")]
    NoLabel,
    /// The record would be too large.
    #[error("expected a record of at most {max} bytes, found {bytes}")]
    TooLarge {
        /// The size of the record, in bytes.
        bytes: usize,
        /// The maximum size, in bytes.
        max: usize,
    },
    /// The session's key was deleted before, so nothing is left to keep.
    #[error("session {session} was erased before, by {}: {reason}", by.in_short())]
    SessionErased {
        /// The session.
        session: SessionId,
        /// The record of the deletion.
        at: Seq,
        /// The time of that record.
        at_us: Timestamp,
        /// The person who requested the erasure.
        by: Box<Actor>,
        /// The reason of the erasure.
        reason: String,
    },
    /// The erasure of a session was requested before, and its end is not on record. Its key may be
    /// deleted at any moment, by another process of the journal. A hold by label is recorded all
    /// the same, for the other sessions.
    #[error(
        "the hold comes too late for session {session}, whose erasure was requested before, by {}: \
         {reason}",
        by.in_short()
    )]
    ErasureRequested {
        /// The session.
        session: SessionId,
        /// The record of the request.
        at: Seq,
        /// The time of that record.
        at_us: Timestamp,
        /// The person who requested the erasure.
        by: Box<Actor>,
        /// The reason of the erasure.
        reason: String,
    },
    /// The journal has no hold of this id.
    #[error("there is no hold {hold}")]
    UnknownHold {
        /// The id.
        hold: Seq,
    },
    /// The hold was released before.
    #[error("hold {hold} was released before, by {}: {}", end.by.in_short(), end.reason)]
    HoldReleased {
        /// The hold.
        hold: Seq,
        /// Its release.
        end: Box<HoldEnd>,
    },
}

impl HoldRefusal {
    /// Returns a short stable code.
    ///
    /// ```
    /// use recount::ledger::HoldRefusal;
    /// assert_eq!(HoldRefusal::NoReason.code(), "no_reason");
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            HoldRefusal::NoReason => "no_reason",
            HoldRefusal::NoLabel => "no_label",
            HoldRefusal::TooLarge { .. } => "too_large",
            HoldRefusal::SessionErased { .. } => "session_erased",
            HoldRefusal::ErasureRequested { .. } => "erasure_requested",
            HoldRefusal::UnknownHold { .. } => "unknown_hold",
            HoldRefusal::HoldReleased { .. } => "hold_released",
        }
    }

    /// The record that conflicts with the request: its seq, its time and its actor.
    pub(crate) fn conflict(&self) -> Option<(Seq, Timestamp, &Actor)> {
        match self {
            HoldRefusal::SessionErased { at, at_us, by, .. }
            | HoldRefusal::ErasureRequested { at, at_us, by, .. } => Some((*at, *at_us, by)),
            HoldRefusal::HoldReleased { end, .. } => Some((end.record, end.at, &end.by)),
            HoldRefusal::NoReason
            | HoldRefusal::NoLabel
            | HoldRefusal::TooLarge { .. }
            | HoldRefusal::UnknownHold { .. } => None,
        }
    }
}

fn spelled(at: Timestamp) -> String {
    let utc = DateTime::from_timestamp_micros(at.0).unwrap_or_default();
    utc.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
