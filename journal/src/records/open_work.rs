//! The open items of a journal, ordered by item, by kind and by deadline.

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
    /// The items of each kind. The kinds are few.
    kinds: BTreeMap<Arc<str>, BTreeSet<(Uuid, u64)>>,
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
                    kind: self.kind(&item.kind, name),
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

    /// Adds the item to its kind.
    fn kind(&mut self, kind: &str, name: (Uuid, u64)) -> Arc<str> {
        let kind = match self.kinds.get_key_value(kind) {
            Some((known, _)) => Arc::clone(known),
            None => kind.into(),
        };
        self.kinds
            .entry(Arc::clone(&kind))
            .or_default()
            .insert(name);
        kind
    }

    fn remove(&mut self, name: (Uuid, u64)) {
        let Some(old) = self.items.remove(&name) else {
            return;
        };
        if let Some(of_kind) = self.kinds.get_mut(&old.kind) {
            of_kind.remove(&name);
        }
        if let Some(deadline) = old.deadline_us {
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

    /// A page of the items of these kinds, in the order of [`page`](Self::page).
    pub(crate) fn of_kinds(
        &self,
        kinds: &[&str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> Vec<OpenItem> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let of_kind = |kind: &&str| self.kinds.get(*kind);
        let mut names: Vec<(Uuid, u64)> = kinds
            .iter()
            .filter_map(of_kind)
            .flat_map(|names| names.range((start, Bound::Unbounded)).take(limit))
            .copied()
            .collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(limit);
        names.into_iter().filter_map(|it| self.item(it)).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [&str; 3] = ["session", "confirmation", "claimable"];

    fn change() -> impl Strategy<Value = WorkChange> {
        let name = (0..4_u128, 1..4_u64);
        (name, prop::option::of(0..KINDS.len()), 0..3_i64).prop_map(
            |((session, item), kind, deadline)| {
                let session = Uuid::from_u128(session);
                let Some(kind) = kind.and_then(|it| KINDS.get(it)) else {
                    return WorkChange::Remove { session, item };
                };
                WorkChange::Put(OpenItem {
                    session,
                    item,
                    kind: (*kind).to_owned(),
                    since_us: 7,
                    deadline_us: Some(deadline).filter(|it| *it > 0),
                    request: None,
                    flags: 0,
                })
            },
        )
    }

    proptest! {
        #[test]
        fn kinds_list_what_a_filter_finds(
            changes in prop::collection::vec(change(), 0..40),
            kinds in prop::sample::subsequence(KINDS.to_vec(), 0..=3),
            limit in 1..5_usize,
        ) {
            let mut work = OpenWork::default();
            for change in &changes {
                work.apply(change);
            }
            let mut expected = work.page(None, usize::MAX);
            expected.retain(|it| kinds.contains(&it.kind.as_str()));
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = work.of_kinds(&kinds, after, limit);
                prop_assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                after = Some((last.session, last.item));
                found.extend(page);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
