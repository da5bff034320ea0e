//! The list of what is open, ordered by item and by deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use uuid::Uuid;

use crate::{OpenItem, WorkChange};

/// All open items of a journal.
#[derive(Debug, Default)]
pub(crate) struct OpenWork {
    items: BTreeMap<(Uuid, u64), OpenItem>,
    deadlines: BTreeSet<(i64, Uuid, u64)>,
}

impl OpenWork {
    /// Makes the change.
    pub(crate) fn apply(&mut self, change: &WorkChange) {
        match change {
            WorkChange::Put(item) => {
                let name = (item.session, item.item);
                self.remove(name);
                if let Some(deadline) = item.deadline_us {
                    self.deadlines.insert((deadline, name.0, name.1));
                }
                self.items.insert(name, item.clone());
            }
            WorkChange::Remove { session, item } => self.remove((*session, *item)),
        }
    }

    fn remove(&mut self, name: (Uuid, u64)) {
        if let Some(deadline) = self.items.remove(&name).and_then(|old| old.deadline_us) {
            self.deadlines.remove(&(deadline, name.0, name.1));
        }
    }

    pub(crate) fn item(&self, name: (Uuid, u64)) -> Option<&OpenItem> {
        self.items.get(&name)
    }

    pub(crate) fn page(&self, after: Option<(Uuid, u64)>, limit: usize) -> Vec<OpenItem> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.items
            .range((start, Bound::Unbounded))
            .take(limit)
            .map(|(_, item)| item.clone())
            .collect()
    }

    pub(crate) fn of(&self, session: Uuid) -> Vec<OpenItem> {
        self.items
            .range((session, 0)..=(session, u64::MAX))
            .map(|(_, item)| item.clone())
            .collect()
    }

    pub(crate) fn due(&self, until_us: i64, limit: usize) -> Vec<OpenItem> {
        let last = (until_us, Uuid::max(), u64::MAX);
        let names = self.deadlines.range(..=last).take(limit);
        names
            .filter_map(|(_, session, item)| self.items.get(&(*session, *item)).cloned())
            .collect()
    }
}
