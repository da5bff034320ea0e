//! A caller that appends to one stream and remembers its records.

use uuid::Uuid;

use crate::{Actor, Append, Draft, Hash, Head, Journal, Line, block_on};

/// A stream as its only writer knows it.
///
/// ```
/// use recount_journal::testing::Stream;
/// use recount_journal::{Journal, MemoryJournal, block_on};
///
/// let journal = MemoryJournal::new();
/// let mut stream = Stream::new(7);
/// stream.append(&journal, &["{}", r#"{"amount":7}"#]);
/// let later = stream.next(&["{}"]);
/// assert_eq!(later.expected, 2);
/// assert_eq!(block_on(journal.append(later))?.seq, 3);
/// stream.assert_in(&journal);
/// # Ok::<(), recount_journal::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    /// The id of the stream.
    pub session: Uuid,
    /// The records, in order.
    pub lines: Vec<Line>,
    /// The time of the last append, in microseconds since 1970.
    pub at_us: i64,
}

impl Stream {
    /// Creates an empty stream whose id is this number.
    pub fn new(number: u128) -> Self {
        Self {
            session: Uuid::from_u128(number),
            lines: Vec::new(),
            at_us: 1_795_183_387_000_000,
        }
    }

    /// The seq of the last record; 0 if there is none.
    pub fn seq(&self) -> u64 {
        self.lines.len() as u64
    }

    /// The head that a journal must report.
    pub fn head(&self) -> Option<Head> {
        let hash = self.lines.last()?.leaf();
        Some(Head {
            seq: self.seq(),
            hash,
            at_us: self.at_us,
        })
    }

    /// Drafts the next append with these bodies and counts it as done.
    pub fn next(&mut self, bodies: &[&str]) -> Append {
        let expected = self.seq();
        self.at_us += 1;
        for body in bodies {
            let draft = Draft {
                session: self.session,
                seq: self.seq() + 1,
                at_us: self.at_us,
                kind: "noted",
                cause: None,
                actor: Actor::new("engine"),
                body,
                prev: self.lines.last().map_or(Hash::ZERO, Line::leaf),
            };
            self.lines.push(draft.line());
        }
        let lines = self.lines[usize::try_from(expected).unwrap()..].to_vec();
        Append::new(self.session, expected, lines)
    }

    /// Appends these bodies.
    ///
    /// # Panics
    /// If the journal does not acknowledge the head of this stream.
    pub fn append(&mut self, journal: &dyn Journal, bodies: &[&str]) {
        let append = self.next(bodies);
        assert_eq!(Some(block_on(journal.append(append)).unwrap()), self.head());
    }

    /// Asserts that the journal has exactly the appended records.
    ///
    /// # Panics
    /// If the journal has another head or other bytes.
    pub fn assert_in(&self, journal: &dyn Journal) {
        assert_eq!(block_on(journal.head(self.session)).unwrap(), self.head());
        assert_eq!(
            block_on(journal.read(self.session, 1, usize::MAX)).unwrap(),
            self.lines
        );
    }
}
