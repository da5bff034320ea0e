//! The journal of a play: it is read to its end, also where the recorded process shut down and closed its own.

use std::sync::Arc;

use recount_journal::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, MemoryJournal, OpenItem,
};
use uuid::Uuid;

/// A journal in memory that closing leaves open; it goes with the play.
#[derive(Debug, Default)]
pub(super) struct PlayedJournal(MemoryJournal);

impl Journal for PlayedJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        self.0.append(append)
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.0.read(session, from, limit)
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.0.head(session)
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.0.sessions(after, limit)
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.0.open_work(after, limit)
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.0.open_work_of(session)
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.0.deadlines(until_us, limit)
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.0.request(request)
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.0.object(hash)
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        self.0.follow(after)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.0.position()
    }

    fn is_durable(&self) -> bool {
        self.0.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
