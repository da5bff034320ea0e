//! A journal in memory: same checks, same answers, no thread, nothing kept.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::admission::Admission;
use crate::open_work::OpenWork;
use crate::{Append, BoxFuture, Error, Hash, Head, Journal, Line, OpenItem};

/// Keeps everything in memory. It runs on the caller's thread, so a simulation stays on one; it writes no system records.
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
    closed: bool,
}

#[derive(Debug)]
struct Stream {
    head: Head,
    lines: Vec<Line>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
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

impl Journal for MemoryJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            let admission = Admission::of(&append)?;
            let mut kept = self.open()?;
            admission.follows(kept.streams.get(&append.session).map(|stream| &stream.head))?;
            let head = admission.head;
            let stream = kept.streams.entry(append.session).or_insert(Stream {
                head,
                lines: Vec::new(),
            });
            stream.head = head;
            stream.lines.extend(append.lines);
            kept.objects.extend(
                append
                    .objects
                    .into_iter()
                    .map(|object| (object.hash, object.bytes)),
            );
            for change in &append.open_work {
                kept.work.apply(change);
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
        Box::pin(async move { Ok(self.open()?.work.request(request)) })
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        Box::pin(async move { Ok(self.open()?.objects.get(&hash).cloned()) })
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .closed = true;
            Ok(())
        })
    }
}
