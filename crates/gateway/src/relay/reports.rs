//! The reports of a relay on their way to its session: in order, bounded, and none overtaken.
//!
//! Reports wait also before the session is open. The number of recorded ones is the fence that the
//! [copies](super::copies) of later messages wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount::session::Seq;
use tokio::sync::{mpsc, watch};

use crate::frames::responses::Returned;
use crate::frames::setup::Declared;
use crate::sessions::Start;

/// The number of reports that wait for a busy session. Then the client waits. One message may have
/// more answers, which are all taken.
const REPORTS: u64 = 1_024;

/// The part of this number that words do not take. A journal that does not write must not hold up
/// a client that speaks.
const KEPT_FOR_ANSWERS: u64 = 256;

/// The maximum size of waiting reports, in bytes. One more than there is room for is taken, too.
/// Words take a half at most.
const REPORTS_BYTES: usize = 4 << 20;

/// A report of the relay to its session.
pub(super) enum Report {
    /// The client sent text to the model.
    Said(String),
    /// The client answered a call of this connection.
    Return {
        start: Start,
        returned: Returned,
        is_interim: bool,
    },
    /// The client answered a call that its connection does not have, perhaps of an earlier one.
    Late {
        id: String,
        tool: String,
        returned: Returned,
    },
    /// The client declared other tools.
    Tools(Vec<Declared>),
}

impl Report {
    /// The call whose last answer the report has.
    pub(super) fn answers(&self) -> Option<Seq> {
        match self {
            Report::Return {
                start,
                is_interim: false,
                ..
            } => Some(start.call),
            Report::Return { .. } | Report::Said(_) | Report::Late { .. } | Report::Tools(_) => {
                None
            }
        }
    }

    /// The size of its texts, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Report::Said(text) => text.len(),
            Report::Return { returned, .. } => size_of(returned),
            Report::Late { id, tool, returned } => id.len() + tool.len() + size_of(returned),
            Report::Tools(tools) => tools.iter().map(Declared::bytes).sum(),
        }
    }
}

/// The size of a result's text, in bytes.
fn size_of(returned: &Returned) -> usize {
    match returned {
        Ok(response) => response.as_str().len(),
        Err(reason) => reason.len(),
    }
}

/// The relay's end: it adds reports.
pub(super) struct Reports {
    /// Each is boxed, because a channel reserves memory for 32 of them.
    queue: mpsc::UnboundedSender<Box<Report>>,
    /// The number of reports that were added.
    added: u64,
    bytes: Arc<AtomicUsize>,
    recorded: watch::Receiver<u64>,
}

/// The session's end: it takes the reports.
pub(super) struct Reported {
    // Dropped first: who waits for `recorded` then sees that nothing more is taken.
    queue: mpsc::UnboundedReceiver<Box<Report>>,
    bytes: Arc<AtomicUsize>,
    recorded: watch::Sender<u64>,
}

/// Makes both ends.
pub(super) fn reports() -> (Reports, Reported) {
    let (queue, queued) = mpsc::unbounded_channel();
    let (recorded, seen) = watch::channel(0);
    let bytes = Arc::<AtomicUsize>::default();
    let reported = Reported {
        queue: queued,
        bytes: bytes.clone(),
        recorded,
    };
    let reports = Reports {
        queue,
        added: 0,
        bytes,
        recorded: seen,
    };
    (reports, reported)
}

impl Reports {
    /// Adds a report. False if the session takes none any more.
    pub(super) fn add(&mut self, report: Report) -> bool {
        let bytes = report.bytes();
        // Before the session can take it.
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_taken = self.queue.send(Box::new(report)).is_ok();
        match is_taken {
            true => self.added += 1,
            false => drop(self.bytes.fetch_sub(bytes, Ordering::Relaxed)),
        }
        is_taken
    }

    /// True if another message of the client can be reported.
    pub(super) fn have_room(&self) -> bool {
        self.have_room_within(REPORTS, REPORTS_BYTES)
    }

    /// True if words of the client can be reported.
    pub(super) fn have_room_for_words(&self) -> bool {
        self.have_room_within(REPORTS - KEPT_FOR_ANSWERS, REPORTS_BYTES / 2)
    }

    fn have_room_within(&self, number: u64, bytes: usize) -> bool {
        let waiting = self.added.saturating_sub(*self.recorded.borrow());
        let has_room = waiting < number && self.bytes.load(Ordering::Relaxed) < bytes;
        // A session that has stopped takes no report, and needs no room.
        has_room || self.queue.is_closed()
    }

    /// Completes once the session has recorded another report, or takes none any more.
    pub(super) async fn progress(&mut self) {
        let _ = self.recorded.changed().await;
    }

    /// The number of reports until now.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// The number of reports that the session has recorded, as it changes.
    pub(super) fn recorded(&self) -> watch::Receiver<u64> {
        self.recorded.clone()
    }
}

impl Reported {
    /// Takes the next report, with its size. It is to be [noted](Reported::note) once it is
    /// recorded. `None`: the relay has ended.
    pub(super) async fn next(&mut self) -> Option<(Report, usize)> {
        let report = self.queue.recv().await?;
        let bytes = report.bytes();
        Some((*report, bytes))
    }

    /// Notes that the report was recorded, or cannot be.
    pub(super) fn note(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.recorded.send_modify(|it| *it += 1);
    }

    /// True if the relay has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.queue.is_closed()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn said(bytes: usize) -> Report {
        Report::Said("x".repeat(bytes))
    }

    #[tokio::test]
    async fn waiting_reports_are_bounded_in_number_and_bytes() {
        for bytes in [1, 1 << 20] {
            let (mut reports, mut reported) = reports();
            let mut added = 0;
            while reports.have_room() {
                reports.add(said(bytes));
                added += 1;
            }
            assert_eq!(added, if bytes == 1 { 1_024 } else { 4 });
            let (_, size) = reported.next().await.unwrap();
            assert!(!reports.have_room());
            reported.note(size);
            reports.progress().await;
            assert!(reports.have_room());
        }
    }

    #[test]
    fn words_leave_room_for_answers() {
        for (bytes, words) in [(1, 768), (1 << 20, 2)] {
            let (mut reports, _reported) = reports();
            let mut added = 0;
            while reports.have_room_for_words() {
                reports.add(said(bytes));
                added += 1;
            }
            assert_eq!(added, words);
            assert!(reports.have_room());
        }
    }

    #[tokio::test]
    async fn session_that_is_gone_needs_no_room() {
        let (mut reports, reported) = reports();
        reports.add(said(8 << 20));
        assert!(!reports.have_room());
        drop(reported);
        reports.progress().await;
        assert!(reports.have_room() && !reports.add(said(1)));
    }
}
