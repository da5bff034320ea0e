//! Verifies an exported file by itself.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use uuid::Uuid;

use super::Report;
use super::streams::Streams;
use crate::export::{ObjectLine, Trailer, TrailerLine};
use crate::merkle::Tree;
use crate::{Error, Hash, Record};

/// Verifies an exported file: chains, objects, and the trailer that says what a complete file holds.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; everything else is a finding of the report.
pub fn export(mut reader: impl BufRead) -> Result<Report, Error> {
    let mut check = Check::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .read_until(b'\n', &mut line)
            .map_err(Error::io("read the export"))?;
        if read == 0 {
            break;
        }
        let ended = line.pop_if(|byte| *byte == b'\n').is_some();
        check.line(&line, ended);
    }
    Ok(check.report())
}

#[derive(Default)]
struct Check {
    streams: Streams,
    tree: Tree,
    objects: HashSet<Hash>,
    object_lines: u64,
    trailer: Option<Trailer>,
    number: u64,
    /// The stream and seq of the last record.
    place: Option<(Uuid, u64)>,
    /// What is wrong with objects, until the record comes that they belong to.
    about_objects: Vec<String>,
}

impl Check {
    fn line(&mut self, line: &[u8], ended: bool) {
        self.number += 1;
        let number = self.number;
        if self.trailer.is_some() {
            self.streams.find(
                None,
                None,
                format!("line {number} stands behind the trailer"),
            );
        }
        if line.starts_with(b"{\"object\":") {
            self.object(line);
        } else if line.starts_with(b"{\"trailer\":") {
            match serde_json::from_slice::<TrailerLine>(line) {
                Ok(found) if ended => self.trailer = Some(found.trailer),
                Ok(_) => self
                    .streams
                    .find(None, None, "the trailer has no line end".to_owned()),
                Err(error) => {
                    self.streams
                        .find(None, None, format!("the trailer cannot be read: {error}"))
                }
            }
        } else {
            self.record(line);
        }
    }

    fn record(&mut self, line: &[u8]) {
        // What cannot be read counts as the record that should stand here.
        let guess = self
            .place
            .map_or((Uuid::nil(), 1), |(session, seq)| (session, seq + 1));
        let leaf = Hash::of_line(line);
        self.tree.push(leaf);
        let (session, seq) = match Record::parse(line) {
            Ok(record) => {
                if let Some((last, _)) = self.place.filter(|(last, _)| record.session < *last) {
                    let what =
                        format!("the record stands behind session {last}, which comes later");
                    self.streams
                        .find(Some(record.session), Some(record.seq), what);
                }
                self.streams.record(&record, leaf);
                (record.session, record.seq)
            }
            Err(malformed) => {
                let what = format!("line {}: {malformed}", self.number);
                match self.place {
                    Some(_) => self.streams.unreadable(guess.0, guess.1, what),
                    None => self.streams.find(None, None, what),
                }
                guess
            }
        };
        for what in self.about_objects.drain(..) {
            self.streams.find(Some(session), Some(seq), what);
        }
        self.place = Some((session, seq));
    }

    fn object(&mut self, line: &[u8]) {
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
                let actual = Hash::of_object(&bytes);
                if actual == found.object {
                    Ok(actual)
                } else {
                    Err(format!("object {} hashes to {actual}", found.object))
                }
            });
        match found {
            Ok(hash) if self.objects.insert(hash) => {}
            Ok(hash) => self
                .about_objects
                .push(format!("line {}: object {hash} comes twice", self.number)),
            Err(what) => self.about_objects.push(format!(
                "line {}: the object before this record is altered: {what}",
                self.number
            )),
        }
    }

    fn report(mut self) -> Report {
        for what in std::mem::take(&mut self.about_objects) {
            self.streams.find(None, None, what);
        }
        let root = self.tree.root();
        match self.trailer.take() {
            Some(trailer) => self.compare(&trailer, root),
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
        let heads = self.streams.heads();
        let sessions = heads.keys().filter(|session| !session.is_nil()).count() as u64;
        Report {
            records: self.streams.records,
            sessions,
            objects: self.objects.len() as u64,
            root,
            heads,
            findings: self.streams.findings,
            notes: Vec::new(),
        }
    }

    fn compare(&mut self, trailer: &Trailer, root: Hash) {
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
        differ("records", records.to_string(), trailer.records.to_string());
    }
}
