//! The changes of the view that one append makes.

use uuid::Uuid;

use crate::log;
use crate::{Hash, Head, WorkChange};

/// What one append adds.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) session: Uuid,
    pub(crate) first: u64,
    /// The end of the stream with it.
    pub(crate) head: Head,
    pub(crate) work: Vec<WorkChange>,
    /// Each with its first byte in the append and its length.
    pub(crate) objects: Vec<(Hash, usize, usize)>,
}

impl Added {
    /// What an append of the log adds, of which the last record is known.
    pub(crate) fn of(entry: &log::Entry<'_>, head: Head) -> Self {
        let objects = entry.objects.iter();
        Self {
            session: entry.session,
            first: entry.first,
            head,
            work: entry.work.clone(),
            objects: objects
                .map(|(hash, first, bytes)| (*hash, *first, bytes.len()))
                .collect(),
        }
    }
}
