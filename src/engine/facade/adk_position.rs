//! The position of an ADK client in a session's events.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::session::Seq;

/// A position between two events of an ADK client.
///
/// It stays the same in every process. As text, and as JSON, it is two numbers with a point in
/// between.
///
/// ```
/// use recount::engine::AdkPosition;
/// let position: AdkPosition = "17.0".parse()?;
/// assert_eq!(position.to_string(), "17.0");
/// assert!(position > AdkPosition::START);
/// assert!("17".parse::<AdkPosition>().is_err());
/// # Ok::<(), recount::engine::AdkPositionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AdkPosition {
    /// The record of the next event.
    record: u64,
    /// The number of events of that record before the position.
    events: u32,
}

/// The error for a text that is no position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the position of an event, such as \"17.0\", found {found:?}")]
pub struct AdkPositionError {
    /// The text, or its beginning.
    pub found: String,
}

impl AdkPosition {
    /// The position before the first event.
    pub const START: AdkPosition = AdkPosition {
        record: 1,
        events: 0,
    };

    /// Returns the position before the first event of a record.
    pub(in crate::engine) fn of(record: Seq) -> AdkPosition {
        AdkPosition {
            record: record.0,
            events: 0,
        }
    }

    /// Returns the position after one event, in the same record if that has more.
    pub(in crate::engine) fn next(self, has_more: bool) -> AdkPosition {
        if has_more {
            AdkPosition {
                events: self.events.saturating_add(1),
                ..self
            }
        } else {
            AdkPosition {
                record: self.record.saturating_add(1),
                events: 0,
            }
        }
    }
}

impl fmt::Display for AdkPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.record, self.events)
    }
}

impl FromStr for AdkPosition {
    type Err = AdkPositionError;

    fn from_str(text: &str) -> Result<AdkPosition, AdkPositionError> {
        let read = text.split_once('.').and_then(|(record, events)| {
            let (record, events) = (record.parse().ok()?, events.parse().ok()?);
            Some(AdkPosition { record, events })
        });
        read.ok_or_else(|| AdkPositionError {
            found: text.chars().take(40).collect(),
        })
    }
}

impl TryFrom<String> for AdkPosition {
    type Error = AdkPositionError;

    fn try_from(text: String) -> Result<AdkPosition, AdkPositionError> {
        text.parse()
    }
}

impl From<AdkPosition> for String {
    fn from(position: AdkPosition) -> String {
        position.to_string()
    }
}
