//! The tasks that hand checkpoints over to anchors, each behind the journal with its own place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use recount::engine::Clock;
use recount::session::Timestamp;
use recount_journal::{Error, Hash, Journal};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::anchor::Anchor;
use crate::following::{append_own, asked_to_stop, through_outages};
use crate::recorded::{CHECKPOINT_TIME_STAMPED, Recorded, TimeStampOnRecord, recorded_after};
use crate::status::{AnchorStatus, StatusBoard};

/// The time to the second attempt. It doubles with each further one.
const RETRY_FIRST: Duration = Duration::from_secs(1);

/// The maximum time between two attempts.
const RETRY_LONGEST: Duration = Duration::from_secs(300);

/// A task that hands each checkpoint on record over to an anchor, in order and at least once.
///
/// An anchor that fails is tried again, and delays neither the journal nor other anchors. The place
/// of the task is in `tree/anchor-NAME.json` of the journal.
pub struct Anchoring {
    anchor: Anchor,
    name: String,
    file: PathBuf,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// The last checkpoint that was handed over.
    done: Place,
    /// True if the journal was seen to have it.
    is_in_journal: bool,
    failures: u32,
    /// The status for operators, and the number of the anchor in it.
    board: (StatusBoard, usize),
}

impl Anchoring {
    /// Continues the task of this name for the journal at `path`, and tells its status to `board`.
    /// Without a place it begins with the first checkpoint on record.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder `tree` cannot be used.
    pub fn open(
        (name, anchor): (&str, Anchor),
        path: &Path,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        board: &StatusBoard,
    ) -> Result<Self, Error> {
        let folder = path.join("tree");
        let file = folder.join(format!("anchor-{name}.json"));
        let number = board.add(AnchorStatus {
            name: name.to_owned(),
            kind: anchor.kind(),
            ..AnchorStatus::default()
        });
        let done = crate::kept_tree::create(&folder).and_then(|()| read(&file));
        let done = done.map_err(|error| {
            let error = Error::io(format!("use {}", file.display()))(error);
            board.change(number, |it| {
                it.failing_since = Some(clock.now());
                it.error = Some(error.to_string());
            });
            error
        })?;
        Ok(Self {
            anchor,
            name: name.to_owned(),
            file,
            journal,
            clock,
            done,
            is_in_journal: false,
            failures: 0,
            board: (board.clone(), number),
        })
    }

    /// Hands checkpoints over until it is asked to stop: those on record, and then each new one of
    /// a [`Following`](crate::Following), which `made` reports. While the journal cannot be read,
    /// it waits.
    ///
    /// # Errors
    /// Those of a journal that is damaged or closed, and of any that fails at the end.
    pub async fn run(
        mut self,
        mut made: watch::Receiver<u64>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), Error> {
        let follower = format!("the anchor {}", self.name);
        self.journal = through_outages(self.journal, &follower, &stop);
        loop {
            made.mark_unchanged();
            let is_done = self.hand_over().await?;
            let retry = self.clock.reached(self.retry_at());
            tokio::select! {
                biased;
                () = asked_to_stop(&mut stop) => {
                    // The last checkpoint is made just before.
                    return self.hand_over().await.map(drop);
                }
                Ok(()) = made.changed(), if is_done => {}
                () = retry, if !is_done => {}
                // No more checkpoints will come.
                else => asked_to_stop(&mut stop).await,
            }
        }
    }

    /// Hands over what waits. Returns false after a failure of the anchor, or one of the journal
    /// that passes.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub async fn hand_over(&mut self) -> Result<bool, Error> {
        self.find_place().await?;
        let found = recorded_after(&*self.journal, self.done.seq).await?;
        let (board, number) = self.board.clone();
        let mut behind = found.len() as u64;
        board.change(number, |it| it.behind = behind);
        for it in found {
            let time_stamp = match self.anchor.take(&it.checkpoint, &it.note).await {
                Ok(time_stamp) => time_stamp,
                Err(error) => {
                    self.failed(&error);
                    return Ok(false);
                }
            };
            if let Some(time_stamp) = time_stamp {
                let body = TimeStampOnRecord::new(&it, &self.name, &time_stamp);
                let (journal, clock) = (&*self.journal, &*self.clock);
                match append_own(journal, clock, CHECKPOINT_TIME_STAMPED, &body).await {
                    Ok(()) => {}
                    // The anchor takes the checkpoint once more.
                    Err(error) if error.is_transient() => {
                        self.failed(&error);
                        return Ok(false);
                    }
                    Err(error) => return Err(error),
                }
            }
            if self.failures > 0 {
                tracing::info!(anchor = %self.name, "an anchor takes checkpoints again");
            }
            self.failures = 0;
            self.done = Place {
                seq: it.seq,
                root: Some(it.checkpoint.root),
            };
            behind -= 1;
            board.change(number, |status| {
                (status.size, status.behind) = (it.checkpoint.size, behind);
                (status.failing_since, status.error) = (None, None);
            });
            if let Err(error) = self.save() {
                // The next process hands it over again.
                tracing::warn!(anchor = %self.name, %error, "the place of an anchor is not kept");
            }
        }
        Ok(true)
    }

    /// Notes a failure for operators.
    fn failed(&mut self, error: &dyn std::fmt::Display) {
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 {
            tracing::warn!(anchor = %self.name, %error, "an anchor takes no checkpoints");
        }
        let now = self.clock.now();
        self.board.0.change(self.board.1, |it| {
            it.failing_since.get_or_insert(now);
            it.error = Some(error.to_string());
        });
    }

    /// Begins anew if the journal does not have the place: it was rewritten, or rolled back.
    async fn find_place(&mut self) -> Result<(), Error> {
        if self.is_in_journal || self.done.seq == 0 {
            return Ok(());
        }
        let found = recorded_after(&*self.journal, self.done.seq - 1).await?;
        let is_it = |it: &Recorded| {
            let root = self.done.root.unwrap_or(it.checkpoint.root);
            it.seq == self.done.seq && it.checkpoint.root == root
        };
        if !found.first().is_some_and(is_it) {
            let anchor = &self.name;
            tracing::error!(%anchor, "the journal lacks the last checkpoint that an anchor got");
            self.done = Place::default();
        }
        self.is_in_journal = true;
        Ok(())
    }

    fn retry_at(&self) -> Timestamp {
        let doubled = 1_u32 << self.failures.saturating_sub(1).min(16);
        let wait = RETRY_FIRST.saturating_mul(doubled).min(RETRY_LONGEST);
        self.clock.now().after(wait)
    }

    fn save(&self) -> io::Result<()> {
        let (mut draft, path) = recount_text::files::draft::beside(&self.file)?;
        draft.write_all(&serde_json::to_vec(&self.done)?)?;
        draft.sync_data()?;
        std::fs::rename(path, &self.file)
    }
}

/// The last checkpoint that an anchor got.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Place {
    /// Its record.
    seq: u64,
    /// The root that it signs.
    #[serde(default)]
    root: Option<Hash>,
}

/// The place in a file. A missing or unreadable one is the beginning: an anchor takes a checkpoint
/// twice without harm.
fn read(file: &Path) -> io::Result<Place> {
    match std::fs::read(file) {
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::default()),
        Err(error) => Err(error),
    }
}
