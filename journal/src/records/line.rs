//! The bytes of one record, and the facts that were derived from them.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

use crate::{Hash, Malformed, Record};

/// The bytes of one record and their leaf hash; cheap to clone. Two lines are equal if their bytes
/// are. A line that was read shares its memory with the other lines of its append or commit.
#[derive(Clone)]
pub struct Line {
    whole: Arc<Whole>,
    within: Range<usize>,
    leaf: OnceLock<Hash>,
}

/// The memory that lines share. The bytes stay where they were written: moving them would cost
/// about as much as writing them.
struct Whole {
    memory: Memory,
    place: Option<Place>,
}

enum Memory {
    /// One line, or all lines of its append.
    Own(Vec<u8>),
    /// All lines of a commit, with what is between them.
    Commit(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Whole {
    fn own(bytes: Vec<u8>, place: Option<Place>) -> Arc<Self> {
        let memory = Memory::Own(bytes);
        Arc::new(Self { memory, place })
    }

    fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Own(bytes) => bytes,
            Memory::Commit(bytes) => (**bytes).as_ref(),
        }
    }
}

/// The position of a record, as its own bytes say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) session: Uuid,
    pub(crate) seq: u64,
    pub(crate) at_us: i64,
    pub(crate) prev: Hash,
}

impl Place {
    pub(crate) fn of(record: &Record<'_>) -> Self {
        Self {
            session: record.session,
            seq: record.seq,
            at_us: record.at_us,
            prev: record.prev,
        }
    }
}

impl Line {
    /// Wraps bytes as a line. The append checks whether they are a record.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self::known(bytes.into(), None)
    }

    /// Creates a line. With a place, the caller guarantees that it is a readable record at that
    /// place.
    pub(crate) fn known(bytes: Vec<u8>, place: Option<Place>) -> Self {
        Self {
            within: 0..bytes.len(),
            whole: Whole::own(bytes, place),
            leaf: OnceLock::new(),
        }
    }

    /// Creates a line of a checked record, with its place and leaf hash.
    pub(crate) fn hashed(bytes: &[u8], place: Place, leaf: Hash) -> Self {
        Self {
            leaf: leaf.into(),
            ..Self::known(bytes.into(), Some(place))
        }
    }

    /// Creates lines in one piece of memory, one after the other, for readers that read all of
    /// them.
    #[doc(hidden)]
    pub fn together<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<Self> {
        let mut bytes = Vec::with_capacity(lines.clone().map(<[u8]>::len).sum());
        lines.clone().for_each(|line| bytes.extend_from_slice(line));
        let whole = Whole::own(bytes, None);
        let mut end = 0;
        let line = |line: &[u8]| {
            let start = end;
            end += line.len();
            Self {
                whole: Arc::clone(&whole),
                within: start..end,
                leaf: OnceLock::new(),
            }
        };
        lines.map(line).collect()
    }

    /// Creates the lines of a commit in its memory, from the range and the leaf hash of each.
    pub(crate) fn of_commit(
        memory: Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> impl Fn(Range<usize>, Option<Hash>) -> Self {
        let memory = Memory::Commit(memory);
        let whole = Arc::new(Whole {
            memory,
            place: None,
        });
        move |within, leaf| Self {
            whole: Arc::clone(&whole),
            within,
            leaf: leaf.map_or_else(OnceLock::new, OnceLock::from),
        }
    }

    /// Moves the lines of an append into one piece of memory.
    pub(crate) fn gather(lines: &mut [Self]) {
        let moved = Self::together(lines.iter().map(Self::bytes));
        for (line, moved) in lines.iter_mut().zip(moved) {
            let leaf = mem::take(&mut line.leaf);
            *line = Self { leaf, ..moved };
        }
    }

    /// The exact bytes, without a line end.
    pub fn bytes(&self) -> &[u8] {
        self.whole
            .bytes()
            .get(self.within.clone())
            .unwrap_or_default()
    }

    /// `SHA-256(0x00 ‖ bytes)`, computed at the first call.
    pub fn leaf(&self) -> Hash {
        *self.leaf.get_or_init(|| Hash::of_line(self.bytes()))
    }

    /// Parses the envelope.
    ///
    /// # Errors
    /// Fails if the bytes are not a record.
    pub fn record(&self) -> Result<Record<'_>, Malformed> {
        Record::parse(self.bytes())
    }

    /// The place of the record, if it was checked when the line was created.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.whole.place.as_ref()
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Line {}

impl fmt::Debug for Line {
    /// Shows the hash instead of the bytes, which may be long and confidential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("leaf", &self.leaf())
            .field("length", &self.within.len())
            .finish()
    }
}
