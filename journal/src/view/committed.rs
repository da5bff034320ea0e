//! The view of the committed log: stream heads, open items, request ids and objects.
//!
//! It keeps what changed since the last flush until the index has it. Everything else is fetched
//! from the index on demand.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use super::added::Added;
use crate::index::{Index, ObjectPlace, Position, Row, Stream};
use crate::log::{FramePlace, Place, Written};
use crate::records::open_work::OpenWork;
use crate::{Error, Hash, Head, WorkChange};

/// The maximum number of unchanged streams that are cached.
const CACHED_STREAMS_MAX: usize = 16_384;

/// The maximum number of cached streams that are preferred because they wait for an answer from
/// outside. A list of waiting items is then fast.
const CACHED_WAITING_MAX: usize = CACHED_STREAMS_MAX / 4 * 3;

/// The state that follows from the log up to a frame.
#[derive(Debug)]
pub(crate) struct View {
    /// The last frame that the view contains.
    pub(crate) last: Written,
    /// The number of records up to that frame.
    pub(crate) records: u64,
    pub(crate) work: OpenWork,
    streams: BTreeMap<Uuid, Stream>,
    changed_work: BTreeSet<(Uuid, u64)>,
    requests: Fresh<Uuid, (Uuid, u64)>,
    objects: Fresh<Hash, ObjectPlace>,
    changed_streams: Vec<Uuid>,
    flushing_streams: Vec<Uuid>,
}

/// Values that the index may not have yet.
#[derive(Debug)]
struct Fresh<K, V> {
    fresh: HashMap<K, V>,
    flushing: HashMap<K, V>,
}

impl<K: Eq + std::hash::Hash, V: Copy> Fresh<K, V> {
    fn new() -> Self {
        Self {
            fresh: HashMap::new(),
            flushing: HashMap::new(),
        }
    }

    fn get(&self, key: &K) -> Option<V> {
        self.fresh
            .get(key)
            .or_else(|| self.flushing.get(key))
            .copied()
    }
}

impl View {
    /// The view of a log up to a frame, with everything in the index.
    pub(crate) fn new(last: Written, records: u64, work: OpenWork) -> Self {
        Self {
            last,
            records,
            work,
            streams: BTreeMap::new(),
            changed_work: BTreeSet::new(),
            requests: Fresh::new(),
            objects: Fresh::new(),
            changed_streams: Vec::new(),
            flushing_streams: Vec::new(),
        }
    }

    /// The view of an empty log.
    pub(crate) fn empty() -> Self {
        Self::new(Written::NOTHING, 0, OpenWork::default())
    }

    /// Returns a stream, and fetches it from the index if necessary.
    pub(crate) fn stream(
        &mut self,
        session: Uuid,
        index: Option<&Index>,
    ) -> Result<Option<&mut Stream>, Error> {
        match self.streams.entry(session) {
            Entry::Occupied(cached) => Ok(Some(cached.into_mut())),
            Entry::Vacant(place) => {
                let fetched = index.map(|index| index.stream(session)).transpose()?;
                Ok(fetched.flatten().map(|stream| place.insert(stream)))
            }
        }
    }

    /// Returns a stream if it is cached.
    pub(crate) fn cached(&self, session: &Uuid) -> Option<&Stream> {
        self.streams.get(session)
    }

    /// Caches streams that the index has.
    pub(crate) fn cache(&mut self, kept: Vec<(Uuid, Stream)>) {
        self.streams.extend(kept);
    }

    /// Returns the rows of the first streams that wait for an answer from outside, as many as the
    /// cache prefers.
    ///
    /// # Errors
    /// Fails if the index cannot return one of them.
    pub(crate) fn waiting(&mut self, index: &Index) -> Result<Vec<Row>, Error> {
        let sessions: Vec<Uuid> = self.work.asked().take(CACHED_WAITING_MAX).collect();
        let mut rows = Vec::with_capacity(sessions.len());
        for session in sessions {
            let stream = self.stream(session, Some(index))?;
            rows.extend(stream.map(|stream| stream.kept_row(session)));
        }
        Ok(rows)
    }

    /// Returns the heads of the cached streams, from the first one after `after`.
    pub(crate) fn heads_after(&self, after: Uuid) -> impl Iterator<Item = (Uuid, Head)> + '_ {
        use std::ops::Bound::{Excluded, Unbounded};
        self.streams
            .range((Excluded(after), Unbounded))
            .map(|(session, stream)| (*session, stream.head))
    }

    /// Returns the item of a request id, unless only the index has it.
    pub(crate) fn request(&self, request: &Uuid) -> Option<(Uuid, u64)> {
        self.requests.get(request)
    }

    /// Returns the place of an object, unless only the index has it.
    pub(crate) fn object(&self, hash: &Hash) -> Option<ObjectPlace> {
        self.objects.get(hash)
    }

    /// Adds an append, given its place in a frame.
    pub(crate) fn add(
        &mut self,
        frame: FramePlace,
        place: Place,
        added: &Added,
        index: Option<&Index>,
    ) -> Result<(), Error> {
        let position = Position {
            first: added.first,
            frame,
            place,
        };
        let changed = match self.stream(added.session, index)? {
            Some(stream) => stream.extend(added.head, position),
            None => {
                let stream = Stream::new(added.head, position);
                self.streams.insert(added.session, stream);
                true
            }
        };
        if changed {
            self.changed_streams.push(added.session);
        }
        for (hash, first, length) in &added.objects {
            let place = Place::of(place.offset as usize + first, *length);
            self.objects
                .fresh
                .insert(*hash, ObjectPlace { frame, place });
        }
        for change in &added.work {
            self.work.apply(change);
            let name = match change {
                WorkChange::Put(item) => {
                    if let Some(request) = item.request {
                        let name = (item.session, item.item);
                        self.requests.fresh.insert(request, name);
                    }
                    (item.session, item.item)
                }
                WorkChange::Remove { session, item } => (*session, *item),
            };
            self.changed_work.insert(name);
        }
        self.records += (added.head.seq + 1).saturating_sub(added.first);
        Ok(())
    }

    /// The number of streams that changed since the last flush began, or before it while it runs.
    pub(crate) fn active_streams(&self) -> usize {
        self.changed_streams.len().max(self.flushing_streams.len())
    }

    /// True if a flush would change the index.
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed_streams.is_empty()
    }

    /// Iterates over the rows that changed since the last flush. Each row is created on demand,
    /// because together they may be as large as the index.
    pub(crate) fn changed_rows(&self) -> impl Iterator<Item = Row> + '_ {
        let streams = self.changed_streams.iter().filter_map(|session| {
            let stream = self.streams.get(session)?;
            Some(stream.rows(*session))
        });
        let work = self.changed_work.iter();
        let work = work.map(|name| Row::item(*name, self.work.item(*name).as_ref()));
        let requests = self.requests.fresh.iter();
        let requests = requests.map(|(id, name)| Row::request(*id, *name));
        let objects = self.objects.fresh.iter();
        let objects = objects.map(|(hash, place)| Row::object(hash, *place));
        streams.flatten().chain(work).chain(requests).chain(objects)
    }

    /// Returns the [changed rows](View::changed_rows) for the index. Their values stay cached until
    /// [`View::end_flush`].
    pub(crate) fn begin_flush(&mut self) -> Vec<Row> {
        let rows = self.changed_rows().collect();
        self.take_changes();
        rows
    }

    /// Marks the [changed rows](View::changed_rows) as indexed.
    pub(crate) fn flushed(&mut self) {
        self.take_changes();
        self.end_flush();
    }

    fn take_changes(&mut self) {
        self.flushing_streams = std::mem::take(&mut self.changed_streams);
        for session in &self.flushing_streams {
            if let Some(stream) = self.streams.get_mut(session) {
                stream.begin_flush();
            }
        }
        self.changed_work.clear();
        self.requests.flushing = std::mem::take(&mut self.requests.fresh);
        self.objects.flushing = std::mem::take(&mut self.objects.fresh);
    }

    /// Marks the rows that [`View::begin_flush`] returned as indexed.
    pub(crate) fn end_flush(&mut self) {
        for session in std::mem::take(&mut self.flushing_streams) {
            if let Some(stream) = self.streams.get_mut(&session) {
                stream.end_flush();
            }
        }
        // This frees the capacity too: after an opening it has room for every session.
        self.requests.flushing = HashMap::new();
        self.objects.flushing = HashMap::new();
    }

    /// Drops cached streams that the index has, if there are many. They are fetched from the index
    /// afterwards. A view that is filled without an index must not call this before the end.
    pub(crate) fn evict(&mut self) {
        if self.streams.len() > CACHED_STREAMS_MAX {
            let waiting: HashSet<Uuid> = self.work.asked().take(CACHED_WAITING_MAX).collect();
            self.streams
                .retain(|session, stream| stream.is_changed() || waiting.contains(session));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenItem;

    fn kept(session: u128) -> (Uuid, Stream) {
        let head = Head {
            seq: 1,
            hash: Hash::ZERO,
            at_us: 0,
        };
        (Uuid::from_u128(session), Stream::kept(head, Vec::new()))
    }

    fn item(session: u128, request: Option<u128>) -> WorkChange {
        WorkChange::Put(OpenItem {
            session: Uuid::from_u128(session),
            item: 1,
            kind: "call".to_owned(),
            since_us: 0,
            deadline_us: None,
            request: request.map(Uuid::from_u128),
            flags: 0,
        })
    }

    #[test]
    fn waiting_streams_stay_cached() {
        let mut view = View::empty();
        for session in 1..=20_000 {
            // Every other item has no request id.
            let request = (session % 2 == 0).then_some(session);
            view.work.apply(&item(session, request));
        }
        view.cache((1..=20_000).map(kept).collect());
        view.evict();
        assert_eq!(view.streams.len(), 10_000);
        assert!(view.cached(&Uuid::from_u128(2)).is_some());
        assert!(view.cached(&Uuid::from_u128(3)).is_none());
    }
}
