//! The status of a sink for operators.

use std::sync::{Mutex, MutexGuard, PoisonError};

use recount::session::{Seq, SessionId, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use super::state::Dead;
use crate::message::About;
use crate::values::Occasion;

/// The status of a sink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SinkStatus {
    /// The name.
    pub name: String,
    /// The kind: `webhook`, `slack`, `ntfy` or `command`.
    pub kind: &'static str,
    /// The part of a call that messages contain.
    pub detail: &'static str,
    /// The number of messages that were delivered since the start.
    pub delivered: u64,
    /// The number of attempts that failed since the start.
    pub failures: u64,
    /// The number of messages that wait for an attempt.
    pub queued: u64,
    /// The number of commits of the journal that the sink has not read yet.
    pub lag: u64,
    /// The time since which no attempt has succeeded, or the sink does not run. `None` if the last
    /// one did.
    #[serde(rename = "failing_since_us")]
    pub failing_since: Option<Timestamp>,
    /// The last error, if the last attempt failed, or the reason why the sink does not run.
    pub error: Option<String>,
    /// The messages that are not tried any more, oldest first.
    pub dead_letters: Vec<DeadLetter>,
}

/// A message that is not tried any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetter {
    /// The id of the message.
    pub id: Uuid,
    /// The occasion.
    pub occasion: Occasion,
    /// The session. `None` for a digest.
    pub session: Option<SessionId>,
    /// The call. `None` for a digest, and if the session cannot be read.
    pub call: Option<Seq>,
    /// The time of the occasion.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
    /// The number of attempts.
    pub attempts: u32,
    /// The last error.
    pub reason: String,
    /// The time of the last attempt.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
}

/// The numbers of a sink, shared between its task and its readers.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<Numbers>);

/// The numbers of a sink.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) delivered: u64,
    pub(crate) failures: u64,
    pub(crate) queued: u64,
    pub(crate) position: u64,
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) error: Option<String>,
    pub(crate) dead_letters: Vec<DeadLetter>,
    /// True if the error is the reason why the sink does not run.
    is_stopped: bool,
}

impl Board {
    /// Shows that the sink runs. The error of its last attempt stays.
    pub(crate) fn runs(&self) {
        let mut numbers = self.numbers();
        if std::mem::take(&mut numbers.is_stopped) {
            (numbers.failing_since, numbers.error) = (None, None);
        }
    }

    /// Shows that the sink does not run.
    pub(crate) fn does_not_run(&self, reason: String, now: Timestamp) {
        let mut numbers = self.numbers();
        numbers.is_stopped = true;
        numbers.failing_since.get_or_insert(now);
        numbers.error = Some(reason);
    }

    pub(crate) fn numbers(&self) -> MutexGuard<'_, Numbers> {
        // The numbers are valid after each single change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeadLetter {
    pub(super) fn of(dead: &Dead) -> DeadLetter {
        let (session, call) = match &dead.notice.about {
            About::Call { session, call, .. } => (Some(*session), *call),
            About::Digest(_) | About::Nothing => (None, None),
        };
        DeadLetter {
            id: dead.notice.id,
            occasion: dead.notice.occasion,
            session,
            call,
            at: dead.notice.at,
            attempts: dead.attempts,
            reason: dead.reason.clone(),
            since: dead.since,
        }
    }
}
