//! The one thread that writes: log, sync, acknowledge, then the index.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use futures_channel::oneshot;
use uuid::Uuid;

use super::queue::{Queued, Shared};
use super::system;
use crate::Head;
use crate::index::{Batch, Index};
use crate::log::{Entry, LogWriter, split_entries};

/// Owns the end of the log.
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: LogWriter,
    pub(crate) index: Arc<Index>,
    pub(crate) index_place: PathBuf,
    pub(crate) journal: Uuid,
    pub(crate) clock: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Committer {
    /// Works until the journal closes or fails, then lets go of everything; `_ended` falls when that is done.
    pub(crate) fn run(mut self, _ended: oneshot::Sender<()>) {
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        let Self { shared, index, .. } = self;
        drop(index);
        let mut state = shared.state();
        match worked {
            Ok(Ok(())) => state.release(),
            Ok(Err(cause)) => state.fail(cause),
            Err(_) => state.fail("the committer panicked".to_owned()),
        }
    }

    fn work(&mut self) -> Result<(), String> {
        loop {
            let appends = self.shared.next();
            if appends.is_empty() {
                self.close()?;
                return Ok(());
            }
            self.commit(appends)?;
        }
    }

    fn commit(&mut self, mut appends: Vec<Queued>) -> Result<(), String> {
        let written = match self
            .writer
            .commit(appends.iter().map(|queued| queued.entry.as_slice()))
        {
            Ok(written) => written,
            Err(error) => {
                let cause = format!("failed to write and sync the log: {error}");
                // Later appends must be refused before the first of these learns of it.
                self.shared.state().fail(cause.clone());
                appends.into_iter().for_each(|queued| queued.refuse(&cause));
                return Err(cause);
            }
        };
        appends.iter_mut().for_each(Queued::acknowledge);
        let batch = self.batch(&appends)?;
        self.index
            .commit(batch, self.journal, written)
            .map_err(|what| format!("failed to fill the index: {what}"))?;
        self.shared.state().settle(appends.len());
        Ok(())
    }

    fn batch(&self, appends: &[Queued]) -> Result<Batch, String> {
        let mut batch = Batch::default();
        for queued in appends {
            let entry = split_entries(&queued.entry)
                .next()
                .and_then(|(body, _)| Entry::decode(body));
            let entry = entry.ok_or("an append that was encoded does not decode")?;
            let mut rows = Vec::new();
            if !entry.work.is_empty() {
                let mut state = self.shared.state();
                entry
                    .work
                    .iter()
                    .for_each(|change| rows.extend(state.work.apply(change)));
            }
            batch.add(&entry, &queued.head, &rows);
        }
        Ok(batch)
    }

    /// A closing record as the last frame shows that nothing is missing behind it.
    fn close(&mut self) -> Result<(), String> {
        let head: Option<Head> = self.shared.state().heads.get(&Uuid::nil()).copied();
        let append = system::closed(head.as_ref(), (self.clock)());
        let entry = crate::log::encode_entry(&append, |_| false);
        self.writer
            .commit(std::iter::once(entry.as_slice()))
            .map_err(|error| format!("failed to write the closing record: {error}"))
            .and_then(|written| {
                let mut batch = Batch::default();
                let decoded = split_entries(&entry)
                    .next()
                    .and_then(|(body, _)| Entry::decode(body));
                let (decoded, head) = decoded
                    .zip(system::head_of(&append))
                    .ok_or("the closing record does not decode")?;
                batch.add(&decoded, &head, &[]);
                self.index.commit(batch, self.journal, written)
            })?;
        self.index.flush(&self.index_place)
    }
}
