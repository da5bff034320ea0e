//! The trait [`Journal`] for [`DiskJournal`].

use std::sync::Arc;

use uuid::Uuid;

use super::directory::snapshots;
use super::disk_journal::{DiskJournal, Ending};
use crate::index::Index;
use crate::{Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, Space, Span};

/// The number of spans that are read under one lock of the state.
const SPANS_AT_ONCE: usize = 256;

impl Journal for DiskJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            if self.read_only {
                Err(Error::ReadOnly)
            } else {
                self.shared.submit(append).await
            }
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        let span = Span {
            session,
            from,
            limit,
        };
        self.looking(move |index| {
            let mut pages = self.shared.read(index, &[span])?;
            Ok(pages.pop().unwrap_or_default())
        })
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        self.looking(move |index| {
            let mut pages = Vec::with_capacity(spans.len());
            // Appends of other tasks run between two groups of spans.
            for spans in spans.chunks(SPANS_AT_ONCE) {
                pages.append(&mut self.shared.read(index, spans)?);
            }
            Ok(pages)
        })
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.looking(move |index| self.shared.head(index, session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        let after = after.unwrap_or(Uuid::nil());
        self.looking(move |index| self.shared.heads(index, after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.page(after, limit)))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| {
            let work = &self.shared.state().view.work;
            Ok(work.of_kinds(kinds, after, limit))
        })
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.of(session)))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.due(until_us, limit)))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.looking(move |index| {
            let fresh = self.shared.state().view.request(&request);
            fresh.map_or_else(|| index.request(request), |name| Ok(Some(name)))
        })
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.looking(move |index| self.shared.read_object(index, hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        Box::pin(async move {
            let index = self.shared.committed_after(after).await?;
            self.doubting(self.shared.read_commit(&index, after))
        })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.last.number))
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        Box::pin(async move { snapshots::read(&self.path, session) })
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if self.read_only {
                return Err(Error::ReadOnly);
            }
            // After a close, the directory may belong to another process.
            self.shared.settled().await?;
            snapshots::keep(&self.path, session, &bytes)
        })
    }

    fn room(&self) -> Result<(), Error> {
        self.shared.room()
    }

    fn space(&self) -> Result<Option<Space>, Error> {
        self.shared.floor.space().map(Some)
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(Ending { ended, thread }) = self.begin_close() {
                // The sender is never used, but dropped when the committer has released everything.
                let _fallen = ended.await;
                drop(thread);
            }
            self.shared.state().outcome()
        })
    }
}

impl DiskJournal {
    /// Runs a lookup once everything admitted so far is committed.
    fn looking<'j, T: Send>(
        &'j self,
        look: impl FnOnce(&Index) -> Result<T, Error> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, Error>> {
        Box::pin(async move {
            let index = self.shared.settled().await?;
            self.doubting(look(&index))
        })
    }

    /// Notes a fault of the index, so that the next opening checks all of it.
    fn doubting<T>(&self, found: Result<T, Error>) -> Result<T, Error> {
        if matches!(found, Err(Error::Index { .. })) {
            self.shared.state().needs_full_check = true;
        }
        found
    }
}
