//! The writer of a file of format 2: records with their leaf indexes, and a trailer.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::records::export_lines::{
    FORMAT, LeafLine, ObjectLine, Subtree, SubtreeLine, Trailer, TrailerHead, TrailerLine,
    Withheld, WithheldLine,
};
use crate::tree::Frontier;
use crate::{Draft, Error, Hash, Line, Malformed};

/// A writer of an export, or of the records of a bundle.
///
/// The caller says with [`at`](ExportWriter::at) which leaf comes next, and then writes the objects
/// that a record names for the first time, and the record. A file whose leaves begin with index 0
/// and have no gap has the root of the journal's tree.
///
/// ```
/// use recount_journal::{Actor, Draft, ExportWriter, Hash, verify};
/// # use uuid::Uuid;
/// let session = Uuid::from_u128(1);
/// let line = Draft {
///     session, seq: 1, at_us: 0, kind: "greeted", cause: None,
///     actor: Actor::new("engine"), body: "{\"secret\":1}", prev: Hash::ZERO,
/// }.line();
/// let mut file = Vec::new();
/// let mut writer = ExportWriter::new(&mut file);
/// writer.at(0)?;
/// writer.withheld(&line, "null")?;
/// let trailer = writer.finish()?;
/// assert_eq!((trailer.root, trailer.size), (line.leaf(), Some(1)));
/// let report = verify::export(&file[..])?;
/// assert!(report.is_sound());
/// assert_eq!((report.records, report.withheld), (1, 1));
/// # Ok::<(), recount_journal::Error>(())
/// ```
pub struct ExportWriter<W> {
    out: W,
    objects: HashSet<Hash>,
    heads: BTreeMap<Uuid, TrailerHead>,
    tree: Frontier,
    records: u64,
    /// The index of the next leaf.
    next: u64,
    begun: bool,
    /// True if the file has all leaves so far.
    is_whole: bool,
}

impl<W: Write> ExportWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> Self {
        Self {
            out,
            objects: HashSet::new(),
            heads: BTreeMap::new(),
            tree: Frontier::default(),
            records: 0,
            next: 0,
            begun: false,
            is_whole: true,
        }
    }

    /// Says the index of the next leaf, which is not below those so far. The file says it only
    /// where it does not follow.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn at(&mut self, leaf: u64) -> Result<(), Error> {
        if self.begun && leaf == self.next {
            return Ok(());
        }
        self.is_whole &= leaf == self.next;
        (self.begun, self.next) = (true, leaf);
        self.json(&LeafLine { leaf })
    }

    /// True if the file has this object already.
    pub fn has_object(&self, hash: Hash) -> bool {
        self.objects.contains(&hash)
    }

    /// The head of a stream so far: its last record's seq and leaf hash.
    pub fn head(&self, session: Uuid) -> Option<TrailerHead> {
        self.heads.get(&session).copied()
    }

    /// Writes an object, unless the file has it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn object(&mut self, hash: Hash, bytes: &[u8]) -> Result<(), Error> {
        if !self.objects.insert(hash) {
            return Ok(());
        }
        let (text, base64) = match str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(bytes))),
        };
        self.json(&ObjectLine {
            object: hash,
            text,
            base64,
        })
    }

    /// Writes a record as its exact bytes.
    ///
    /// # Errors
    /// [`Error::Io`]; the line is no record.
    pub fn record(&mut self, line: &Line) -> Result<(), Error> {
        self.leaf(line)?;
        self.line(line.bytes())
    }

    /// Writes a record with another body, JSON that says what is shown of it: `null` for nothing. A
    /// reader can prove that the record is there, but not what this says.
    ///
    /// # Errors
    /// [`Error::Io`]; the line is no record, or the body is no JSON.
    pub fn withheld(&mut self, line: &Line, body: &str) -> Result<(), Error> {
        let record = line.record().map_err(no_record)?;
        let shown = Draft {
            session: record.session,
            seq: record.seq,
            at_us: record.at_us,
            kind: record.kind,
            cause: record.cause,
            actor: record.actor,
            body,
            prev: record.prev,
        };
        let shown = String::from_utf8_lossy(shown.line().bytes()).into_owned();
        let record = RawValue::from_string(shown).map_err(|error| writing()(error.into()))?;
        let hash = self.leaf(line)?;
        self.json(&WithheldLine {
            withheld: Withheld { hash, record },
        })
    }

    /// Passes over the next `leaves` leaves, of which the file has only the root of their full
    /// subtree.
    ///
    /// # Errors
    /// [`Error::Io`], also if no full subtree of so many leaves begins here.
    pub fn subtree(&mut self, leaves: u64, root: Hash) -> Result<(), Error> {
        if !self.is_whole || !self.tree.push_subtree(leaves, root) {
            let what = format!("no subtree of {leaves} leaves begins at leaf {}", self.next);
            return Err(writing()(std::io::Error::other(what)));
        }
        self.next += leaves;
        self.json(&SubtreeLine {
            subtree: Subtree { leaves, hash: root },
        })
    }

    /// Writes the trailer.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<Trailer, Error> {
        let line = TrailerLine {
            trailer: Trailer {
                format: FORMAT,
                records: self.records,
                objects: self.objects.len() as u64,
                heads: std::mem::take(&mut self.heads),
                root: self.tree.root(),
                size: self.is_whole.then_some(self.next),
            },
        };
        self.json(&line)?;
        self.out.flush().map_err(writing())?;
        Ok(line.trailer)
    }

    /// Takes the next record into the tree and its stream, and returns its leaf hash.
    fn leaf(&mut self, line: &Line) -> Result<Hash, Error> {
        let (session, seq) = match line.place() {
            Some(place) => (place.session, place.seq),
            None => {
                let record = line.record().map_err(no_record)?;
                (record.session, record.seq)
            }
        };
        let hash = line.leaf();
        self.heads.insert(session, TrailerHead { seq, hash });
        self.tree.push(hash);
        self.records += 1;
        self.next += 1;
        Ok(hash)
    }

    fn json(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let line = serde_json::to_vec(line).map_err(|error| writing()(error.into()))?;
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        let written = self.out.write_all(line);
        written
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(writing())
    }
}

fn no_record(malformed: Malformed) -> Error {
    writing()(std::io::Error::other(format!(
        "a line is no record: {malformed}"
    )))
}

fn writing() -> impl FnOnce(std::io::Error) -> Error {
    Error::io("write the export")
}
