//! Reads a log that may be damaged: takes everything that can be read and notes everything that is wrong.

use std::collections::BTreeMap;
use std::io;

use super::Finding;
use super::streams::Streams;
use crate::index::{Expected, Index};
use crate::log::disk::DiskFile;
use crate::log::{Bad, Entry, Header, LogReader, SEGMENT_HEADER, Step, Written, split_entries};
use crate::open_work::OpenWork;
use crate::store::system;
use crate::{Hash, Record};

/// What reading gave.
pub(crate) struct Survey<'i> {
    pub(crate) streams: Streams,
    pub(crate) expected: Expected,
    pub(crate) work: OpenWork,
    pub(crate) notes: Vec<String>,
    pub(crate) clean: bool,
    pub(crate) last: Written,
    index: Option<(&'i Index, Written)>,
    /// Whether the checksum of the frame before is known.
    chained: bool,
}

/// Reads a segment from front to back; with an index, compares with it up to its mark.
pub(crate) fn of_log<'i>(
    file: &mut dyn DiskFile,
    index: Option<(&'i Index, Written)>,
) -> io::Result<Survey<'i>> {
    let mut survey = Survey {
        streams: Streams::default(),
        expected: Expected::default(),
        work: OpenWork::default(),
        notes: Vec::new(),
        clean: false,
        last: Written {
            number: 0,
            checksum: 0,
            end: SEGMENT_HEADER,
        },
        index,
        chained: true,
    };
    let mut reader = LogReader::new(file)?;
    loop {
        match reader.step()? {
            Step::Frame {
                header,
                checksum,
                end,
                payload,
            } => {
                survey.place(&header, &payload);
                survey.entries(header.number, &payload);
                survey.last = Written {
                    number: header.number,
                    checksum,
                    end,
                };
                survey.chained = true;
            }
            Step::Bad(bad) => match bad.next {
                Some(next) => {
                    survey.bad(&bad);
                    reader.seek(next);
                }
                None => {
                    survey.tail(&bad, reader.length());
                    break;
                }
            },
            Step::End => break,
        }
    }
    survey.compare();
    Ok(survey)
}

impl Survey<'_> {
    /// Everything that is wrong.
    pub(crate) fn findings(self) -> Vec<Finding> {
        self.streams.findings
    }

    /// Checks a frame's number and chain against the frame before.
    fn place(&mut self, header: &Header, payload: &[u8]) {
        let expected = self.last.number + 1;
        let chained = !self.chained || header.chain == self.last.checksum;
        if header.number != expected || !chained {
            let first = split_entries(payload).find_map(|(body, _)| Entry::decode(body));
            let (session, seq) = (
                first.as_ref().map(|entry| entry.session),
                first.as_ref().map(|entry| entry.first),
            );
            let found = if header.number == expected {
                "another history's frame"
            } else {
                "frame"
            };
            self.streams.find(
                session,
                seq,
                format!(
                    "{found} {} of the log stands where frame {expected} should",
                    header.number
                ),
            );
        }
        if let Some((_, mark)) = self.index.filter(|(_, mark)| mark.number == header.number) {
            let (_, checksum) = header.encode();
            if checksum != mark.checksum {
                let what = format!(
                    "frame {} of the log is not the one the index was filled from",
                    header.number
                );
                self.streams.find(None, None, what);
            }
        }
    }

    /// Takes the appends of a frame, sound or not.
    fn entries(&mut self, number: u64, payload: &[u8]) {
        for (body, intact) in split_entries(payload) {
            match Entry::decode(body) {
                Some(entry) => self.entry(number, &entry, intact),
                None => self.streams.find(
                    None,
                    None,
                    format!("an append of frame {number} of the log cannot be read"),
                ),
            }
        }
    }

    fn entry(&mut self, number: u64, entry: &Entry<'_>, intact: bool) {
        let Entry { session, first, .. } = *entry;
        let before = self.streams.findings.len();
        for (line, seq) in entry.lines.iter().zip(first..) {
            match Record::parse(line) {
                Ok(record) if record.session == session && record.seq == seq => {
                    self.streams.record(&record, Hash::of_line(line));
                    self.clean = session.is_nil() && record.kind == system::CLOSED;
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
        for (hash, bytes) in &entry.objects {
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
                records(first, entry.last())
            );
            self.streams.find(Some(session), Some(first), what);
        }
        let sound = before == self.streams.findings.len();
        if let Some((index, _)) = self
            .index
            .filter(|(index, mark)| sound && number <= mark.number && !index.holds(entry))
        {
            let _compared: &Index = index;
            let what = format!(
                "the index does not hold {} as the log does",
                records(first, entry.last())
            );
            self.streams.find(Some(session), Some(first), what);
        }
        self.expected.add(entry);
        entry.work.iter().for_each(|change| {
            self.work.apply(change);
        });
    }

    /// Takes what can be taken of a frame that is not sound.
    fn bad(&mut self, bad: &Bad) {
        if let Some((header, checksum)) = bad.header {
            let before = self.streams.findings.len();
            self.place(&header, &bad.payload);
            self.entries(header.number, &bad.payload);
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
                end: bad.at,
            };
            self.chained = true;
            return;
        }
        // Only the header may be bad; then the appends behind it hold their own checksums.
        let number = self.last.number + 1;
        let whole = |(body, intact): (_, bool)| if intact { Entry::decode(body) } else { None };
        let entries: Vec<Entry<'_>> = split_entries(&bad.payload).map_while(whole).collect();
        let named = entries.first().map(|entry| (entry.session, entry.first));
        let what = format!(
            "the header of frame {number} of the log, at byte {}, does not hold its checksum",
            bad.at
        );
        self.streams.find(
            named.map(|(session, _)| session),
            named.map(|(_, seq)| seq),
            what,
        );
        entries
            .iter()
            .for_each(|entry| self.entry(number, entry, true));
        self.last = Written {
            number,
            checksum: 0,
            end: bad.at,
        };
        self.chained = false;
    }

    /// What stands at the end is damage if the index knows of it, else a write that was never acknowledged.
    fn tail(&mut self, bad: &Bad, length: u64) {
        if self
            .index
            .is_some_and(|(_, mark)| mark.number > self.last.number)
        {
            self.bad(bad);
        } else {
            let bytes = length - bad.at;
            self.notes.push(format!("the log ends with {bytes} bytes of a write that was not finished; the next opening cuts them off"));
        }
    }

    fn compare(&mut self) {
        let Some((index, mark)) = self.index else {
            return;
        };
        let heads: BTreeMap<_, _> = match index.heads() {
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
        if mark.number > self.last.number {
            let what = format!(
                "the log ends at frame {}, the index was filled up to frame {}",
                self.last.number, mark.number
            );
            self.streams.find(None, None, what);
        } else if self.streams.findings.is_empty() && mark.number == self.last.number {
            let heads = self.streams.heads();
            if let Err(what) = index.check(&self.expected, &heads, &self.work) {
                self.streams.find(
                    None,
                    None,
                    format!("the index is not what the log says: {what}"),
                );
            }
        }
    }
}

/// The records of an append in words.
fn records(first: u64, last: u64) -> String {
    if first == last {
        format!("record {first}")
    } else {
        format!("records {first} to {last}")
    }
}
