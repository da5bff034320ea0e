//! The task that appends records of reads, many in one commit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount::engine::Clock;
use recount::ledger::actor_reference;
use recount::session::{ActorKind, SessionId, Timestamp};
use recount_journal::{Actor, Append, Draft, Error, Hash, Head, Journal};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::bodies::{ENDED, Ended, MISSED, MissedReads, Place, READ, REPEATED, Repeated};
use crate::days::stream_of;
use crate::read::Read;
use crate::windows::Windows;

/// The maximum number of reads in one append.
const BATCH_MAX: usize = 256;

/// The maximum number of sessions in one record. A read of more sessions has several records, so
/// that each session is on record and no record is larger than 40 KB.
const SESSIONS_MAX: usize = 1_000;

/// The maximum number of repetitions that are kept while the journal takes no records.
const UNWRITTEN_MAX: usize = 10_000;

/// A message to the task.
pub(crate) enum Message {
    Read(Box<Waiting>),
    /// Writes the rest and ends.
    End,
}

/// A read that waits for its record.
pub(crate) struct Waiting {
    pub(crate) read: Read,
    /// Gets the outcome: the text of the error.
    pub(crate) done: oneshot::Sender<Result<(), String>>,
}

/// The part that the recorder and its task share.
pub(crate) struct Shared {
    pub(crate) windows: Mutex<Windows>,
    pub(crate) recorded: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) missed: AtomicU64,
    /// The error since which nothing was recorded.
    pub(crate) error: Mutex<Option<String>>,
    /// True if reads that cannot be recorded are served.
    pub(crate) serves: bool,
}

impl Shared {
    pub(crate) fn windows(&self) -> MutexGuard<'_, Windows> {
        // Each change of the windows is complete before anything can panic.
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn error(&self) -> MutexGuard<'_, Option<String>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of an access journal to which records are appended.
pub(crate) struct Appender {
    journal: Arc<dyn Journal>,
    /// The last stream and its head, as far as they are known.
    last: Option<(Uuid, Option<Head>)>,
}

/// A record that is to be written: its kind, its actor and its body.
pub(crate) struct Entry {
    kind: &'static str,
    actor: Actor,
    body: String,
}

impl Entry {
    /// A record of the service itself.
    pub(crate) fn own(kind: &'static str, body: &impl Serialize) -> Result<Entry, Error> {
        Entry::by(Actor::new(ActorKind::Engine.as_str()), kind, body)
    }

    fn by(actor: Actor, kind: &'static str, body: &impl Serialize) -> Result<Entry, Error> {
        let body = serde_json::to_string(body);
        let body = body.map_err(|error| Error::io("write a record of a read")(error.into()))?;
        Ok(Entry { kind, actor, body })
    }
}

impl Appender {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Appender {
        let last = None;
        Appender { journal, last }
    }

    /// Appends records to the stream of the day, all or none. Returns the place of the first one.
    pub(crate) async fn append(
        &mut self,
        now: Timestamp,
        entries: &[Entry],
    ) -> Result<Place, Error> {
        let stream = stream_of(now);
        loop {
            let head = match self.last.take().filter(|(known, _)| *known == stream) {
                Some((_, head)) => head,
                None => self.journal.head(stream).await?,
            };
            let seq = head.map_or(0, |it| it.seq);
            let append = append_of(stream, head, now, entries);
            match self.journal.append(append).await {
                Ok(head) => {
                    self.last = Some((stream, Some(head)));
                    let seq = seq + 1;
                    return Ok(Place { stream, seq });
                }
                // Another writer was faster; the head is read again.
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn append_of(stream: Uuid, head: Option<Head>, now: Timestamp, entries: &[Entry]) -> Append {
    let (expected, mut prev) = head.map_or((0, Hash::ZERO), |it| (it.seq, it.hash));
    // A clock that was set back does not set the stream back.
    let at_us = head.map_or(now.0, |it| it.at_us.max(now.0));
    let mut lines = Vec::with_capacity(entries.len());
    for (entry, seq) in entries.iter().zip(expected + 1..) {
        let line = Draft {
            session: stream,
            seq,
            at_us,
            kind: entry.kind,
            cause: None,
            actor: entry.actor.clone(),
            body: &entry.body,
            prev,
        };
        let line = line.line();
        prev = line.leaf();
        lines.push(line);
    }
    Append::new(stream, expected, lines)
}

/// The task.
pub(crate) struct Writer {
    pub(crate) appender: Appender,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) inbox: mpsc::Receiver<Message>,
    pub(crate) shared: Arc<Shared>,
    /// The repetitions that are not written yet.
    pub(crate) unwritten: Vec<Repeated>,
    /// The reads that are missing since the journal takes no records.
    pub(crate) missed: Option<MissedReads>,
}

impl Writer {
    /// Writes reads until the recorder ends.
    pub(crate) async fn run(mut self) {
        loop {
            let due = self.shared.windows().due();
            let timer = due.map(|due| self.clock.reached(due));
            let window_ends = async {
                match timer {
                    Some(timer) => timer.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                message = self.inbox.recv() => match message {
                    Some(Message::Read(first)) => {
                        if self.batch(*first).await {
                            return self.end().await;
                        }
                    }
                    Some(Message::End) | None => return self.end().await,
                },
                () = window_ends => self.write(Vec::new(), Vec::new()).await,
            }
        }
    }

    /// Writes a read and those that wait behind it. Returns true if the task is to end.
    async fn batch(&mut self, first: Waiting) -> bool {
        let (mut batch, mut ends) = (vec![first], false);
        while batch.len() < BATCH_MAX && !ends {
            match self.inbox.try_recv() {
                Ok(Message::Read(next)) => batch.push(*next),
                Ok(Message::End) => ends = true,
                Err(_) => break,
            }
        }
        self.write(batch, Vec::new()).await;
        ends
    }

    /// Writes the rest, and that the recording ended.
    async fn end(mut self) {
        self.inbox.close();
        while let Some(message) = self.inbox.recv().await {
            if let Message::Read(waiting) = message {
                self.write(vec![*waiting], Vec::new()).await;
            }
        }
        let repeated = self.shared.windows().all();
        self.unwritten.extend(repeated);
        match Entry::own(ENDED, &Ended { off: false }) {
            Ok(entry) => self.write(Vec::new(), vec![entry]).await,
            Err(error) => tracing::error!(%error, "the end of the recording is not on record"),
        }
    }

    /// Appends what is missing and what was repeated until now, then these reads and entries.
    async fn write(&mut self, batch: Vec<Waiting>, last: Vec<Entry>) {
        let now = self.clock.now();
        let repeated = self.shared.windows().ended(now);
        self.unwritten.extend(repeated);
        match self.append(now, &batch, last).await {
            Ok(()) => self.written(batch),
            Err(error) => self.failed(now, batch, &error),
        }
    }

    async fn append(
        &mut self,
        now: Timestamp,
        batch: &[Waiting],
        last: Vec<Entry>,
    ) -> Result<(), Error> {
        let mut entries = Vec::new();
        if let Some(missed) = &self.missed {
            entries.push(Entry::own(MISSED, missed)?);
        }
        for repeated in &self.unwritten {
            entries.push(Entry::own(REPEATED, repeated)?);
        }
        // The places of the reads, counted from the first entry.
        let mut offsets = Vec::with_capacity(batch.len());
        let stream = SessionId(stream_of(now));
        for Waiting { read, .. } in batch {
            offsets.push(entries.len() as u64);
            let person = Actor::new(ActorKind::Person.as_str());
            let actor = person.with_reference(actor_reference(stream, &read.by));
            for part in parts(read) {
                entries.push(Entry::by(actor.clone(), READ, &part)?);
            }
        }
        entries.extend(last);
        if entries.is_empty() {
            return Ok(());
        }
        let first = self.appender.append(now, &entries).await?;
        let mut windows = self.shared.windows();
        for (Waiting { read, .. }, offset) in batch.iter().zip(offsets) {
            let seq = first.seq + offset;
            windows.recorded(read, now, Place { seq, ..first });
        }
        Ok(())
    }

    fn written(&mut self, batch: Vec<Waiting>) {
        self.unwritten.clear();
        self.missed = None;
        if self.shared.error().take().is_some() {
            tracing::info!("reads are on record again");
        }
        let number = batch.len() as u64;
        self.shared.recorded.fetch_add(number, Ordering::Relaxed);
        for waiting in batch {
            // The reader may be gone.
            let _ = waiting.done.send(Ok(()));
        }
    }

    fn failed(&mut self, now: Timestamp, batch: Vec<Waiting>, error: &Error) {
        let error = error.to_string();
        if self.shared.error().replace(error.clone()).is_none() {
            tracing::error!(%error, "reads are not on record");
        }
        let mut lost = if self.shared.serves {
            batch.len() as u64
        } else {
            0
        };
        if self.unwritten.len() > UNWRITTEN_MAX {
            lost += self.unwritten.drain(..).map(|it| it.times).sum::<u64>();
        }
        if lost > 0 {
            self.shared.missed.fetch_add(lost, Ordering::Relaxed);
            let missed = self.missed.get_or_insert_with(|| MissedReads {
                reads: 0,
                from: now,
                until: now,
                error: error.clone(),
            });
            missed.reads += lost;
            missed.until = missed.until.max(now);
        }
        for waiting in batch {
            let _ = waiting.done.send(Err(error.clone()));
        }
    }
}

/// The parts of a read that fit into a record each.
fn parts(read: &Read) -> Vec<Read> {
    if read.sessions.len() <= SESSIONS_MAX {
        return vec![read.clone()];
    }
    let chunks = read.sessions.chunks(SESSIONS_MAX);
    let parts = chunks.map(|sessions| Read {
        sessions: sessions.to_vec(),
        ..read.clone()
    });
    parts.collect()
}
