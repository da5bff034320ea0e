//! The reading of a log that may be damaged: it takes everything readable, and notes every fault.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Bound;

use uuid::Uuid;

use super::finding::Finding;
use super::streams::Streams;
use crate::files::disk::Disk;
use crate::index::{Index, Walk, refused_by_disk};
use crate::log::segments::misplaced;
use crate::log::{
    Bad, FrameBytes, FramePlace, Header, LogReader, LoggedAppend, Place, SegmentHeader, Step,
    Written, segment_name,
};
use crate::store::directory::closed::NotedEnd;
use crate::store::system;
use crate::view::{Added, View};
use crate::{Hash, Head, Record};

/// The result of a survey.
pub(crate) struct Survey<'i> {
    pub(crate) streams: Streams,
    pub(crate) objects: HashSet<Hash>,
    pub(crate) notes: Vec<String>,
    pub(crate) clean: bool,
    pub(crate) last: Written,
    /// The noted end of the last close.
    pub(crate) noted: NotedEnd,
    view: View,
    index: Option<Witness<'i>>,
    /// True if the checksum of the previous frame is known.
    chained: bool,
}

/// The index, and the progress of its comparison.
struct Witness<'i> {
    index: &'i Index,
    mark: Written,
    /// The last frame that it contains or covers.
    known: u64,
    walk: Walk,
}

/// Reads all segments in order, and compares them with an index up to its mark.
pub(crate) fn of_log<'i>(
    disk: &dyn Disk,
    journal: Uuid,
    index: Option<(&'i Index, Written)>,
    noted: NotedEnd,
) -> io::Result<Survey<'i>> {
    let mut survey = Survey {
        streams: Streams::default(),
        objects: HashSet::new(),
        notes: Vec::new(),
        clean: false,
        last: Written::NOTHING,
        noted,
        view: View::empty(),
        index: index.map(|(index, mark)| Witness {
            index,
            mark,
            known: index.last_frame().unwrap_or(0).max(mark.number),
            walk: index.walk(),
        }),
        chained: true,
    };
    let names = survey.names(disk)?;
    if names.is_empty() {
        survey
            .streams
            .find(None, None, "the log is missing".to_owned());
    }
    for (number, name) in &names {
        let mut reader = LogReader::new(disk.open(name, false)?)?;
        let is_last = names.last().is_some_and(|(last, _)| last == number);
        survey.segment(journal, *number, is_last, &mut reader)?;
    }
    survey.compare();
    Ok(survey)
}

/// The finding of an index that lacks frames of a closed log.
pub(crate) const BEHIND: &str = "the index is behind the log although the journal was closed";

impl Survey<'_> {
    /// True if the log ends with the record of a close, and the mark of the index is before it.
    pub(crate) fn is_behind(&self, mark: Option<Written>) -> bool {
        self.clean && mark.is_some_and(|mark| mark.number < self.last.number)
    }

    /// The error of the disk that prevented reading the index, if there was one.
    pub(crate) fn refused_by_disk(&self) -> Option<io::Error> {
        let findings = self.streams.findings.iter();
        findings
            .map(|it| &it.what)
            .find_map(|it| refused_by_disk(it))
    }

    /// Returns all faults.
    pub(crate) fn findings(self) -> Vec<Finding> {
        self.streams.findings
    }

    /// Returns the segments in order, and notes the files that do not belong to them.
    fn names(&mut self, disk: &dyn Disk) -> io::Result<Vec<(u64, String)>> {
        let mut names: Vec<(u64, String)> = Vec::new();
        for name in disk.list()? {
            let number = name
                .strip_suffix(".log")
                .and_then(|digits| digits.parse().ok())
                .filter(|number| segment_name(*number) == name);
            let expected = names.last().map_or(1, |(last, _)| last + 1);
            let Some(number) = number else {
                let what = format!("the log has a file {name} that does not belong there");
                self.streams.find(None, None, what);
                continue;
            };
            if number != expected {
                let what = format!("segment {expected} of the log is missing");
                self.streams.find(None, None, what);
            }
            names.push((number, name));
        }
        Ok(names)
    }

    fn segment(
        &mut self,
        journal: Uuid,
        number: u64,
        is_last: bool,
        reader: &mut LogReader,
    ) -> io::Result<()> {
        let expected = SegmentHeader::after(journal, self.last);
        let found = reader.header()?;
        let has_frames = reader.has_frames()?;
        if found.is_none() && !has_frames && is_last {
            // A prepared segment that was never used. Or the only segment was emptied, which the
            // comparison with the index shows.
            if number == 1 {
                self.streams
                    .find(None, None, misplaced(number, None, &expected));
            }
            return Ok(());
        }
        if found != Some(expected) && (self.chained || found.is_none()) {
            self.streams
                .find(None, None, misplaced(number, found, &expected));
        }
        self.last.segment = number;
        loop {
            match reader.step()? {
                Step::Frame {
                    header,
                    checksum,
                    end,
                    frame_bytes,
                } => {
                    self.place(&header, &frame_bytes);
                    self.last = Written {
                        number: header.number,
                        checksum,
                        end,
                        ..self.last
                    };
                    self.noted.see(self.last);
                    self.view.last = self.last;
                    self.appends(&frame_bytes);
                    self.witness(&frame_bytes);
                    self.chained = true;
                }
                Step::Bad(bad) => match bad.next {
                    Some(next) => {
                        self.bad(&bad);
                        reader.seek(next);
                    }
                    None if is_last => {
                        self.tail(&bad, reader.length());
                        return Ok(());
                    }
                    None => {
                        self.bad(&bad);
                        return Ok(());
                    }
                },
                Step::End => return Ok(()),
            }
        }
    }

    /// Checks a frame's number and chain against the previous frame.
    fn place(&mut self, header: &Header, frame_bytes: &FrameBytes) {
        let expected = self.last.number + 1;
        let chained = !self.chained || header.chain == self.last.checksum;
        if header.number == expected && chained {
            return;
        }
        let first = frame_bytes.appends().find_map(|(_, body, _)| {
            LoggedAppend::decode(body).map(|append| (append.session, append.first))
        });
        let (session, seq) = first.unzip();
        let found = if header.number == expected {
            "another history's frame"
        } else {
            "frame"
        };
        let what = format!(
            "{found} {} of the log stands where frame {expected} should",
            header.number
        );
        self.streams.find(session, seq, what);
    }

    /// Compares a frame that was just read with the index.
    fn witness(&mut self, frame_bytes: &FrameBytes) {
        let last = self.last;
        let Some(witness) = self.index.as_mut() else {
            return;
        };
        if last.number > witness.mark.number {
            return;
        }
        if last.number == witness.mark.number && last != witness.mark {
            let what = format!(
                "frame {} of the log is not the one the index was filled from",
                last.number
            );
            self.streams.find(None, None, what);
            return;
        }
        if !witness.walk.holds(last.number, frame_bytes) {
            // A complete frame of the index that differs proves a fault of the log. Otherwise the
            // index is at fault.
            let kept = witness.index.frame_bytes(last.number).ok().flatten();
            let (frame_bytes, what) = match kept.as_ref().filter(|kept| kept.0 != frame_bytes.0) {
                Some(kept) => (kept, "the log does not hold this as the index does"),
                None => (frame_bytes, "the index does not hold this as the log does"),
            };
            let first = frame_bytes
                .appends()
                .find_map(|(_, body, _)| LoggedAppend::decode(body));
            let (session, seq) = first.map(|append| (append.session, append.first)).unzip();
            self.streams
                .find(session, seq, format!("{what}, in frame {}", last.number));
        }
        if last.number == witness.mark.number && self.streams.findings.is_empty() {
            if let Err(what) = witness.index.check(self.view.changed_rows()) {
                let what = format!("the index is not what the log says: {what}");
                self.streams.find(None, None, what);
            }
            self.view.flushed();
        }
    }

    /// Takes the appends of a frame, sound or not.
    fn appends(&mut self, frame_bytes: &FrameBytes) {
        let number = self.view.last.number;
        let frame = self.view.last.frame(frame_bytes);
        for (place, body, intact) in frame_bytes.appends() {
            match LoggedAppend::decode(body) {
                Some(append) => self.append(frame, place, &append, intact),
                None => self.streams.find(
                    None,
                    None,
                    format!("an append of frame {number} of the log cannot be read"),
                ),
            }
        }
    }

    fn append(&mut self, frame: FramePlace, place: Place, append: &LoggedAppend<'_>, intact: bool) {
        let LoggedAppend { session, first, .. } = *append;
        let before = self.streams.findings.len();
        let mut head = None;
        for (line, seq) in append.lines.iter().zip(first..) {
            match Record::parse(line) {
                Ok(record) if record.session == session && record.seq == seq => {
                    let hash = Hash::of_line(line);
                    self.streams.record(&record, hash);
                    self.clean = session.is_nil() && record.kind == system::CLOSED;
                    head = Some(Head {
                        seq,
                        hash,
                        at_us: record.at_us,
                    });
                }
                Ok(record) => {
                    let what = format!(
                        "the record says session {} seq {}",
                        record.session, record.seq
                    );
                    self.streams.unreadable(session, seq, what);
                }
                Err(malformed) => self.streams.unreadable(session, seq, malformed.to_string()),
            }
        }
        for (hash, _, bytes) in &append.objects {
            self.objects.insert(*hash);
            if Hash::of_object(bytes) != *hash {
                self.streams.find(
                    Some(session),
                    Some(first),
                    format!("object {hash} does not hash to its address"),
                );
            }
        }
        if !intact && before == self.streams.findings.len() {
            let what = format!(
                "{} and what belongs there do not hold their checksum",
                records(first, append.last())
            );
            self.streams.find(Some(session), Some(first), what);
        }
        if let Some(head) = head {
            // Nothing is fetched from an index here, so this cannot fail.
            let _infallible = self.view.add(frame, place, &Added::of(append, head), None);
        }
    }

    /// Takes the readable parts of a frame that is not sound.
    fn bad(&mut self, bad: &Bad) {
        let segment = self.last.segment;
        if let Some((header, checksum)) = bad.header {
            let before = self.streams.findings.len();
            self.place(&header, &bad.frame_bytes);
            self.view.last.number = header.number;
            self.appends(&bad.frame_bytes);
            if before == self.streams.findings.len() {
                self.streams.find(
                    None,
                    None,
                    format!(
                        "frame {} of the log does not hold its checksum",
                        header.number
                    ),
                );
            }
            self.last = Written {
                number: header.number,
                checksum,
                segment,
                end: bad.at,
            };
            self.chained = true;
            return;
        }
        // If only the header is bad, the appends after it have valid checksums.
        let number = self.last.number + 1;
        let whole: Vec<(Place, LoggedAppend<'_>)> = bad
            .frame_bytes
            .appends()
            .map_while(|(place, body, intact)| {
                LoggedAppend::decode(body)
                    .filter(|_| intact)
                    .map(|append| (place, append))
            })
            .collect();
        let named = whole
            .first()
            .map(|(_, append)| (append.session, append.first));
        let what = format!(
            "the header of frame {number} of the log, at byte {}, does not hold its checksum",
            bad.at
        );
        let (session, seq) = named.unzip();
        self.streams.find(session, seq, what);
        let frame = self.view.last.frame(&bad.frame_bytes);
        for (place, append) in &whole {
            self.append(frame, *place, append, true);
        }
        self.last = Written {
            number,
            checksum: 0,
            segment,
            end: bad.at,
        };
        self.chained = false;
    }

    /// Judges the bytes at the end. They are damage if the index knows their frame; otherwise they
    /// are a write that was never acknowledged.
    fn tail(&mut self, bad: &Bad, length: u64) {
        let known = self.index.as_ref().map(|witness| witness.known);
        if known.is_some_and(|known| known > self.last.number) {
            self.bad(bad);
        } else {
            let bytes = length - bad.at;
            self.notes.push(format!(
                "the log ends with {bytes} bytes of a write that was not finished; \
                 the next opening cuts them off"
            ));
        }
    }

    fn compare(&mut self) {
        let Some(witness) = self.index.as_mut() else {
            return;
        };
        let mark = witness.mark;
        if self.streams.findings.is_empty() && !witness.walk.is_behind(mark.number) {
            let what = "the index has frames that the log does not have".to_owned();
            self.streams.find(None, None, what);
        }
        let heads: BTreeMap<_, _> = match witness.index.heads(Bound::Unbounded, usize::MAX) {
            Ok(heads) => heads
                .into_iter()
                .map(|(session, head)| (session, (head.seq, head.hash)))
                .collect(),
            Err(what) => {
                self.streams
                    .find(None, None, format!("the index cannot be read: {what}"));
                return;
            }
        };
        self.streams.compare(&heads, "the index");
        let known = witness.known;
        if known > self.last.number {
            let what = format!(
                "the log ends at frame {}, the index was filled up to frame {known}",
                self.last.number
            );
            self.streams.find(None, None, what);
        }
    }
}

/// Names the records of an append in a text.
fn records(first: u64, last: u64) -> String {
    if first == last {
        format!("record {first}")
    } else {
        format!("records {first} to {last}")
    }
}
