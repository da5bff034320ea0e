//! The journal of a play. It stays open after a shutdown of a played process, so that the play can
//! read it to its end.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use recount_journal::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, MemoryJournal, OpenItem, Record,
};
use uuid::Uuid;

use crate::fixture::ProcessGone;
use crate::fixture::playback::Extent;

/// A journal in memory that ignores `close`. It is dropped with the play.
///
/// Each process has its own view of the records. The view of a process that gets killed accepts no
/// more appends once its record is as long as the recorded one. This has the effect of a power
/// failure at that moment.
#[derive(Debug, Default)]
pub(super) struct PlayedJournal {
    records: Arc<MemoryJournal>,
    cut: Option<Cut>,
}

/// The place at which a process is killed.
#[derive(Debug)]
struct Cut {
    session: Uuid,
    gone: ProcessGone,
    reached: Mutex<Reached>,
}

/// The extent of the record so far.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    extent: Extent,
    /// True once an append was not accepted.
    cut: bool,
}

impl PlayedJournal {
    /// The view of a process that is killed once the record of `session` is as long as `gone`
    /// states.
    pub(super) fn until(&self, session: Uuid, gone: ProcessGone, extent: Extent) -> PlayedJournal {
        let reached = Mutex::new(Reached { extent, cut: false });
        PlayedJournal {
            records: self.records.clone(),
            cut: Some(Cut {
                session,
                gone,
                reached,
            }),
        }
    }

    /// The view of a process that is not killed.
    pub(super) fn whole(&self) -> PlayedJournal {
        PlayedJournal {
            records: self.records.clone(),
            cut: None,
        }
    }
}

impl Cut {
    /// Counts an append. Returns false if the process is killed before it.
    fn admits(&self, append: &Append) -> bool {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut extent = reached.extent;
        if append.session == self.session {
            for line in &append.lines {
                // Lines that this library wrote always parse.
                if let Ok(record) = Record::parse(line.bytes()) {
                    extent.count(record.kind);
                }
            }
        }
        reached.cut |= reached.extent.passes(extent, self.gone);
        if !reached.cut {
            reached.extent = extent;
        }
        !reached.cut
    }
}

impl Journal for PlayedJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        match &self.cut {
            Some(cut) if !cut.admits(&append) => Box::pin(pending()),
            Some(_) | None => self.records.append(append),
        }
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.records.read(session, from, limit)
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.records.head(session)
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.records.sessions(after, limit)
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.records.open_work(after, limit)
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        self.records.open_work_of_kinds(kinds, after, limit)
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.records.open_work_of(session)
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.records.deadlines(until_us, limit)
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.records.request(request)
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.records.object(hash)
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        self.records.follow(after)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.records.position()
    }

    fn is_durable(&self) -> bool {
        self.records.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
