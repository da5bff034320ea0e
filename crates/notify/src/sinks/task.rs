//! The task of a sink: it follows the journal, and sends what it finds.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use recount::engine::Clock;
use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId, Timestamp};
use recount_journal::{BoxFuture, Commit, FollowPlace, causes};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::digests::Daily;
use super::letters::Command;
use super::outbox::{Ended, Outbox};
use super::reading::{Seen, seen};
use super::repeating::is_moot;
use super::state::{Dead, State, StateFile};
use super::status::{Board, DeadLetter};
use super::timers::Timers;
use crate::message::{Content, Links, Notice};
use crate::routing::Plan;
use crate::sending::{Sender, Sink, Undelivered};
use crate::values::Occasion;

/// The maximum number of notices in the queue. With more, the sink reads no further: the journal
/// keeps what follows.
pub(super) const QUEUE_MAX: usize = 256;

/// The maximum time until the state is saved after a delivery while others wait. After a crash,
/// the messages of this time are sent again.
pub(super) const SAVE_AFTER_DELIVERY: Duration = Duration::from_millis(250);

/// The maximum time until the place is saved after commits without a notice. A restart reads from
/// there again.
const SAVE_AFTER_COMMIT: Duration = Duration::from_secs(5);

/// The attempt that is being made. Its result has the id of the message.
type InFlight = BoxFuture<'static, Result<(Uuid, Attempted), Error>>;

/// The result of an attempt.
enum Attempted {
    Sent(Result<(), Undelivered>),
    /// The message was not sent, because its request does not wait any more.
    Moot,
}

/// The task of a sink.
pub(crate) struct SinkTask {
    pub(super) sink: Sink,
    pub(super) plan: Plan,
    pub(super) ledger: Ledger,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) links: Links,
    pub(super) sender: Arc<Sender>,
    pub(super) file: StateFile,
    /// Its queue is that of `outbox` while the task runs.
    pub(super) state: State,
    pub(super) outbox: Outbox,
    pub(super) timers: Timers,
    pub(super) daily: Option<(Daily, NaiveDate)>,
    pub(super) board: Arc<Board>,
    /// The number of changes of dead letters, in any sink.
    pub(super) letters: watch::Sender<u64>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) stop: watch::Receiver<bool>,
    /// The time at which the state is saved.
    pub(super) save_at: Option<Instant>,
}

/// Waits until the task is asked to stop, or its notifier is dropped.
async fn stopped(mut stop: watch::Receiver<bool>) {
    drop(stop.wait_for(|it| *it).await);
}

/// Waits for the attempt that is being made.
async fn ended(in_flight: &mut Option<InFlight>) -> <InFlight as Future>::Output {
    match in_flight {
        Some(attempt) => attempt.await,
        None => std::future::pending().await,
    }
}

impl SinkTask {
    /// Follows the journal until it is asked to stop, or the journal is closed or damaged. Its
    /// ledger waits while the journal cannot be read.
    pub(crate) async fn run(mut self) {
        if let Err(error) = self.run_until_stopped().await {
            let is_closed = matches!(error, Error::Journal(recount_journal::Error::Closed));
            if !is_closed {
                let sink = &self.sink.name;
                tracing::error!(
                    %sink, error = %causes(&error),
                    "the notifications of a sink end here"
                );
                let reason = format!("the sink has stopped: {error}");
                self.board.does_not_run(reason, self.clock.now());
            }
        }
        self.save().await;
        self.publish();
    }

    async fn run_until_stopped(&mut self) -> Result<(), Error> {
        let mut in_flight: Option<InFlight> = None;
        loop {
            self.repeat_due().await?;
            self.digest_if_due().await?;
            if in_flight.is_none() {
                in_flight = self.attempt();
            }
            self.publish();
            let journal = self.ledger.journal().clone();
            let position = self.state.place.position;
            let has_room = self.has_room();
            let wake = self.wake(in_flight.is_none());
            let stop = stopped(self.stop.clone());
            tokio::select! {
                biased;
                () = stop => break,
                Some(command) = self.commands.recv() => self.obey(command).await,
                sent = ended(&mut in_flight) => {
                    in_flight = None;
                    self.finish(sent?);
                }
                commit = journal.follow(position), if has_room => self.read(&commit?).await?,
                () = wake => {}
            }
            if self.save_at.is_some_and(|it| it <= Instant::now()) {
                self.save().await;
            }
        }
        // The attempt may last longer than the service waits.
        self.save().await;
        // A message that arrived must not be sent again only because the service ended.
        if let Some(attempt) = in_flight {
            let sent = attempt.await?;
            self.finish(sent);
        }
        Ok(())
    }

    /// True if the queue takes another notice.
    pub(super) fn has_room(&self) -> bool {
        self.outbox.len() < QUEUE_MAX
    }

    /// Reads a commit.
    async fn read(&mut self, commit: &Commit) -> Result<(), Error> {
        for (stream, lines) in &commit.appends {
            // The journal's own stream is no session.
            if stream.is_nil() {
                continue;
            }
            for line in lines {
                if let Some(seen) = seen(&self.ledger, SessionId(*stream), line).await? {
                    self.take(seen);
                }
            }
        }
        self.state.place = FollowPlace::after(commit);
        self.save_within(SAVE_AFTER_COMMIT);
        Ok(())
    }

    /// Takes a record that may give a notice.
    fn take(&mut self, seen: Seen) {
        self.count(&seen);
        if let Some((request, _)) = seen.closes {
            self.timers.remove(seen.session, request);
            let is_other =
                |it: &(SessionId, Seq, Occasion)| (it.0, it.1) != (seen.session, request);
            self.state.repeated.retain(is_other);
        }
        if let (Some(expires), Some(call)) = (seen.opens, seen.call) {
            let request = (seen.session, seen.record);
            self.add_timers(request, call, &seen.names, seen.at, expires);
        }
        let mut occasions = seen.occasions.into_iter();
        let Some(occasion) = occasions.find(|it| self.plan.wants(*it, &seen.names, seen.at)) else {
            return;
        };
        let (session, place) = (seen.session, (seen.record, seen.call));
        let notice = Notice::of_call(&self.sink.name, occasion, seen.at, session, place);
        self.outbox.add(notice);
    }

    /// Begins the next attempt, if a message may be sent now.
    fn attempt(&self) -> Option<InFlight> {
        let notice = self.outbox.next(Instant::now())?.clone();
        let (ledger, sender) = (self.ledger.clone(), self.sender.clone());
        let (links, clock) = (self.links.clone(), self.clock.clone());
        Some(Box::pin(async move {
            // It may have waited in the queue for long.
            if is_moot(&ledger, &notice).await? {
                return Ok((notice.id, Attempted::Moot));
            }
            let content = Content::read(&ledger, &notice, sender.detail(), &links).await?;
            let sent = sender.send(&content, clock.now()).await;
            Ok((notice.id, Attempted::Sent(sent)))
        }))
    }

    /// Takes the result of an attempt.
    fn finish(&mut self, (id, attempted): (Uuid, Attempted)) {
        match attempted {
            Attempted::Sent(result) => self.settle(id, result),
            Attempted::Moot => {
                let sink = &self.sink.name;
                tracing::debug!(%sink, %id, "a message is dropped: its request was decided");
                self.outbox.drop_notice(id);
                self.save_within(SAVE_AFTER_DELIVERY);
            }
        }
    }

    /// Takes the answer of the target.
    fn settle(&mut self, id: Uuid, result: Result<(), Undelivered>) {
        let (now, sink) = (self.clock.now(), self.sink.name.clone());
        let entropy = self.clock.entropy();
        let ended = self.outbox.ended(id, &result, Instant::now(), entropy);
        self.note(&result, now);
        match ended {
            Ended::Delivered => {}
            Ended::Again => {
                if let Err(error) = &result {
                    tracing::debug!(%sink, %id, %error, "a message was not delivered yet");
                }
            }
            Ended::Dead(queued) => {
                let reason = result.err().map(|it| it.to_string()).unwrap_or_default();
                tracing::error!(%sink, %id, %reason, "a message is not tried any more");
                self.keep_dead(Dead {
                    notice: queued.notice,
                    attempts: queued.attempts,
                    reason,
                    since: now,
                });
            }
        }
        let is_empty = self.outbox.len() == 0;
        self.save_within(match is_empty {
            true => Duration::ZERO,
            false => SAVE_AFTER_DELIVERY,
        });
    }

    /// Notes the result of an attempt for operators.
    fn note(&self, result: &Result<(), Undelivered>, now: Timestamp) {
        let mut numbers = self.board.numbers();
        match result {
            Ok(()) => {
                numbers.delivered += 1;
                if numbers.failing_since.take().is_some() {
                    tracing::warn!(sink = %self.sink.name, "the sink takes messages again");
                }
                numbers.error = None;
            }
            Err(error) => {
                numbers.failures += 1;
                if numbers.failing_since.is_none() {
                    tracing::warn!(sink = %self.sink.name, %error, "the sink takes no message");
                }
                numbers.failing_since.get_or_insert(now);
                numbers.error = Some(error.to_string());
            }
        }
    }

    /// Shows operators where the sink is.
    pub(super) fn publish(&self) {
        let mut numbers = self.board.numbers();
        numbers.queued = self.outbox.len() as u64;
        numbers.position = self.state.place.position;
        numbers.dropped_letters = self.state.dropped;
        let shown = numbers.dead_letters.iter().map(|it| it.id);
        if !shown.eq(self.state.dead.iter().map(|it| it.notice.id)) {
            let dead = self.state.dead.iter().map(DeadLetter::of);
            numbers.dead_letters = dead.collect();
            self.letters.send_modify(|it| *it += 1);
        }
    }
}
