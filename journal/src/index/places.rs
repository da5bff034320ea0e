//! The places in the log at which appends and objects stand, and the end of a stream.

use uuid::Uuid;

use super::rows::Row;
use crate::Head;
use crate::log::{FramePlace, Place};

/// How many positions one row of the index holds.
pub(crate) const GROUP: usize = 32;

/// For how many more positions room is made at a time, at least.
const ROOM: usize = 2;

/// Where an append stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Position {
    /// The seq of its first record.
    pub(crate) first: u64,
    /// The frame it is in.
    pub(crate) frame: FramePlace,
    /// Its body in that frame.
    pub(crate) place: Place,
}

/// Where an object stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ObjectPlace {
    pub(crate) frame: FramePlace,
    pub(crate) place: Place,
}

/// A stream as far as it must be at hand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stream {
    pub(crate) head: Head,
    /// The last appends, oldest first: those that no full group of the index holds.
    pub(crate) recent: Vec<Position>,
    /// How many of these are in groups that are on their way to the index.
    grouped: usize,
    changed: bool,
}

impl Stream {
    /// A stream that begins.
    pub(crate) fn new(head: Head, position: Position) -> Self {
        Self {
            head,
            recent: vec![position],
            grouped: 0,
            changed: true,
        }
    }

    /// A stream as the index has it.
    pub(crate) fn kept(head: Head, recent: Vec<Position>) -> Self {
        Self {
            head,
            recent,
            grouped: 0,
            changed: false,
        }
    }

    /// Takes in an append; says whether this is the first since the last flush.
    pub(crate) fn extend(&mut self, head: Head, position: Position) -> bool {
        self.head = head;
        // Most streams are short and many wait, so room is not made for twice as many.
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

    /// The rows of full groups, which never change again, and of the head with the rest.
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

    /// The row of the head with the rest, of a stream that the index has.
    pub(crate) fn kept_row(&self, session: Uuid) -> Row {
        Row::head(session, &self.head, &self.recent)
    }

    /// How many positions are in full groups; one at least stays with the head.
    fn full(&self) -> usize {
        self.recent.len().saturating_sub(1) / GROUP * GROUP
    }

    /// Its rows are on their way to the index.
    pub(crate) fn begin_flush(&mut self) {
        self.changed = false;
        self.grouped = self.full();
    }

    /// Forgets the groups that the index has.
    pub(crate) fn end_flush(&mut self) {
        self.recent.drain(..self.grouped);
        self.grouped = 0;
    }
}
