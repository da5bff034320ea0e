//! The changes that one append makes to the view.

use uuid::Uuid;

use crate::log;
use crate::{Hash, Head, WorkChange};

/// The changes of one append.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) session: Uuid,
    pub(crate) first: u64,
    /// The head of the stream after the append.
    pub(crate) head: Head,
    pub(crate) work: Vec<WorkChange>,
    /// The objects, each with its first byte in the append and its length.
    pub(crate) objects: Vec<(Hash, usize, usize)>,
}

impl Added {
    /// The changes of an append in the log, given its last record.
    pub(crate) fn of(append: &log::LoggedAppend<'_>, head: Head) -> Self {
        let objects = append.objects.iter();
        Self {
            session: append.session,
            first: append.first,
            head,
            work: append.work.clone(),
            objects: objects
                .map(|(hash, first, bytes)| (*hash, *first, bytes.len()))
                .collect(),
        }
    }
}
