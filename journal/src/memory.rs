//! A journal in memory, with the checks and answers of the journal on disk, but without a thread.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use uuid::Uuid;

use crate::records::admission::Admission;
use crate::records::open_work::OpenWork;
use crate::{Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, WorkChange};

/// A journal that keeps everything in memory.
///
/// It runs on the caller's thread, so a simulation stays on one thread. It writes no system
/// records.
///
/// ```
/// use recount_journal::{Journal, MemoryJournal, block_on};
/// let journal = MemoryJournal::new();
/// assert!(block_on(journal.sessions(None, 10))?.is_empty());
/// # Ok::<(), recount_journal::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryJournal {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    streams: BTreeMap<Uuid, Stream>,
    objects: HashMap<Hash, Arc<[u8]>>,
    work: OpenWork,
    requests: HashMap<Uuid, (Uuid, u64)>,
    /// The appends in order: the stream, the index of the first line in it, the number of lines.
    commits: Vec<(Uuid, usize, usize)>,
    snapshots: HashMap<Uuid, Vec<u8>>,
    followers: Vec<oneshot::Sender<()>>,
    closed: bool,
    read_only: bool,
}

#[derive(Debug)]
struct Stream {
    head: Head,
    lines: Vec<Line>,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The journal, which rejects appends from now on.
    pub(crate) fn read_only(mut self) -> Self {
        let kept = self.kept.get_mut();
        kept.unwrap_or_else(PoisonError::into_inner).read_only = true;
        self
    }

    fn open(&self) -> Result<MutexGuard<'_, Kept>, Error> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.closed {
            Err(Error::Closed)
        } else {
            Ok(kept)
        }
    }
}

impl Kept {
    fn commit_after(&self, after: u64) -> Option<Commit> {
        let at = usize::try_from(after).ok()?;
        let (session, start, count) = *self.commits.get(at)?;
        let lines = self.streams.get(&session)?.lines.get(start..)?;
        Some(Commit {
            position: after + 1,
            appends: vec![(session, lines.get(..count)?.to_vec())],
        })
    }
}

impl Journal for MemoryJournal {
    fn append(&self, mut append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            let admission = Admission::of(&append)?;
            Line::gather(&mut append.lines);
            let mut kept = self.open()?;
            if kept.read_only {
                return Err(Error::ReadOnly);
            }
            admission.follows(kept.streams.get(&append.session).map(|stream| &stream.head))?;
            let head = admission.head;
            let stream = kept.streams.entry(append.session).or_insert(Stream {
                head,
                lines: Vec::new(),
            });
            stream.head = head;
            let commit = (append.session, stream.lines.len(), append.lines.len());
            stream.lines.extend(append.lines);
            kept.commits.push(commit);
            kept.followers.clear();
            kept.objects.extend(
                append
                    .objects
                    .into_iter()
                    .map(|object| (object.hash, object.bytes)),
            );
            for change in &append.open_work {
                kept.work.apply(change);
                if let WorkChange::Put(OpenItem {
                    session,
                    item,
                    request: Some(request),
                    ..
                }) = change
                {
                    kept.requests.insert(*request, (*session, *item));
                }
            }
            Ok(head)
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        Box::pin(async move {
            let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
            let kept = self.open()?;
            let lines = kept
                .streams
                .get(&session)
                .map(|stream| stream.lines.iter().skip(skipped).take(limit).cloned());
            Ok(lines.map(Iterator::collect).unwrap_or_default())
        })
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        Box::pin(async move { Ok(self.open()?.streams.get(&session).map(|stream| stream.head)) })
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        Box::pin(async move {
            let start = Bound::Excluded(after.unwrap_or(Uuid::nil()));
            let kept = self.open()?;
            Ok(kept
                .streams
                .range((start, Bound::Unbounded))
                .take(limit)
                .map(|(id, stream)| (*id, stream.head))
                .collect())
        })
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move { Ok(self.open()?.work.page(after, limit)) })
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move { Ok(self.open()?.work.of_kinds(kinds, after, limit)) })
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move { Ok(self.open()?.work.of(session)) })
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move { Ok(self.open()?.work.due(until_us, limit)) })
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        Box::pin(async move { Ok(self.open()?.requests.get(&request).copied()) })
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        Box::pin(async move { Ok(self.open()?.objects.get(&hash).cloned()) })
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        Box::pin(async move {
            loop {
                let committed = {
                    let mut kept = self.open()?;
                    if let Some(commit) = kept.commit_after(after) {
                        return Ok(commit);
                    }
                    let (tell, committed) = oneshot::channel();
                    kept.followers.push(tell);
                    committed
                };
                // A commit or the close, which the next iteration reports.
                let _either = committed.await;
            }
        })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move { Ok(self.open()?.commits.len() as u64) })
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        Box::pin(async move { Ok(self.open()?.snapshots.get(&session).cloned()) })
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.open()?.snapshots.insert(session, bytes);
            Ok(())
        })
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.closed = true;
            kept.followers.clear();
            Ok(())
        })
    }
}
