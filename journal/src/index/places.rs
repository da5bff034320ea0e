//! The places of appends and objects in the log, and the head of a stream.

use uuid::Uuid;

use super::rows::Row;
use crate::Head;
use crate::log::{FramePlace, Place};

/// The number of positions in a full group, which is one row of the index.
pub(crate) const GROUP: usize = 32;

/// The minimum number of positions that are reserved at a time.
const ROOM: usize = 2;

/// The position of an append.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Position {
    /// The seq of its first record.
    pub(crate) first: u64,
    /// The frame of the append.
    pub(crate) frame: FramePlace,
    /// The place of its body in that frame.
    pub(crate) place: Place,
}

/// The place of an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ObjectPlace {
    pub(crate) frame: FramePlace,
    pub(crate) place: Place,
}

/// The cached part of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stream {
    pub(crate) head: Head,
    /// The last appends, oldest first: those that are in no full group of the index.
    pub(crate) recent: Vec<Position>,
    /// The number of these that are in groups which are being flushed to the index.
    grouped: usize,
    changed: bool,
}

impl Stream {
    /// Creates a stream with its first append.
    pub(crate) fn new(head: Head, position: Position) -> Self {
        Self {
            head,
            recent: vec![position],
            grouped: 0,
            changed: true,
        }
    }

    /// Creates a stream as the index has it.
    pub(crate) fn kept(head: Head, recent: Vec<Position>) -> Self {
        Self {
            head,
            recent,
            grouped: 0,
            changed: false,
        }
    }

    /// Adds an append. Returns true if it is the first one since the last flush.
    pub(crate) fn extend(&mut self, head: Head, position: Position) -> bool {
        self.head = head;
        // Most streams are short and many of them wait, so the capacity does not double.
        let known = self.recent.len();
        if known == self.recent.capacity() {
            self.recent.reserve_exact(ROOM.max(known / 4));
        }
        self.recent.push(position);
        !std::mem::replace(&mut self.changed, true)
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    /// The rows of full groups, which never change again, and the row of the head with the rest.
    pub(crate) fn rows(&self, session: Uuid) -> impl Iterator<Item = Row> + '_ {
        let (grouped, rest) = self
            .recent
            .split_at_checked(self.full())
            .unwrap_or_default();
        let groups = grouped
            .chunks(GROUP)
            .map(move |group| Row::group(session, group));
        groups.chain(std::iter::once_with(move || {
            Row::head(session, &self.head, rest)
        }))
    }

    /// The row of the head, for a stream without unflushed changes.
    pub(crate) fn kept_row(&self, session: Uuid) -> Row {
        Row::head(session, &self.head, &self.recent)
    }

    /// The number of positions in full groups. At least one position stays with the head.
    fn full(&self) -> usize {
        self.recent.len().saturating_sub(1) / GROUP * GROUP
    }

    /// Marks its rows as being flushed to the index.
    pub(crate) fn begin_flush(&mut self) {
        self.changed = false;
        self.grouped = self.full();
    }

    /// Drops the groups that the index has.
    pub(crate) fn end_flush(&mut self) {
        self.recent.drain(..self.grouped);
        self.grouped = 0;
    }
}
