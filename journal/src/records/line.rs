//! The bytes of one record, and what is known of them without reading them again.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

use crate::{Hash, Malformed, Record};

/// The bytes of one record and their leaf hash; cheap to clone. Two lines are equal when their
/// bytes are. A line that was read holds the memory of those that were read of the same append with
/// it.
#[derive(Clone)]
pub struct Line {
    whole: Arc<Whole>,
    within: Range<usize>,
    leaf: OnceLock<Hash>,
}

/// What lines share. The bytes stay in the memory where they were written: moving them would cost
/// about as much as writing them.
struct Whole {
    /// One line, or all lines of its append.
    bytes: Vec<u8>,
    place: Option<Place>,
}

/// Where a record stands, as its own bytes say.
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
    /// Takes bytes as a line. Whether they are a record is told when they are appended.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self::known(bytes.into(), None)
    }

    /// A line that, where a place is told, is known to be a record that can be read back, and to
    /// stand there.
    pub(crate) fn known(bytes: Vec<u8>, place: Option<Place>) -> Self {
        Self {
            within: 0..bytes.len(),
            whole: Arc::new(Whole { bytes, place }),
            leaf: OnceLock::new(),
        }
    }

    /// A line that is known to be a record that can be read back, where that stands, and what it
    /// hashes to.
    pub(crate) fn hashed(bytes: &[u8], place: Place, leaf: Hash) -> Self {
        Self {
            leaf: leaf.into(),
            ..Self::known(bytes.into(), Some(place))
        }
    }

    /// The lines of an append, or some of them, in one piece of memory, in which whoever reads all
    /// of them finds each where the one before ends.
    pub(crate) fn together<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<Self> {
        let mut bytes = Vec::with_capacity(lines.clone().map(<[u8]>::len).sum());
        lines.clone().for_each(|line| bytes.extend_from_slice(line));
        let whole = Arc::new(Whole { bytes, place: None });
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

    /// Moves lines that were appended into one piece of memory.
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
            .bytes
            .get(self.within.clone())
            .unwrap_or_default()
    }

    /// `SHA-256(0x00 ‖ bytes)`, computed when it is first asked for.
    pub fn leaf(&self) -> Hash {
        *self.leaf.get_or_init(|| Hash::of_line(self.bytes()))
    }

    /// Reads the envelope.
    ///
    /// # Errors
    /// When the bytes are not a record.
    pub fn record(&self) -> Result<Record<'_>, Malformed> {
        Record::parse(self.bytes())
    }

    /// Where the record stands, when that was checked as the line was made.
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
    /// Shows the hash and not the bytes, which may be long and are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("leaf", &self.leaf())
            .field("length", &self.within.len())
            .finish()
    }
}
