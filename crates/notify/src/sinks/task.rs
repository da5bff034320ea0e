//! The task of a sink: it follows the journal, and sends what it finds.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use recount::engine::Clock;
use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId, Timestamp};
use recount_journal::{BoxFuture, Commit};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use super::digests::Daily;
use super::outbox::{Ended, Outbox};
use super::place::Place;
use super::reading::{Close, Seen, seen};
use super::state::{Dead, State, StateFile};
use super::status::{Board, DeadLetter};
use super::timers::Timers;
use crate::message::{Content, Links, Notice};
use crate::routing::{Names, Plan};
use crate::sending::{Sender, Sink, Undelivered};
use crate::values::Occasion;

/// The maximum number of notices in the queue. With more, the sink reads no further: the journal
/// keeps what follows.
const QUEUE_MAX: usize = 256;

/// The maximum number of dead letters. The oldest one is dropped for another.
const DEAD_MAX: usize = 1_000;

/// The maximum time until the state is saved after a delivery while others wait. After a crash,
/// the messages of this time are sent again.
const SAVE_AFTER_DELIVERY: Duration = Duration::from_millis(250);

/// The maximum time until the place is saved after commits without a notice. A restart reads from
/// there again.
const SAVE_AFTER_COMMIT: Duration = Duration::from_secs(5);

/// The maximum time between two readings of the clock while a timer waits.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The request of an operator.
#[derive(Debug)]
pub(crate) enum Command {
    /// Puts a dead letter into the queue.
    Retry(Uuid, oneshot::Sender<Result<(), Unknown>>),
    /// Removes a dead letter.
    Discard(Uuid, oneshot::Sender<Result<(), Unknown>>),
}

/// There is no dead letter with the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

/// The result of the attempt that is being made.
type InFlight = BoxFuture<'static, Result<(Uuid, Result<(), Undelivered>), Error>>;

/// The task of a sink.
pub(crate) struct SinkTask {
    sink: Sink,
    plan: Plan,
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    links: Links,
    sender: Arc<Sender>,
    file: StateFile,
    /// Its queue is that of `outbox` while the task runs.
    state: State,
    outbox: Outbox,
    timers: Timers,
    daily: Option<(Daily, NaiveDate)>,
    board: Arc<Board>,
    commands: mpsc::Receiver<Command>,
    stop: watch::Receiver<bool>,
    /// The time at which the state is saved.
    save_at: Option<Instant>,
}

/// What a task has from the notifier.
pub(crate) struct Given {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) links: Links,
    pub(crate) board: Arc<Board>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) stop: watch::Receiver<bool>,
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
    /// Prepares the task. A new sink starts at the end of the journal.
    ///
    /// # Errors
    /// The error of the file, or that of the journal.
    pub(crate) async fn new(
        sink: Sink,
        plan: Plan,
        sender: Arc<Sender>,
        file: StateFile,
        given: Given,
    ) -> Result<SinkTask, NotStarted> {
        let journal = given.ledger.journal().as_ref();
        let mut state = match file.read()? {
            Some(state) if state.place.is_in(journal).await? => state,
            Some(state) => {
                let path = file.path().display();
                tracing::warn!(%path, "the journal has another history: its end is the start");
                let place = Place::at_end(journal).await?;
                State { place, ..state }
            }
            None => State::at(Place::at_end(journal).await?),
        };
        let now = given.clock.now();
        let daily = sink.digest.map(|time| Daily {
            time,
            zone: sink.zone,
        });
        let last = state.last_digest.as_ref().and_then(|it| it.parse().ok());
        let daily = daily.map(|it| (it, it.last(last, now)));
        state.last_digest = daily.map(|(_, last)| last.to_string());
        let mut task = SinkTask {
            outbox: Outbox::new(sink.patience, std::mem::take(&mut state.queue)),
            timers: Timers::new(given.clock.clone()),
            sink,
            plan,
            sender,
            file,
            state,
            daily,
            ledger: given.ledger,
            clock: given.clock,
            links: given.links,
            board: given.board,
            commands: given.commands,
            stop: given.stop,
            save_at: None,
        };
        task.find_waiting().await?;
        // The place must be durable before a message that would have to be sent again.
        task.save().await?;
        task.publish();
        Ok(task)
    }

    /// Follows the journal until it is asked to stop, or the journal is closed.
    pub(crate) async fn run(mut self) {
        if let Err(error) = self.run_until_stopped().await {
            let is_closed = matches!(error, Error::Journal(recount_journal::Error::Closed));
            if !is_closed {
                let sink = &self.sink.name;
                tracing::error!(%sink, %error, "the notifications of a sink end here");
            }
        }
        self.save_or_warn().await;
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
            let has_room = self.outbox.len() < QUEUE_MAX;
            let wake = self.wake(in_flight.is_none());
            let stop = stopped(self.stop.clone());
            tokio::select! {
                biased;
                () = stop => break,
                Some(command) = self.commands.recv() => self.obey(command).await,
                sent = ended(&mut in_flight) => {
                    in_flight = None;
                    self.settle(sent?);
                }
                commit = journal.follow(position), if has_room => self.read(&commit?).await?,
                () = wake => {}
            }
            if self.save_at.is_some_and(|it| it <= Instant::now()) {
                self.save_or_warn().await;
            }
        }
        // A message that arrived must not be sent again only because the service ended.
        if let Some(attempt) = in_flight {
            let sent = attempt.await?;
            self.settle(sent);
        }
        Ok(())
    }

    /// Adds the requests that wait already, so that they are sent again when they are due.
    async fn find_waiting(&mut self) -> Result<(), Error> {
        let mut waiting = std::collections::BTreeSet::new();
        if self.plan.has_timers() {
            for it in self.ledger.pending().await? {
                waiting.insert((it.session, it.request));
                let names = Names {
                    tool: Some(it.tool).filter(|_| !it.sealed),
                    agent: Some(it.agent).filter(|_| !it.sealed),
                    labels: it.labels,
                };
                let request = (it.session, it.request);
                self.add_timers(request, it.call, &names, it.requested_at, it.expires_at);
            }
        }
        let known = |it: &(SessionId, Seq, Occasion)| waiting.contains(&(it.0, it.1));
        self.state.repeated.retain(known);
        Ok(())
    }

    fn add_timers(
        &mut self,
        (session, request): (SessionId, Seq),
        call: Seq,
        names: &Names,
        asked: Timestamp,
        expires: Option<Timestamp>,
    ) {
        let mut dues = self.plan.dues(names, asked, expires);
        let is_done = |occasion| self.state.repeated.contains(&(session, request, occasion));
        dues.reminder = dues.reminder.filter(|_| !is_done(Occasion::Reminder));
        dues.escalation = dues.escalation.filter(|_| !is_done(Occasion::Escalated));
        self.timers.add((session, request), call, asked, dues);
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
        self.state.place = Place::after(commit);
        self.save_within(SAVE_AFTER_COMMIT);
        Ok(())
    }

    /// Takes a record that may give a notice.
    fn take(&mut self, seen: Seen) {
        self.count(&seen);
        if let Some((request, _)) = seen.closes {
            self.timers.remove(seen.session, request);
            let is_other = |it: &(SessionId, Seq, Occasion)| (it.0, it.1) != (seen.session, request);
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

    /// Counts a record for the digest.
    fn count(&mut self, seen: &Seen) {
        if self.daily.is_none() || !self.plan.is_about(&seen.names) {
            return;
        }
        let day = &mut self.state.day;
        day.asked += u64::from(seen.opens.is_some());
        day.in_doubt += u64::from(seen.occasions.contains(&Occasion::InDoubt));
        match seen.closes.map(|(_, close)| close) {
            Some(Close::Approved) => day.approved += 1,
            Some(Close::Denied) => day.denied += 1,
            Some(Close::Expired) => day.expired += 1,
            Some(Close::Other) | None => {}
        }
    }

    /// Queues the reminders and escalations that are due, of requests that still wait.
    async fn repeat_due(&mut self) -> Result<(), Error> {
        for due in self.timers.due() {
            let waiting = self.ledger.pending_in(due.session).await?;
            if !waiting.iter().any(|it| it.request == due.request) {
                continue;
            }
            let place = (due.request, Some(due.call));
            let (name, occasion) = (&self.sink.name, due.occasion);
            let notice = Notice::of_call(name, occasion, due.at, due.session, place);
            self.outbox.add(notice);
            let repeated = (due.session, due.request, due.occasion);
            self.state.repeated.insert(repeated);
            self.save_within(SAVE_AFTER_DELIVERY);
        }
        Ok(())
    }

    /// Queues the digest, if it is due.
    async fn digest_if_due(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        let Some((daily, last)) = self.daily else {
            return Ok(());
        };
        let Some(today) = daily.due(last, now) else {
            return Ok(());
        };
        let mut digest = std::mem::take(&mut self.state.day);
        digest.date = today.to_string();
        for it in self.ledger.pending().await? {
            let names = Names {
                tool: Some(it.tool).filter(|_| !it.sealed),
                agent: Some(it.agent).filter(|_| !it.sealed),
                labels: it.labels,
            };
            digest.open += u64::from(self.plan.is_about(&names));
        }
        self.outbox.add(Notice::of_day(&self.sink.name, now, digest));
        self.daily = Some((daily, today));
        self.state.last_digest = Some(today.to_string());
        // Its numbers begin anew, so the queue with the old ones must be durable.
        self.save_or_warn().await;
        Ok(())
    }

    /// Begins the next attempt, if a message may be sent now.
    fn attempt(&self) -> Option<InFlight> {
        let notice = self.outbox.next(Instant::now())?.clone();
        let (ledger, sender) = (self.ledger.clone(), self.sender.clone());
        let (links, clock) = (self.links.clone(), self.clock.clone());
        Some(Box::pin(async move {
            let content = Content::read(&ledger, &notice, sender.detail(), &links).await?;
            Ok((notice.id, sender.send(&content, clock.now()).await))
        }))
    }

    /// Takes the result of an attempt.
    fn settle(&mut self, (id, result): (Uuid, Result<(), Undelivered>)) {
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
                self.state.dead.push(Dead {
                    notice: queued.notice,
                    attempts: queued.attempts,
                    reason,
                    since: now,
                });
                if self.state.dead.len() > DEAD_MAX {
                    self.state.dead.remove(0);
                }
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
                    tracing::info!(sink = %self.sink.name, "the sink takes messages again");
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

    /// Does what an operator asks for. It is durable before the answer.
    async fn obey(&mut self, command: Command) {
        let (id, reply, is_retry) = match command {
            Command::Retry(id, reply) => (id, reply, true),
            Command::Discard(id, reply) => (id, reply, false),
        };
        let found = self.state.dead.iter().position(|it| it.notice.id == id);
        let dead = found.map(|at| self.state.dead.remove(at));
        let answer = match dead {
            Some(dead) => {
                if is_retry {
                    self.outbox.add(dead.notice);
                }
                self.save_or_warn().await;
                self.publish();
                Ok(())
            }
            None => Err(Unknown),
        };
        // The operator may have gone.
        let _ = reply.send(answer);
    }

    /// Shows operators where the sink is.
    fn publish(&self) {
        let mut numbers = self.board.numbers();
        numbers.queued = self.outbox.len() as u64;
        numbers.position = self.state.place.position;
        let shown = numbers.dead_letters.iter().map(|it| it.id);
        if !shown.eq(self.state.dead.iter().map(|it| it.notice.id)) {
            let dead = self.state.dead.iter().map(DeadLetter::of);
            numbers.dead_letters = dead.collect();
        }
    }

    /// Completes when there may be something to do without a commit.
    fn wake(&self, is_idle: bool) -> impl Future<Output = ()> + use<> {
        let retry = self.outbox.next_at(Instant::now()).filter(|_| is_idle);
        let next = [retry, self.save_at].into_iter().flatten().min();
        let timer = self.timers.next();
        // A timer that is due at a reading of the clock is found also if the clock is set.
        let looks = !self.timers.is_empty() || self.daily.is_some();
        let reached = timer.map(|it| self.clock.reached(it));
        async move {
            let next = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            let reached = async {
                match reached {
                    Some(reached) => reached.await,
                    None => std::future::pending().await,
                }
            };
            let look = async {
                match looks {
                    true => sleep(CLOCK_CHECK_INTERVAL).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                () = next => {}
                () = reached => {}
                () = look => {}
            }
        }
    }

    fn save_within(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.save_at = Some(self.save_at.map_or(at, |it| it.min(at)));
    }

    /// Saves the state, on a thread that may wait for the disk.
    async fn save(&mut self) -> io::Result<()> {
        self.save_at = None;
        let (file, mut state) = (self.file.clone(), self.state.clone());
        state.queue = self.outbox.queue();
        let saved = tokio::task::spawn_blocking(move || file.save(&state)).await;
        saved.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Saves the state. If that fails, messages are sent again after a restart.
    async fn save_or_warn(&mut self) {
        if let Err(error) = self.save().await {
            let path = self.file.path().display();
            tracing::warn!(%error, %path, "the place of a sink could not be saved");
        }
    }
}

/// The reason why a task does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStarted {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Ledger(#[from] Error),
}

impl From<recount_journal::Error> for NotStarted {
    fn from(error: recount_journal::Error) -> NotStarted {
        NotStarted::Ledger(error.into())
    }
}
