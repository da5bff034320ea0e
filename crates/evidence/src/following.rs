//! Checkpoints behind a journal: after answers to approvals, every so many records, every so much
//! time, and at the close.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recount::engine::Clock;
use recount::ledger::Ledger;
use recount::session::Timestamp;
use recount_journal::{Actor, Append, Commit, Error, Journal, Outline, causes, own_append};
use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

use crate::checkpoint::Checkpoint;
use crate::kept_tree::KeptTree;
use crate::note::Note;
use crate::recorded::{CHECKPOINT_SIGNED, CHECKPOINT_TIME_STAMPED, SignedCheckpoint, on_record};
use crate::signer::Signer;
use crate::status::{LastCheckpoint, StatusBoard};

/// The kind of the record with an answer to an approval.
const ANSWERED: &str = "confirmation_answered";

/// The time in which commits gather after one that was waited for.
///
/// A follower that is woken for each commit slows down the writers. That of a single writer cost
/// 5.9 to 11.7 % of its appends without this time, and nothing measurable with it (bench
/// `checkpoints`, 2026-11-28).
const GATHERING: Duration = Duration::from_millis(2);

/// The time between two writes of the kept tree, each of which syncs two files. A follower that
/// lacks the last ones reads their commits again.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// The time after which a checkpoint is made that could not be recorded.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// The settings of the checkpoints of a journal: their signers, and the reasons to make one.
#[derive(Debug)]
pub struct Checkpoints {
    /// The name of the journal in them.
    pub origin: String,
    /// The signers. A checkpoint is made if at least one of them signs.
    pub signers: Vec<Signer>,
    /// The number of records after which one is made.
    pub every_records: u64,
    /// The time after which one is made, if there are records since the last one.
    pub every: Duration,
}

/// A checkpoint that the journal could not take.
struct Refused {
    /// The time of the first attempt.
    since: Timestamp,
    /// The time of the next one.
    again_at: Timestamp,
}

/// The task that makes checkpoints.
pub struct Following {
    checkpoints: Checkpoints,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    tree: KeptTree,
    /// The number of records in the last checkpoint and its own record.
    done: u64,
    /// True if an answer is on record since the last checkpoint.
    answered: bool,
    due: Timestamp,
    /// Set while the journal takes no checkpoint.
    refused: Option<Refused>,
    save_at: Timestamp,
    made: watch::Sender<u64>,
    board: StatusBoard,
}

impl Following {
    /// Continues the tree of the journal at `path`. If its folder cannot be written, the tree is
    /// not kept, which the status has.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub async fn open(
        checkpoints: Checkpoints,
        path: &Path,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let tree = match KeptTree::open(path, &*journal).await {
            Ok(tree) => (tree, None),
            Err(error @ Error::Io { .. }) => {
                tracing::warn!(
                    error = %causes(&error),
                    "the tree is not kept, so each start reads the whole log"
                );
                (KeptTree::in_memory(), Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        Self::with(tree, checkpoints, journal, clock).await
    }

    /// Begins with a tree that is nowhere kept, for a journal without a directory. It reads the
    /// whole log.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub async fn in_memory(
        checkpoints: Checkpoints,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let tree = (KeptTree::in_memory(), None);
        Self::with(tree, checkpoints, journal, clock).await
    }

    async fn with(
        (tree, tree_error): (KeptTree, Option<String>),
        checkpoints: Checkpoints,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let board = StatusBoard::default();
        let last = on_record(&*journal).await?.pop();
        board.lock().origin.clone_from(&checkpoints.origin);
        board.lock().tree_error = tree_error;
        board.lock().last = last.map(|it| LastCheckpoint {
            size: it.checkpoint.size,
            at: Timestamp(it.at_us),
            signers: signers(&it.note),
        });
        let now = clock.now();
        let due = now.after(checkpoints.every);
        Ok(Self {
            checkpoints,
            journal,
            clock,
            done: tree.tree().size(),
            tree,
            answered: false,
            due,
            refused: None,
            save_at: now.after(SAVE_EVERY),
            made: watch::Sender::default(),
            board,
        })
    }

    /// The number of records of the last checkpoint that this task made, 0 before the first.
    pub fn made(&self) -> watch::Receiver<u64> {
        self.made.subscribe()
    }

    /// The status for operators, which this task keeps up to date.
    pub fn status(&self) -> &StatusBoard {
        &self.board
    }

    /// Makes checkpoints until it is asked to stop, and then a last one. A signer that fails is
    /// told in the log, and asked again for the next checkpoint. While the journal can be neither
    /// read nor written, it waits.
    ///
    /// # Errors
    /// Those of a journal that is damaged or closed, and of any that fails at the end.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
        self.journal = through_outages(self.journal, "the checkpoints", &stop);
        loop {
            if self.is_due()
                && let Err(error) = self.checkpoint().await
            {
                self.postpone(error)?;
            }
            let next_at = self.refused.as_ref().map_or(self.due, |it| it.again_at);
            let timer = self.clock.reached(next_at);
            let (journal, mut waited) = (Arc::clone(&self.journal), false);
            let mut next = journal.follow(self.tree.position());
            let next = poll_fn(|context| {
                let polled = next.as_mut().poll(context);
                waited |= polled.is_pending();
                polled
            });
            tokio::select! {
                biased;
                () = asked_to_stop(&mut stop) => break,
                commit = next => self.take(&commit?)?,
                () = timer, if self.has_news() => {}
            }
            if waited && !self.is_due() {
                tokio::select! {
                    () = asked_to_stop(&mut stop) => break,
                    () = tokio::time::sleep(GATHERING) => {}
                }
            }
        }
        self.finish().await.map(drop)
    }

    /// Reads what is left of the journal, and makes a checkpoint if there are records since the
    /// last one. `None` if there are none, or if no signer has signed.
    ///
    /// # Errors
    /// As [`run`](Following::run).
    pub async fn finish(&mut self) -> Result<Option<Note>, Error> {
        let end = self.journal.position().await?;
        while self.tree.position() < end {
            let commit = self.journal.follow(self.tree.position()).await?;
            self.take(&commit)?;
        }
        let note = match self.has_news() {
            true => self.checkpoint().await?,
            false => None,
        };
        self.save()?;
        Ok(note)
    }

    fn save(&mut self) -> Result<(), Error> {
        self.save_at = self.clock.now().after(SAVE_EVERY);
        self.tree.save().map_err(Error::io("save the tree"))
    }

    fn take(&mut self, commit: &Commit) -> Result<(), Error> {
        if !self.has_news() {
            self.due = self.clock.now().after(self.checkpoints.every);
        }
        let lines = || commit.appends.iter().flat_map(|(_, lines)| lines);
        self.answered |= lines().any(|line| is_of_kind(line.bytes(), ANSWERED));
        // A time stamp is about the last checkpoint. Otherwise each would lead to another one.
        let is_no_news = !self.has_news()
            && lines().all(|line| is_of_kind(line.bytes(), CHECKPOINT_TIME_STAMPED));
        let taken = self.tree.take(commit);
        taken.map_err(Error::io("write the leaves of the tree"))?;
        let size = self.tree.tree().size();
        if is_no_news {
            self.done = size;
        }
        self.board.lock().records_since = size.saturating_sub(self.done);
        Ok(())
    }

    fn has_news(&self) -> bool {
        self.tree.tree().size() > self.done
    }

    fn is_due(&self) -> bool {
        let size = self.tree.tree().size();
        let is_full = size.saturating_sub(self.done) >= self.checkpoints.every_records;
        let now = self.clock.now();
        self.has_news()
            && self.refused.as_ref().is_none_or(|it| now >= it.again_at)
            && (self.answered || is_full || now >= self.due)
    }

    /// Tries a checkpoint again later that the journal could not take.
    ///
    /// # Errors
    /// The error, if it is no passing one.
    fn postpone(&mut self, error: Error) -> Result<(), Error> {
        if !error.is_transient() {
            return Err(error);
        }
        let now = self.clock.now();
        let since = match self.refused.take() {
            Some(refused) => refused.since,
            None => {
                tracing::warn!(%error, "a checkpoint could not be recorded, and is tried again");
                now
            }
        };
        let again_at = now.after(RECORD_AGAIN);
        {
            let mut status = self.board.lock();
            (status.failing_since, status.error) = (Some(since), Some(error.to_string()));
        }
        self.refused = Some(Refused { since, again_at });
        // The time that was due before it was tried.
        self.due = self.due.min(again_at);
        Ok(())
    }

    /// Signs the tree and records the checkpoint.
    async fn checkpoint(&mut self) -> Result<Option<Note>, Error> {
        self.due = self.clock.now().after(self.checkpoints.every);
        let Some(note) = self.sign().await else {
            (self.answered, self.refused) = (false, None);
            return Ok(None);
        };
        let size = self.tree.tree().size();
        let body = SignedCheckpoint {
            size,
            note: note.to_string(),
        };
        self.record(&body).await?;
        self.answered = false;
        if self.refused.take().is_some() {
            tracing::warn!("checkpoints are recorded again");
        }
        // Its record, and those before it, are no reason for another checkpoint.
        let recorded = |commit: &Commit| {
            let own = commit.appends.iter().filter(|(stream, _)| stream.is_nil());
            let mut lines = own.flat_map(|(_, lines)| lines);
            lines.any(|line| is_of_kind(line.bytes(), CHECKPOINT_SIGNED))
        };
        loop {
            let before = self.tree.tree().size();
            let commit = self.journal.follow(self.tree.position()).await?;
            self.take(&commit)?;
            if recorded(&commit) {
                let others = before > size || self.tree.tree().size() > before + 1;
                self.done = if others { size } else { size + 1 };
                break;
            }
        }
        {
            let mut status = self.board.lock();
            status.records_since = self.tree.tree().size().saturating_sub(self.done);
            status.last = Some(LastCheckpoint {
                size,
                at: self.clock.now(),
                signers: signers(&note),
            });
        }
        self.made.send_replace(size);
        if self.clock.now() >= self.save_at {
            self.save()?;
        }
        Ok(Some(note))
    }

    async fn sign(&self) -> Option<Note> {
        let tree = self.tree.tree();
        let made = Checkpoint::new(&self.checkpoints.origin, tree.size(), tree.root())
            .map_err(|error| error.to_string())
            .and_then(|it| Note::new(it.to_string()).map_err(|error| error.to_string()));
        let mut note = match made {
            Ok(note) => note,
            Err(error) => {
                tracing::error!(error, "no checkpoint was made");
                return None;
            }
        };
        let mut failure = None;
        for signer in &self.checkpoints.signers {
            if let Err(error) = signer.sign(&mut note).await {
                tracing::error!(error = %causes(&error), "a checkpoint lacks a signature");
                failure = Some(error.to_string());
            }
        }
        {
            let (now, mut status) = (self.clock.now(), self.board.lock());
            let since = status.failing_since.unwrap_or(now);
            status.failing_since = failure.as_ref().map(|_| since);
            status.error = failure;
        }
        let is_signed = !note.signatures().is_empty();
        is_signed.then_some(note)
    }

    async fn record(&self, body: &SignedCheckpoint) -> Result<(), Error> {
        append_own(&*self.journal, &*self.clock, CHECKPOINT_SIGNED, body).await
    }
}

/// Returns the journal for a task that follows it. A read waits while the journal is out of reach.
pub(crate) fn through_outages(
    journal: Arc<dyn Journal>,
    follower: &str,
    stop: &watch::Receiver<bool>,
) -> Arc<dyn Journal> {
    let ledger = Ledger::new(journal).through_outages(follower, stop.clone());
    Arc::clone(ledger.journal())
}

/// Appends a record of the journal itself to its own stream.
pub(crate) async fn append_own(
    journal: &dyn Journal,
    clock: &dyn Clock,
    kind: &str,
    body: &impl Serialize,
) -> Result<(), Error> {
    let body = serde_json::to_string(body);
    let body = body.map_err(|error| Error::io(format!("write a {kind}"))(error.into()))?;
    let now = clock.now();
    loop {
        let head = journal.head(Uuid::nil()).await?;
        let actor = Actor::new("journal");
        let append: Append = own_append(head.as_ref(), now.0, actor, kind, &body);
        match journal.append(append).await {
            // Another writer was faster.
            Err(Error::Conflict { .. }) => {}
            appended => return appended.map(drop),
        }
    }
}

/// Waits until a task is asked to stop, or the one who would ask is gone.
pub(crate) async fn asked_to_stop(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|it| *it).await);
}

fn is_of_kind(line: &[u8], kind: &str) -> bool {
    Outline::kind_of(line).is_ok_and(|it| it == kind)
}

/// The names of the keys that signed a note.
fn signers(note: &Note) -> Vec<String> {
    note.signatures().iter().map(|it| it.name.clone()).collect()
}
