//! The status of a sink for operators.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount::session::{Seq, SessionId, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use super::state::{Dead, StateFile};
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
    /// The time since which no attempt has succeeded, the file of the sink cannot be written, or
    /// the sink does not run. `None` if all is well.
    #[serde(rename = "failing_since_us")]
    pub failing_since: Option<Timestamp>,
    /// The last error, if the last attempt failed, or the reason why the sink does not run or its
    /// file cannot be written.
    pub error: Option<String>,
    /// The messages that are not tried any more, oldest first.
    pub dead_letters: Vec<DeadLetter>,
    /// The number of dead letters that were dropped for newer ones, since the sink exists.
    pub dropped_dead_letters: u64,
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

/// A sink that the settings do not have any more, with messages that were not delivered.
///
/// They stay in its file. A sink with its name sends them, and what the journal has since then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedSink {
    /// The name.
    pub name: String,
    /// The number of messages that wait for an attempt.
    pub queued: u64,
    /// The number of messages that are not tried any more.
    pub dead_letters: u64,
    /// The file.
    pub file: PathBuf,
}

impl RemovedSink {
    /// The removed sink, if it has messages.
    pub(crate) fn of(name: &str, board: &Board, directory: &Path) -> Option<RemovedSink> {
        let numbers = board.numbers();
        let removed = RemovedSink {
            name: name.to_owned(),
            queued: numbers.queued,
            dead_letters: numbers.dead_letters.len() as u64,
            file: StateFile::named(name, directory).path().to_owned(),
        };
        Some(removed).filter(|it| it.queued > 0 || it.dead_letters > 0)
    }
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
    pub(crate) dropped_letters: u64,
    /// The reason why the state cannot be saved, and the time of the first failure.
    pub(crate) unsaved: Option<(Timestamp, String)>,
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

    /// Shows that the state cannot be saved. True if it could be before.
    pub(super) fn is_not_saved(&self, reason: String, now: Timestamp) -> bool {
        let unsaved = &mut self.numbers().unsaved;
        let since = unsaved.as_ref().map(|(since, _)| *since);
        *unsaved = Some((since.unwrap_or(now), reason));
        since.is_none()
    }

    /// Shows that the state is saved. True if it could not be saved before.
    pub(super) fn is_saved(&self) -> bool {
        self.numbers().unsaved.take().is_some()
    }

    pub(crate) fn numbers(&self) -> MutexGuard<'_, Numbers> {
        // The numbers are valid after each single change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Numbers {
    /// The time since which the sink fails, and the last error.
    pub(crate) fn failure(&self) -> (Option<Timestamp>, Option<String>) {
        let (since, unsaved) = self.unsaved.clone().unzip();
        let since = self.failing_since.into_iter().chain(since).min();
        (since, self.error.clone().or(unsaved))
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
