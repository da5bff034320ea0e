//! The limit of log lines about bad messages.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two lines of a kind. A client can send thousands of bad messages a
/// second.
const TELL_EVERY: Duration = Duration::from_secs(60);

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
            Complaint::Setup => "a client sent no readable setup",
            Complaint::Elsewhere => "the setup of a client is refused",
            Complaint::Declared => "the declarations of a client are refused",
            Complaint::Malformed => "a message of a client is not forwarded",
        }
    }
}

/// The complaints of a connection, or of all: the time of the last line, and the number since.
#[derive(Debug, Default)]
pub(crate) struct Complaints(BTreeMap<Complaint, (Option<Instant>, u64)>);

impl Complaints {
    /// Counts bad messages. Returns their number since the last line, if a line is due.
    pub(super) fn due(&mut self, complaint: Complaint, count: u64, now: Instant) -> Option<u64> {
        let (told, untold) = self.0.entry(complaint).or_default();
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
        let (mut complaints, begun) = (Complaints::default(), Instant::now());
        let mut due = |kind, count, at| complaints.due(kind, count, begun + at);
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
