//! The check of an exported file, line by line.

use std::collections::{BTreeMap, HashSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::report::Report;
use crate::records::export_lines::{
    FORMAT, LeafLine, ObjectLine, SubtreeLine, Trailer, TrailerLine, WithheldLine,
};
use crate::records::line::Place;
use crate::store::survey::{Finding, Streams};
use crate::{Hash, Object, Record};

pub(super) const OBJECT: &[u8] = b"{\"object\":";
pub(super) const TRAILER: &[u8] = b"{\"trailer\":";
const LEAF: &[u8] = b"{\"leaf\":";
const WITHHELD: &[u8] = b"{\"withheld\":";
const SUBTREE: &[u8] = b"{\"subtree\":";

/// The kind of a line.
pub(crate) enum Seen {
    /// A record, its place, and its leaf hash.
    Record(Place, Hash),
    Object(Object),
    /// A record of which only the hash is there.
    Withheld,
    /// Leaves that are not there.
    Subtree,
    /// The index of the next leaf, the trailer, or a fault.
    Other,
}

/// The order of the records in the file.
#[derive(Clone, Copy, Default)]
enum Order {
    /// Stream after stream: format 1.
    #[default]
    Streams,
    /// That of the log: format 2.
    Log {
        /// The index of the next leaf.
        next: u64,
        /// True if the file has all leaves before it.
        is_whole: bool,
    },
}

/// A check that reads each line once.
#[derive(Default)]
pub(crate) struct Check {
    streams: Streams,
    order: Order,
    withheld: u64,
    objects: HashSet<Hash>,
    object_lines: u64,
    trailer: Option<Trailer>,
    number: u64,
    /// The stream and seq of the last record.
    place: Option<(Uuid, u64)>,
    /// The faults of objects, until the record that follows them.
    about_objects: Vec<String>,
}

impl Check {
    /// The first fault so far.
    pub(crate) fn finding(&self) -> Option<&Finding> {
        self.streams.findings.first()
    }

    /// True if the file is of format 1, in which the journal's own stream precedes the sessions.
    pub(crate) fn is_by_stream(&self) -> bool {
        match self.order {
            Order::Streams => true,
            Order::Log { .. } => false,
        }
    }

    /// Notes that the rest of the file cannot be read.
    pub(super) fn ends_unread(&mut self, what: String) {
        let (session, seq) = self.place.unzip();
        let what = format!("line {}: {what}", self.number + 1);
        self.streams.find(session, seq.map(|seq| seq + 1), what);
    }

    /// Checks the next line. `names` returns the objects of a record.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        ended: bool,
        names: &mut impl FnMut(&Record<'_>) -> Vec<Hash>,
    ) -> Seen {
        self.number += 1;
        if self.trailer.is_some() {
            self.fault(format!("line {} stands behind the trailer", self.number));
        }
        if line.starts_with(OBJECT) {
            return self.object(line).map_or(Seen::Other, Seen::Object);
        } else if line.starts_with(LEAF) {
            if let Some(LeafLine { leaf }) = self.read(line) {
                self.at(leaf);
            }
        } else if line.starts_with(WITHHELD) {
            return self.withheld(line);
        } else if line.starts_with(SUBTREE) {
            return self.subtree(line);
        } else if !line.starts_with(TRAILER) {
            return self.record(line, names);
        } else if !ended {
            self.fault("the trailer has no line end".to_owned());
        } else if let Some(TrailerLine { trailer }) = self.read(line) {
            self.trailer = Some(trailer);
        }
        Seen::Other
    }

    fn fault(&mut self, what: String) {
        self.streams.find(None, None, what);
    }

    /// Reads a line that is no record.
    fn read<T: DeserializeOwned>(&mut self, line: &[u8]) -> Option<T> {
        serde_json::from_slice(line)
            .map_err(|error| self.fault(format!("line {} cannot be read: {error}", self.number)))
            .ok()
    }

    /// Takes the index of the next leaf. The first line of a file of format 2 has one.
    fn at(&mut self, leaf: u64) {
        let (next, is_whole) = match self.order {
            Order::Streams if self.number == 1 => (0, true),
            Order::Log { next, is_whole } => (next, is_whole),
            Order::Streams => {
                let what = "has the index of a leaf, but the first line has none";
                return self.fault(format!("line {} {what}", self.number));
            }
        };
        if leaf < next {
            let number = self.number;
            self.fault(format!(
                "line {number}: leaf {leaf} stands where leaf {next} should"
            ));
        }
        self.order = Order::Log {
            next: leaf,
            is_whole: is_whole && leaf == next,
        };
    }

    /// Counts the next leaves.
    fn pass(&mut self, leaves: u64) {
        if let Order::Log { next, .. } = &mut self.order {
            *next = next.saturating_add(leaves);
        }
    }

    fn record(&mut self, line: &[u8], names: &mut impl FnMut(&Record<'_>) -> Vec<Hash>) -> Seen {
        let leaf = Hash::of_line(line);
        match Record::parse(line) {
            Ok(record) => {
                self.take(&record, leaf);
                let names = names(&record);
                let missing = names.into_iter().filter(|it| !self.objects.contains(it));
                self.about_objects.extend(missing.map(|hash| {
                    format!("the record names object {hash}, which does not stand before it")
                }));
                self.end_record(Some((record.session, record.seq)));
                Seen::Record(Place::of(&record), leaf)
            }
            Err(malformed) => {
                self.unreadable(format!("line {}: {malformed}", self.number));
                Seen::Other
            }
        }
    }

    fn withheld(&mut self, line: &[u8]) -> Seen {
        self.withheld += 1;
        if self.is_by_stream() {
            self.fault(format!(
                "line {} is of format 2, the first one is not",
                self.number
            ));
        }
        let Some(WithheldLine { withheld }) = self.read(line) else {
            return Seen::Withheld;
        };
        match Record::parse(withheld.record.get().as_bytes()) {
            Ok(record) => {
                self.take(&record, withheld.hash);
                self.end_record(Some((record.session, record.seq)));
            }
            Err(malformed) => self.unreadable(format!("line {}: {malformed}", self.number)),
        }
        Seen::Withheld
    }

    fn subtree(&mut self, line: &[u8]) -> Seen {
        let is_whole = match self.order {
            Order::Streams => false,
            Order::Log { is_whole, .. } => is_whole,
        };
        if let Some(SubtreeLine { subtree }) = self.read(line) {
            let (leaves, number) = (subtree.leaves, self.number);
            if !is_whole || !self.streams.tree.push_subtree(leaves, subtree.hash) {
                self.fault(format!(
                    "line {number}: no subtree of {leaves} leaves begins here"
                ));
            }
            self.pass(leaves);
        }
        Seen::Subtree
    }

    /// Takes the next record of a stream.
    fn take(&mut self, record: &Record<'_>, leaf: Hash) {
        if self.is_by_stream()
            && let Some((last, _)) = self.place.filter(|(last, _)| record.session < *last)
        {
            let what = format!("the record stands behind session {last}, which comes later");
            self.streams
                .find(Some(record.session), Some(record.seq), what);
        }
        self.streams.record(record, leaf);
        self.pass(1);
    }

    /// Notes a line that is no record.
    fn unreadable(&mut self, what: String) {
        self.pass(1);
        match (self.order, self.place) {
            // It is probably the next record of the stream.
            (Order::Streams, Some((session, seq))) => {
                self.streams.unreadable(session, seq + 1, what);
                self.end_record(Some((session, seq + 1)));
            }
            (Order::Log { .. }, Some((session, seq))) => {
                self.streams.find(Some(session), Some(seq + 1), what);
                self.end_record(Some((session, seq + 1)));
            }
            (Order::Streams | Order::Log { .. }, None) => {
                self.fault(what);
                self.end_record(None);
            }
        }
    }

    /// Notes the faults of objects at the record behind them.
    fn end_record(&mut self, place: Option<(Uuid, u64)>) {
        let (session, seq) = place.unzip();
        for what in self.about_objects.drain(..) {
            self.streams.find(session, seq, what);
        }
        self.place = place.or(self.place);
    }

    fn object(&mut self, line: &[u8]) -> Option<Object> {
        self.object_lines += 1;
        let found = serde_json::from_slice::<ObjectLine>(line)
            .map_err(|error| error.to_string())
            .and_then(|found| {
                let bytes = match (found.text, found.base64) {
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(base64)) => BASE64_STANDARD
                        .decode(base64)
                        .map_err(|error| error.to_string())?,
                    (None, None) | (Some(_), Some(_)) => {
                        return Err("expected either text or base64".to_owned());
                    }
                };
                let object = Object::new(bytes);
                if object.hash == found.object {
                    Ok(object)
                } else {
                    Err(format!("object {} hashes to {}", found.object, object.hash))
                }
            });
        let what = match found {
            Ok(object) if self.objects.insert(object.hash) => return Some(object),
            Ok(object) => format!("line {}: object {} comes twice", self.number, object.hash),
            Err(what) => format!(
                "line {}: the object before this record is altered: {what}",
                self.number
            ),
        };
        self.about_objects.push(what);
        None
    }

    /// Compares the lines with the trailer, and returns the report.
    pub(crate) fn report(mut self) -> Report {
        for what in std::mem::take(&mut self.about_objects) {
            self.fault(what);
        }
        match self.trailer.take() {
            Some(trailer) => self.compare(&trailer),
            None => {
                let (session, seq) = self.place.unzip();
                let seq = seq.map(|seq| seq + 1);
                self.streams.find(
                    session,
                    seq,
                    "the file is cut off here: it has no trailer".to_owned(),
                );
            }
        }
        let size = self.size();
        Report {
            objects: self.objects.len() as u64,
            size,
            withheld: self.withheld,
            ..Report::of(self.streams)
        }
    }

    /// The number of leaves, if the file has all from the first one.
    fn size(&self) -> Option<u64> {
        match self.order {
            Order::Streams => None,
            Order::Log { next, is_whole } => is_whole.then_some(next),
        }
    }

    fn compare(&mut self, trailer: &Trailer) {
        if trailer.format > FORMAT {
            return self.fault(format!(
                "the file has format {}, this program reads up to {FORMAT}",
                trailer.format
            ));
        }
        let format = if self.is_by_stream() { 1 } else { FORMAT };
        let root = self.streams.tree.root();
        let size = self.size();
        let heads: BTreeMap<_, _> = trailer
            .heads
            .iter()
            .map(|(session, head)| (*session, (head.seq, head.hash)))
            .collect();
        self.streams.compare(&heads, "the trailer");
        for (session, head) in self.streams.heads() {
            let known = trailer.heads.get(&session).map_or(0, |known| known.seq);
            if head.seq > known {
                let what = format!(
                    "the session ends at record {}, the trailer knows its records up to {known}",
                    head.seq
                );
                self.streams.find(Some(session), Some(known + 1), what);
            }
        }
        let records = self.streams.records;
        let mut differ = |what: &str, found: String, known: String| {
            if found != known {
                self.streams.find(
                    None,
                    None,
                    format!("the file has {what} {found}, the trailer says {known}"),
                );
            }
        };
        differ("root", root.to_string(), trailer.root.to_string());
        differ(
            "objects",
            self.object_lines.to_string(),
            trailer.objects.to_string(),
        );
        let told = |size: Option<u64>| size.map_or("no size".to_owned(), |it| format!("size {it}"));
        if records > 0 {
            differ("format", format.to_string(), trailer.format.to_string());
            differ("all leaves:", told(size), told(trailer.size));
        }
        differ("records", records.to_string(), trailer.records.to_string());
    }
}
