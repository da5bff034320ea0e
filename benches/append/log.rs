//! What is measured: something that takes batches and says when each is on the disk.

use std::sync::Arc;

use recount::journal::{Append, DiskJournal, Journal};

use crate::raw_log::RawLog;

/// A log with many concurrent writers.
pub(crate) trait Log: Send + Sync + 'static {
    /// What one append takes.
    type Batch: Send + 'static;

    /// Returns when the batch is on the disk.
    fn append(&self, batch: Self::Batch) -> impl Future<Output = ()> + Send;

    /// Returns when nothing is left to do.
    fn finish(&self) -> impl Future<Output = ()> + Send;
}

impl Log for DiskJournal {
    type Batch = Append;

    async fn append(&self, batch: Append) {
        Journal::append(self, batch).await.expect("an append");
    }

    /// Waits for the index to hold everything, too.
    async fn finish(&self) {
        self.close().await.expect("a clean close");
    }
}

/// One batch of a session's plan, which the raw log reads without taking it away.
#[derive(Debug)]
pub(crate) struct Planned {
    plan: Arc<Vec<Append>>,
    place: usize,
}

impl Planned {
    /// The batches of a session, over and over: the raw log does not mind, and is faster than
    /// memory is large.
    pub(crate) fn over_and_over(plan: Arc<Vec<Append>>) -> impl Iterator<Item = Self> + Send {
        let places = (0..plan.len()).cycle();
        places.map(move |place| Self {
            plan: Arc::clone(&plan),
            place,
        })
    }

    /// The bytes of its lines, one behind the other.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let append = self.plan.get(self.place).expect("a place of the plan");
        let lines = append.lines.iter();
        lines.for_each(|line| out.extend_from_slice(line.bytes()));
    }
}

impl Log for RawLog {
    type Batch = Planned;

    async fn append(&self, batch: Planned) {
        self.submit(batch).await.expect("a log that goes on");
    }

    /// The last append returned after the last sync.
    async fn finish(&self) {}
}
