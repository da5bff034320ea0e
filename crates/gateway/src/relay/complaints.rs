//! The limit of log lines about bad messages.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use recount::session::SessionId;
use tokio::time::Instant;

/// The shortest time between two lines of a kind. A client can send thousands of bad messages a
/// second.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The number of characters of a problem that are logged. A client may quote megabytes.
const PROBLEM_MAX: usize = 500;

/// The kinds of bad messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Complaint {
    /// An answer to a call that the client does not have.
    NotDelivered,
    /// An answer to such a call outside `toolResponse`.
    Forged,
    /// A message of the vendor that does not pass.
    Unreadable,
    /// A report that does not reach its session.
    Unreported,
    /// A report that its session does not record.
    Unrecorded,
    /// Functions that the agent cannot serve.
    Unfit,
    /// A setup that cannot be read.
    Setup,
    /// A setup that leads elsewhere than its client may.
    Elsewhere,
    /// Declarations that are too many, too large or not allowed.
    Declared,
    /// Another message of a client that ends its connection.
    Malformed,
}

impl Complaint {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Complaint::NotDelivered => "a client answered calls that it does not have",
            Complaint::Forged => {
                "a client answered held calls outside toolResponse; its messages are dropped"
            }
            Complaint::Unreadable => "messages of the vendor are not forwarded",
            Complaint::Unreported => "reports of a client do not reach its session",
            Complaint::Unrecorded => "reports of a client were not recorded",
            Complaint::Unfit => "calls of functions of a client are refused",
            Complaint::Setup => "a client sent no readable setup",
            Complaint::Elsewhere => "the setup of a client is refused",
            Complaint::Declared => "the declarations of a client are refused",
            Complaint::Malformed => "a message of a client is not forwarded",
        }
    }
}

/// The complaints of all connections: the time of the last line of each kind, and the number since.
/// Clients may connect again and again, so no connection has lines of its own.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Mutex<BTreeMap<Complaint, (Option<Instant>, u64)>>);

impl Complaints {
    /// Logs bad messages of a client, unless a line of their kind is less than a minute old.
    ///
    /// The problem may quote the client or the vendor. As a text, and not as a value to display, it
    /// is written with its control characters escaped.
    pub(super) fn tell(
        &self,
        (complaint, count): (Complaint, usize),
        (session, client): (Option<SessionId>, &str),
        problem: Option<&dyn Display>,
    ) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let Some(count) = self.due(complaint, count, Instant::now()) else {
            return;
        };
        // Empty before the session is open.
        let session = session.map(tracing::field::display);
        let cut =
            |it: &dyn Display| -> String { it.to_string().chars().take(PROBLEM_MAX).collect() };
        let problem = problem.map(cut);
        let problem = problem.as_deref();
        tracing::warn!(session, client, count, problem, "{}", complaint.in_words());
    }

    /// Logs functions that the agent cannot serve, with the mistake of the first.
    pub(super) fn tell_unfit(&self, mistakes: &[String], client: (Option<SessionId>, &str)) {
        let first = mistakes.first().map(|it| it as &dyn Display);
        self.tell((Complaint::Unfit, mistakes.len()), client, first);
    }

    /// Counts bad messages. Returns their number since the last line, if a line is due.
    fn due(&self, complaint: Complaint, count: u64, now: Instant) -> Option<u64> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        let mut complaints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (told, untold) = complaints.entry(complaint).or_default();
        *untold += count;
        let is_due = told.is_none_or(|it| now.duration_since(it) >= TELL_EVERY);
        if !is_due || *untold == 0 {
            return None;
        }
        *told = Some(now);
        Some(std::mem::take(untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_one_line_a_minute() {
        let (complaints, begun) = (Complaints::default(), Instant::now());
        let due = |kind, count, at| complaints.due(kind, count, begun + at);
        let second = Duration::from_secs(1);
        assert_eq!(due(Complaint::NotDelivered, 0, second), None);
        assert_eq!(due(Complaint::NotDelivered, 150_000, second), Some(150_000));
        assert_eq!(due(Complaint::NotDelivered, 1, second * 2), None);
        assert_eq!(due(Complaint::Forged, 1, second * 2), Some(1));
        assert_eq!(due(Complaint::NotDelivered, 2, second * 60), None);
        assert_eq!(due(Complaint::NotDelivered, 3, second * 61), Some(6));
        assert_eq!(due(Complaint::NotDelivered, 1, second * 62), None);
    }
}
