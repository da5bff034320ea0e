//! A caller that appends to one stream and remembers its records.

use std::path::Path;

use recount_journal::{
    Actor, Append, DiskJournal, Draft, Hash, Head, Journal, Line, Options, block_on,
};
use uuid::Uuid;

/// A stream as its only writer knows it.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) session: Uuid,
    pub(crate) lines: Vec<Line>,
    pub(crate) at_us: i64,
}

impl Stream {
    pub(crate) fn new(number: u128) -> Self {
        Self {
            session: Uuid::from_u128(number),
            lines: Vec::new(),
            at_us: 1_795_183_387_000_000,
        }
    }

    pub(crate) fn seq(&self) -> u64 {
        self.lines.len() as u64
    }

    pub(crate) fn head(&self) -> Option<Head> {
        let hash = self.lines.last()?.leaf();
        Some(Head {
            seq: self.seq(),
            hash,
            at_us: self.at_us,
        })
    }

    /// Drafts the next append with these bodies and counts it as done.
    pub(crate) fn next(&mut self, bodies: &[&str]) -> Append {
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
    pub(crate) fn append(&mut self, journal: &dyn Journal, bodies: &[&str]) {
        let append = self.next(bodies);
        assert_eq!(Some(block_on(journal.append(append)).unwrap()), self.head());
    }

    /// Asserts that the journal has exactly the appended records.
    pub(crate) fn assert_in(&self, journal: &dyn Journal) {
        assert_eq!(block_on(journal.head(self.session)).unwrap(), self.head());
        assert_eq!(
            block_on(journal.read(self.session, 1, usize::MAX)).unwrap(),
            self.lines
        );
    }
}

/// The options of crash and injury tests: small segments, so that the log rolls often, and no
/// free-space floor.
pub(crate) fn options(path: &Path) -> Options {
    DiskJournal::options(path)
        .segment_bytes(16 << 10)
        .floor_bytes(0)
}

/// Creates a closed journal of three streams. Returns the streams.
pub(crate) fn closed_journal(path: &Path) -> Vec<Stream> {
    let journal = DiskJournal::open(path).unwrap();
    let mut streams = [Stream::new(1), Stream::new(2), Stream::new(3)];
    for round in 0..5 {
        for stream in &mut streams {
            let body = format!(r#"{{"round":{round},"text":"{}"}}"#, "x".repeat(round * 40));
            stream.append(&journal, &[&body, "{}"]);
        }
    }
    block_on(journal.close()).unwrap();
    streams.to_vec()
}

/// Opens the index once its lock is free. A child process of another test shares the lock of a file
/// until it runs.
pub(crate) fn index(path: &Path) -> sled::Db {
    loop {
        match sled::open(path.join("sled")) {
            Ok(store) => return store,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("could not acquire lock"), "{text}");
                std::thread::yield_now();
            }
        }
    }
}

/// The single file of the log.
pub(crate) fn log_file(path: &Path) -> std::path::PathBuf {
    path.join("log").join("0000000000000001.log")
}
