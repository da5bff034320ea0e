//! The task that follows the journal and sends spans.

use std::sync::Arc;
use std::time::Duration;

use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId};
use recount_journal::{Commit, FollowPlace, Journal, causes};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::cursor::Cursor;
use super::sender::{Sender, Undelivered};
use super::tracers::Tracers;
use crate::content::Content;
use crate::otlp::SPANS_MAX;
use crate::span::Span;

/// The maximum wait of a span for others that are sent with it.
const LINGER: Duration = Duration::from_millis(500);

/// The maximum time until the place is saved if no span ends. A restart reads from there again.
const SAVE_AFTER: Duration = Duration::from_secs(5);

/// The wait after the first failure. Each further failure doubles it.
const BACK_OFF: Duration = Duration::from_secs(1);

/// The maximum wait after a failure.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);

/// A follower of the journal that sends the spans of its sessions.
pub(super) struct Follower {
    journal: Arc<dyn Journal>,
    tracers: Tracers,
    sender: Sender,
    cursor: Cursor,
    place: FollowPlace,
    /// Spans that were not sent yet.
    waiting: Vec<Span>,
    /// The time at which the spans are sent and the place is saved.
    due: Option<Instant>,
    /// True once the export was asked to stop.
    stop: watch::Receiver<bool>,
}

/// The export was asked to stop before all spans were delivered.
struct Stopped;

/// Waits until the export is asked to stop, or dropped.
async fn stopped(mut stop: watch::Receiver<bool>) {
    drop(stop.wait_for(|it| *it).await);
}

impl Follower {
    pub(super) fn new(
        ledger: Ledger,
        content: Content,
        sender: Sender,
        (cursor, place): (Cursor, FollowPlace),
        stop: watch::Receiver<bool>,
    ) -> Follower {
        Follower {
            journal: ledger.journal().clone(),
            tracers: Tracers::new(ledger, content),
            sender,
            cursor,
            place,
            waiting: Vec::new(),
            due: None,
            stop,
        }
    }

    /// Follows until it is asked to stop, or the journal is closed or damaged. Its ledger waits
    /// while the journal cannot be read.
    pub(super) async fn follow(mut self) {
        if let Err(error) = self.follow_until_stopped().await {
            let is_closed = matches!(error, Error::Journal(recount_journal::Error::Closed));
            if !is_closed {
                tracing::error!(error = %causes(&error), "the export of traces ends here");
            }
        }
    }

    async fn follow_until_stopped(&mut self) -> Result<(), Error> {
        loop {
            let (journal, stop) = (self.journal.clone(), stopped(self.stop.clone()));
            let due = self.due;
            let is_due = async move {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop => return self.finish().await,
                () = is_due => {
                    if self.deliver().await.is_err() {
                        return self.finish().await;
                    }
                }
                commit = journal.follow(self.place.position) => {
                    self.add(&commit?).await?;
                    let is_full = self.waiting.len() >= SPANS_MAX;
                    if is_full && self.deliver().await.is_err() {
                        return self.finish().await;
                    }
                }
            }
        }
    }

    /// Adds the spans that end with a commit.
    async fn add(&mut self, commit: &Commit) -> Result<(), Error> {
        for (stream, lines) in &commit.appends {
            let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
                continue;
            };
            // The journal's own stream is no session.
            let (Ok(first), Ok(last)) = (first.record(), last.record()) else {
                continue;
            };
            if !stream.is_nil() {
                let range = (Seq(first.seq), Seq(last.seq));
                let session = SessionId(*stream);
                self.tracers
                    .apply(session, range, &mut self.waiting)
                    .await?;
            }
        }
        self.place = FollowPlace::after(commit);
        let wait = match self.waiting.is_empty() {
            true => SAVE_AFTER,
            false => LINGER,
        };
        let due = Instant::now() + wait;
        self.due = Some(self.due.map_or(due, |it| it.min(due)));
        Ok(())
    }

    /// Sends the spans until they are delivered, then saves the place.
    async fn deliver(&mut self) -> Result<(), Stopped> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut parts: Vec<&[Span]> = waiting.chunks(SPANS_MAX).rev().collect();
        let mut failures = 0;
        while let Some(spans) = parts.pop() {
            let wait = match self.sender.send(spans).await {
                Ok(()) => {
                    if failures > 0 {
                        tracing::warn!(failures, "the collector takes spans again");
                    }
                    failures = 0;
                    continue;
                }
                Err(refused) => match self.after(refused, spans, &mut parts, failures) {
                    Some(wait) => wait,
                    None => continue,
                },
            };
            failures += 1;
            tokio::select! {
                biased;
                () = stopped(self.stop.clone()) => {
                    let rest = parts.iter().rev().flat_map(|it| it.iter());
                    self.waiting = rest.cloned().collect();
                    return Err(Stopped);
                }
                () = sleep(wait) => {}
            }
        }
        self.save();
        Ok(())
    }

    /// Puts spans back that can be sent again. Returns the wait before that. `None`: no wait.
    fn after<'s>(
        &self,
        refused: Undelivered,
        spans: &'s [Span],
        parts: &mut Vec<&'s [Span]>,
        failures: u32,
    ) -> Option<Duration> {
        match refused {
            Undelivered::TooLarge if spans.len() > 1 => {
                let (some, others) = spans.split_at(spans.len() / 2);
                parts.extend([others, some]);
                None
            }
            Undelivered::TooLarge => {
                tracing::error!("a span is dropped: the collector says that it is too large");
                None
            }
            Undelivered::Rejected(status) => {
                let spans = spans.len();
                tracing::error!(%status, spans, "spans are dropped: the collector rejects them");
                None
            }
            Undelivered::Unavailable(error, asked) => {
                parts.push(spans);
                let doubled = BACK_OFF.saturating_mul(2_u32.saturating_pow(failures));
                let wait = asked.unwrap_or(doubled.min(BACK_OFF_MAX));
                let endpoint = self.sender.endpoint();
                if failures == 0 {
                    tracing::warn!(%endpoint, %error, "the collector does not take spans");
                } else {
                    tracing::debug!(%endpoint, %error, failures, "no spans are taken yet");
                }
                Some(wait)
            }
        }
    }

    /// Reads to the end of the journal and tries once to send what waits. The rest is sent after
    /// the next start.
    async fn finish(&mut self) -> Result<(), Error> {
        let end = self.journal.position().await?;
        while self.place.position < end {
            let commit = self.journal.follow(self.place.position).await?;
            self.add(&commit).await?;
        }
        for spans in self.waiting.chunks(SPANS_MAX) {
            if self.sender.send(spans).await.is_err() {
                return Ok(());
            }
        }
        self.save();
        Ok(())
    }

    /// Saves the place. If that fails, spans are sent again after a restart.
    fn save(&mut self) {
        self.due = None;
        if let Err(error) = self.cursor.save(&self.place) {
            let path = self.cursor.path().display();
            tracing::warn!(%error, %path, "the place of the export could not be saved");
        }
    }
}
