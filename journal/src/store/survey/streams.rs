//! The check of every stream's chain of hashes, with records in any order. It notes each break.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::finding::Finding;
use crate::tree::Frontier;
use crate::{Hash, Head, Record};

/// The streams as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) findings: Vec<Finding>,
    pub(crate) records: u64,
    /// The earliest and the latest time of a record.
    pub(crate) span_us: Option<(i64, i64)>,
    /// The tree over all records, in the order in which they were read.
    pub(crate) tree: Frontier,
    streams: BTreeMap<Uuid, Stream>,
}

#[derive(Debug)]
struct Stream {
    seq: u64,
    /// `None` after an unreadable record.
    hash: Option<Hash>,
    at_us: i64,
    leaves: Vec<Hash>,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            seq: 0,
            hash: Some(Hash::ZERO),
            at_us: i64::MIN,
            leaves: Vec::new(),
        }
    }
}

impl Streams {
    /// Takes the next record.
    pub(crate) fn record(&mut self, record: &Record<'_>, leaf: Hash) {
        let Record { session, seq, .. } = *record;
        let stream = self.streams.entry(session).or_default();
        let mut find = |seq: u64, what: String| {
            self.findings.push(Finding {
                session: Some(session),
                seq: Some(seq),
                what,
            });
        };
        let expected = stream.seq + 1;
        self.records += 1;
        let (first, last) = self.span_us.unwrap_or((record.at_us, record.at_us));
        self.span_us = Some((first.min(record.at_us), last.max(record.at_us)));
        stream.leaves.push(leaf);
        self.tree.push(leaf);
        if seq < expected {
            find(
                seq,
                format!("the record stands behind record {}", stream.seq),
            );
            return;
        }
        if seq > expected {
            let missing = if seq == expected + 1 {
                format!("record {expected} is missing")
            } else {
                format!("records {expected} to {} are missing", seq - 1)
            };
            find(expected, format!("{missing}, record {seq} stands there"));
        } else if let Some(hash) = stream.hash.filter(|hash| *hash != record.prev) {
            let altered = stream.seq.max(1);
            find(
                altered,
                format!(
                    "the record hashes to {hash}, record {seq} names {}: one of them was altered",
                    record.prev
                ),
            );
        }
        if record.at_us < stream.at_us {
            find(
                seq,
                "its time is before that of the record before".to_owned(),
            );
        }
        (stream.seq, stream.hash, stream.at_us) = (seq, Some(leaf), record.at_us.max(stream.at_us));
    }

    /// Notes an unreadable record.
    pub(crate) fn unreadable(&mut self, session: Uuid, seq: u64, what: String) {
        self.find(Some(session), Some(seq), what);
        let stream = self.streams.entry(session).or_default();
        if seq == stream.seq + 1 {
            (stream.seq, stream.hash) = (seq, None);
        }
    }

    /// Notes a fault.
    pub(crate) fn find(&mut self, session: Option<Uuid>, seq: Option<u64>, what: String) {
        self.findings.push(Finding { session, seq, what });
    }

    /// Compares with the heads of a witness.
    pub(crate) fn compare(&mut self, heads: &BTreeMap<Uuid, (u64, Hash)>, witness: &str) {
        for (session, (seq, hash)) in heads {
            let (found, found_hash) = self
                .streams
                .get(session)
                .map_or((0, None), |stream| (stream.seq, stream.hash));
            let (at, what) = if found == 0 {
                (
                    1,
                    format!("the session is gone, {witness} knows its records up to {seq}"),
                )
            } else if found < *seq {
                (
                    found + 1,
                    format!(
                        "the session ends at record {found}, \
                         {witness} knows its records up to {seq}"
                    ),
                )
            } else if found == *seq && found_hash.is_some_and(|found| found != *hash) {
                (
                    *seq,
                    format!("the last record does not have the hash that {witness} knows"),
                )
            } else {
                continue;
            };
            self.find(Some(*session), Some(at), what);
        }
    }

    /// Returns the heads of all streams.
    pub(crate) fn heads(&self) -> BTreeMap<Uuid, Head> {
        let head = |stream: &Stream| Head {
            seq: stream.seq,
            hash: stream.hash.unwrap_or(Hash::ZERO),
            at_us: stream.at_us,
        };
        self.streams
            .iter()
            .map(|(session, stream)| (*session, head(stream)))
            .collect()
    }

    /// Returns the root of the tree over all records, stream after stream in the order of their
    /// ids.
    pub(crate) fn root_by_stream(&self) -> Hash {
        let leaves = self.streams.values().flat_map(|it| it.leaves.iter());
        leaves.copied().collect::<Frontier>().root()
    }
}
