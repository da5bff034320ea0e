//! The interface of a measured log: it accepts batches and acknowledges each when it is durable.

use std::sync::Arc;

use recount::journal::{Append, DiskJournal, Journal};

use crate::raw_log::RawLog;

/// A log with many concurrent writers.
pub(crate) trait Log: Send + Sync + 'static {
    /// The argument of one append.
    type Batch: Send + 'static;

    /// Returns when the batch is durable.
    fn append(&self, batch: Self::Batch) -> impl Future<Output = ()> + Send;

    /// Returns when the log has finished all its work.
    fn finish(&self) -> impl Future<Output = ()> + Send;
}

impl Log for DiskJournal {
    type Batch = Append;

    async fn append(&self, batch: Append) {
        Journal::append(self, batch).await.expect("an append");
    }

    /// Returns when everything is indexed, too.
    async fn finish(&self) {
        self.close().await.expect("a clean close");
    }
}

/// One batch of a session's plan. The raw log reads it in place.
#[derive(Debug)]
pub(crate) struct Planned {
    plan: Arc<Vec<Append>>,
    place: usize,
}

impl Planned {
    /// The batches of a session in an endless cycle. The raw log accepts repeated batches, and
    /// appends more than would fit into memory.
    pub(crate) fn over_and_over(plan: Arc<Vec<Append>>) -> impl Iterator<Item = Self> + Send {
        let places = (0..plan.len()).cycle();
        places.map(move |place| Self {
            plan: Arc::clone(&plan),
            place,
        })
    }

    /// Appends the bytes of its lines to `out`.
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

    /// No work is left when the last append has returned.
    async fn finish(&self) {}
}
