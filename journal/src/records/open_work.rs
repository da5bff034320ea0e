//! The open items of a journal, ordered by item and by deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use uuid::Uuid;

use crate::{OpenItem, WorkChange};

/// All open items of a journal. They are the whole cost of a session that only waits, so they are
/// kept small.
#[derive(Debug, Default)]
pub(crate) struct OpenWork {
    items: BTreeMap<(Uuid, u64), Waiting>,
    deadlines: BTreeSet<(i64, Uuid, u64)>,
    /// The kinds of all items, which are few.
    kinds: BTreeSet<Arc<str>>,
}

/// An item without its session and seq.
#[derive(Debug)]
struct Waiting {
    kind: Arc<str>,
    since_us: i64,
    deadline_us: Option<i64>,
    request: Option<Uuid>,
    flags: u32,
}

impl Waiting {
    fn named(&self, (session, item): (Uuid, u64)) -> OpenItem {
        OpenItem {
            session,
            item,
            kind: self.kind.as_ref().to_owned(),
            since_us: self.since_us,
            deadline_us: self.deadline_us,
            request: self.request,
            flags: self.flags,
        }
    }
}

impl OpenWork {
    /// Applies a change.
    pub(crate) fn apply(&mut self, change: &WorkChange) {
        match change {
            WorkChange::Put(item) => {
                let name = (item.session, item.item);
                self.remove(name);
                if let Some(deadline) = item.deadline_us {
                    self.deadlines.insert((deadline, name.0, name.1));
                }
                let waiting = Waiting {
                    kind: self.kind(&item.kind),
                    since_us: item.since_us,
                    deadline_us: item.deadline_us,
                    request: item.request,
                    flags: item.flags,
                };
                self.items.insert(name, waiting);
            }
            WorkChange::Remove { session, item } => self.remove((*session, *item)),
        }
    }

    fn kind(&mut self, kind: &str) -> Arc<str> {
        if let Some(known) = self.kinds.get(kind) {
            return Arc::clone(known);
        }
        let kind: Arc<str> = kind.into();
        self.kinds.insert(Arc::clone(&kind));
        kind
    }

    fn remove(&mut self, name: (Uuid, u64)) {
        if let Some(deadline) = self.items.remove(&name).and_then(|old| old.deadline_us) {
            self.deadlines.remove(&(deadline, name.0, name.1));
        }
    }

    pub(crate) fn item(&self, name: (Uuid, u64)) -> Option<OpenItem> {
        self.items.get(&name).map(|it| it.named(name))
    }

    pub(crate) fn page(&self, after: Option<(Uuid, u64)>, limit: usize) -> Vec<OpenItem> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.items
            .range((start, Bound::Unbounded))
            .take(limit)
            .map(|(name, it)| it.named(*name))
            .collect()
    }

    /// Iterates over the streams with an open item that has a request id, in order.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Uuid> + '_ {
        let mut last = None;
        let asked = self.items.iter().filter(|(_, it)| it.request.is_some());
        let sessions = asked.map(|((session, _), _)| *session);
        sessions.filter(move |session| last.replace(*session) != Some(*session))
    }

    pub(crate) fn of(&self, session: Uuid) -> Vec<OpenItem> {
        self.items
            .range((session, 0)..=(session, u64::MAX))
            .map(|(name, it)| it.named(*name))
            .collect()
    }

    pub(crate) fn due(&self, until_us: i64, limit: usize) -> Vec<OpenItem> {
        let last = (until_us, Uuid::max(), u64::MAX);
        let names = self.deadlines.range(..=last).take(limit);
        names
            .filter_map(|(_, session, item)| self.item((*session, *item)))
            .collect()
    }
}
