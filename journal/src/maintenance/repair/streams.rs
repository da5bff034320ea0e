//! The decision for every append whether it survives: a stream survives up to its first gap or
//! break in its chain of hashes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::report::{Hurt, ranges};
use crate::log::LoggedAppend;
use crate::store::system;
use crate::{Hash, Head, Line, Object, Record};

/// The surviving streams, and what is known of the rest.
#[derive(Default)]
pub(super) struct Streams {
    streams: BTreeMap<Uuid, Stream>,
    pub(super) records: u64,
    /// True if the last accepted append is the record of a close.
    pub(super) closed: bool,
    objects: HashSet<Hash>,
    /// The objects of appends that do not survive. Other appends may name them, too.
    orphans: HashMap<Hash, Arc<[u8]>>,
    named: BTreeSet<Hash>,
    /// The records of appends with invalid checksums, by seq.
    doubtful: Vec<(u64, Uuid, Line)>,
    /// The leaf hashes that complete lost records or the index name.
    vouched: HashSet<Hash>,
}

#[derive(Default)]
struct Stream {
    /// The leaf hash of every surviving record.
    leaves: Vec<Hash>,
    at_us: i64,
    salvaged: BTreeMap<u64, BTreeSet<Hash>>,
    /// The last record that is known from any source.
    known: u64,
}

/// The decision for an append.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    Lives,
    /// All of its records survive already.
    Twice,
    /// These lines are complete and new, but do not follow the surviving records.
    Salvaged(Vec<Line>),
}

impl Streams {
    /// Takes an append with a valid checksum. An append of another history never survives, even if
    /// it would follow.
    pub(super) fn accept(&mut self, append: &LoggedAppend<'_>, is_history: bool) -> Verdict {
        let lines: Vec<Line> = append.lines.iter().map(|line| Line::new(*line)).collect();
        let stream = self.streams.entry(append.session).or_default();
        let living = stream.leaves.len() as u64;
        if is_history
            && append.first == living + 1
            && let Some(at_us) = follows(append, &lines, stream.leaves.last())
            && append
                .objects
                .iter()
                .all(|(hash, _, bytes)| Hash::of_object(bytes) == *hash)
        {
            stream.leaves.extend(lines.iter().map(Line::leaf));
            stream.at_us = at_us.max(stream.at_us);
            stream.known = stream.known.max(append.last());
            self.records += lines.len() as u64;
            self.closed = append.session.is_nil()
                && lines.last().is_some_and(|line| {
                    line.record()
                        .is_ok_and(|record| record.kind == system::CLOSED)
                });
            let objects = append.objects.iter().map(|(hash, _, _)| *hash);
            self.objects.extend(objects);
            return Verdict::Lives;
        }
        let mut unknown = Vec::new();
        for (line, seq) in lines.into_iter().zip(append.first..) {
            if stream.lives(seq, line.leaf()) {
                continue;
            }
            stream.known = stream.known.max(seq);
            if stream.salvaged.entry(seq).or_default().insert(line.leaf()) {
                self.vouched.extend(line.record().map(|record| record.prev));
                unknown.push(line);
            }
        }
        self.keep_objects(append);
        self.closed &= unknown.is_empty();
        if unknown.is_empty() {
            Verdict::Twice
        } else {
            Verdict::Salvaged(unknown)
        }
    }

    /// Learns from an append with an invalid checksum which records existed. Returns true if it
    /// could.
    pub(super) fn broken(&mut self, append: &LoggedAppend<'_>) -> bool {
        let says_so = |(line, seq): &(&&[u8], u64)| {
            Record::parse(line)
                .is_ok_and(|record| record.session == append.session && record.seq == *seq)
        };
        let readable = append.lines.iter().zip(append.first..).filter(says_so);
        let doubtful = readable.map(|(line, seq)| (seq, append.session, Line::new(*line)));
        let before = self.doubtful.len();
        self.doubtful.extend(doubtful);
        // The session id may be the damaged part. Any record that names the same session confirms
        // it.
        let named = self.doubtful.len() > before;
        if named {
            self.known(append.session, append.last());
            self.keep_objects(append);
        }
        named
    }

    /// Returns the records of appends with invalid checksums whose successor names their hash.
    pub(super) fn proven(&mut self) -> Vec<Line> {
        let mut proven = Vec::new();
        self.doubtful
            .sort_by_key(|(seq, session, _)| (*session, *seq));
        for (seq, session, line) in self.doubtful.drain(..).rev() {
            let stream = self.streams.entry(session).or_default();
            if self.vouched.contains(&line.leaf())
                && !stream.lives(seq, line.leaf())
                && stream.salvaged.entry(seq).or_default().insert(line.leaf())
            {
                self.vouched.extend(line.record().map(|record| record.prev));
                proven.push(line);
            }
        }
        proven.reverse();
        proven
    }

    fn keep_objects(&mut self, append: &LoggedAppend<'_>) {
        for (hash, _, bytes) in &append.objects {
            self.named.insert(*hash);
            if Hash::of_object(bytes) == *hash {
                self.orphans.insert(*hash, Arc::from(*bytes));
            }
        }
    }

    /// Notes the head of a stream according to the index.
    pub(super) fn known_head(&mut self, session: Uuid, head: &Head) {
        self.known(session, head.seq);
        self.vouched.insert(head.hash);
    }

    /// Notes that a stream once had a record.
    fn known(&mut self, session: Uuid, seq: u64) {
        let stream = self.streams.entry(session).or_default();
        stream.known = stream.known.max(seq);
    }

    /// Notes that an object once existed.
    pub(super) fn known_object(&mut self, hash: Hash) {
        self.named.insert(hash);
    }

    pub(super) fn head(&self, session: Uuid) -> Option<Head> {
        let stream = self.streams.get(&session)?;
        Some(Head {
            seq: stream.leaves.len() as u64,
            hash: *stream.leaves.last()?,
            at_us: stream.at_us,
        })
    }

    pub(super) fn sessions(&self) -> u64 {
        let lives =
            |(session, stream): &(&Uuid, &Stream)| !session.is_nil() && !stream.leaves.is_empty();
        self.streams.iter().filter(lives).count() as u64
    }

    /// Returns the objects of lost appends that no other append has.
    pub(super) fn orphans(&self) -> Vec<Object> {
        let mut orphans: Vec<Object> = self
            .orphans
            .iter()
            .filter(|(hash, _)| !self.objects.contains(*hash))
            .map(|(hash, bytes)| Object {
                hash: *hash,
                bytes: Arc::clone(bytes),
            })
            .collect();
        orphans.sort_by_key(|object| object.hash);
        orphans
    }

    /// Returns the objects that are known and lost.
    pub(super) fn objects_lost(&self) -> Vec<Hash> {
        let lost = |hash: &&Hash| !self.objects.contains(hash) && !self.orphans.contains_key(hash);
        self.named.iter().filter(lost).copied().collect()
    }

    pub(super) fn hurt(&self) -> Vec<Hurt> {
        let hurt = self.streams.iter().filter_map(|(session, stream)| {
            let recovered = stream.leaves.len() as u64;
            let mut lost = Vec::new();
            let mut next = recovered + 1;
            // A known seq may be far beyond the existing ones, so it is not reached by counting.
            for seq in stream.salvaged.keys().filter(|seq| **seq > recovered) {
                lost.extend((*seq > next).then(|| (next, seq - 1)));
                next = seq.saturating_add(1);
            }
            lost.extend((stream.known >= next).then_some((next, stream.known)));
            let hurt = Hurt {
                session: *session,
                recovered,
                lost,
                salvaged: ranges(stream.salvaged.keys().copied()),
            };
            (!hurt.lost.is_empty() || !hurt.salvaged.is_empty()).then_some(hurt)
        });
        hurt.collect()
    }
}

impl Stream {
    fn lives(&self, seq: u64, leaf: Hash) -> bool {
        let at = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        seq > 0 && self.leaves.get(at) == Some(&leaf)
    }
}

/// Returns the time of the last line. `None` unless each line is the expected record and follows
/// the previous one.
fn follows(append: &LoggedAppend<'_>, lines: &[Line], last: Option<&Hash>) -> Option<i64> {
    let mut prev = last.copied().unwrap_or(Hash::ZERO);
    let mut at_us = None;
    for (line, seq) in lines.iter().zip(append.first..) {
        let record = line.record().ok()?;
        let fits = record.session == append.session && record.seq == seq && record.prev == prev;
        fits.then_some(())?;
        (prev, at_us) = (line.leaf(), Some(record.at_us));
    }
    at_us
}
