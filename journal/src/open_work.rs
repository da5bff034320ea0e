//! The list of what is open, ordered three ways: by item, by deadline, by request.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use uuid::Uuid;

use crate::{OpenItem, WorkChange};

/// All open items of a journal.
#[derive(Debug, Default)]
pub(crate) struct OpenWork {
    items: BTreeMap<(Uuid, u64), OpenItem>,
    deadlines: BTreeSet<(i64, Uuid, u64)>,
    requests: BTreeMap<Uuid, (Uuid, u64)>,
}

/// One row of the three orders that came or went.
#[derive(Clone, Debug)]
pub(crate) enum WorkRow {
    /// An item is there.
    Item(OpenItem),
    /// An item is gone.
    NoItem(Uuid, u64),
    /// A deadline is there.
    Deadline(i64, Uuid, u64),
    /// A deadline is gone.
    NoDeadline(i64, Uuid, u64),
    /// A request names an item.
    Request(Uuid, Uuid, u64),
}

impl OpenWork {
    /// Makes the change and tells which rows came and went.
    pub(crate) fn apply(&mut self, change: &WorkChange) -> Vec<WorkRow> {
        let mut rows = Vec::new();
        match change {
            WorkChange::Put(item) => {
                self.remove(item.session, item.item, &mut rows);
                let name = (item.session, item.item);
                if let Some(deadline) = item.deadline_us {
                    self.deadlines.insert((deadline, name.0, name.1));
                    rows.push(WorkRow::Deadline(deadline, name.0, name.1));
                }
                if let Some(request) = item.request {
                    self.requests.insert(request, name);
                    rows.push(WorkRow::Request(request, name.0, name.1));
                }
                self.items.insert(name, item.clone());
                rows.push(WorkRow::Item(item.clone()));
            }
            WorkChange::Remove { session, item } => self.remove(*session, *item, &mut rows),
        }
        rows
    }

    fn remove(&mut self, session: Uuid, item: u64, rows: &mut Vec<WorkRow>) {
        let Some(old) = self.items.remove(&(session, item)) else {
            return;
        };
        rows.push(WorkRow::NoItem(session, item));
        if let Some(deadline) = old.deadline_us {
            self.deadlines.remove(&(deadline, session, item));
            rows.push(WorkRow::NoDeadline(deadline, session, item));
        }
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

    pub(crate) fn request(&self, request: Uuid) -> Option<(Uuid, u64)> {
        self.requests.get(&request).copied()
    }

    /// Every row that is there.
    pub(crate) fn rows(&self) -> impl Iterator<Item = WorkRow> + '_ {
        let items = self.items.values().cloned().map(WorkRow::Item);
        let deadlines = self
            .deadlines
            .iter()
            .map(|(at, session, item)| WorkRow::Deadline(*at, *session, *item));
        let requests = self
            .requests
            .iter()
            .map(|(id, (session, item))| WorkRow::Request(*id, *session, *item));
        items.chain(deadlines).chain(requests)
    }
}
