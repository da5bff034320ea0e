//! The bytes of one record, and what is known of them without reading them again.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

use crate::{Hash, Malformed, Record};

/// The bytes of one record and their leaf hash; cheap to clone. Two lines are equal when their bytes are.
#[derive(Clone)]
pub struct Line {
    /// This line, or all lines of its append.
    whole: Arc<[u8]>,
    within: Range<usize>,
    leaf: OnceLock<Hash>,
    /// In a box, for few lines keep it and all are moved about.
    place: Option<Box<Place>>,
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
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let whole = bytes.into();
        Self {
            within: 0..whole.len(),
            whole,
            leaf: OnceLock::new(),
            place: None,
        }
    }

    /// A line that is known to be a record that can be read back, and to stand here.
    pub(crate) fn known(bytes: Vec<u8>, place: Option<Place>) -> Self {
        Self {
            place: place.map(Box::new),
            ..Self::new(bytes)
        }
    }

    /// A line that is known to be a record that can be read back, where that stands, and what it hashes to.
    pub(crate) fn hashed(bytes: &[u8], place: Place, leaf: Hash) -> Self {
        Self {
            leaf: leaf.into(),
            place: Some(Box::new(place)),
            ..Self::new(bytes)
        }
    }

    /// Moves lines that were appended into one piece of memory, in which whoever reads all of them finds each where the one before ends.
    pub(crate) fn gather(lines: &mut [Self]) {
        let length = lines.iter().map(|line| line.within.len()).sum();
        let mut whole = Vec::with_capacity(length);
        for line in &mut *lines {
            whole.extend_from_slice(line.bytes());
        }
        let whole: Arc<[u8]> = whole.into();
        let mut start = 0;
        for line in lines {
            let end = start + line.within.len();
            (line.whole, line.within) = (Arc::clone(&whole), start..end);
            line.place = None;
            start = end;
        }
    }

    /// The exact bytes, without a line end.
    pub fn bytes(&self) -> &[u8] {
        self.whole.get(self.within.clone()).unwrap_or_default()
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
        self.place.as_deref()
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
