//! The sources of each frame: complete from the log or from the index, or in pieces.

use std::collections::BTreeMap;
use std::io;

use uuid::Uuid;

use super::report::{Damage, Remedy};
use crate::files::disk::Disk;
use crate::index::Index;
use crate::log::{FrameBytes, Header, LogReader, SegmentHeader, Step, segment_name};

/// The source of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A file of the log, by its index in [`Sources::files`], and the offset in it.
    Log {
        file: usize,
        at: u64,
    },
    Index,
}

/// A complete frame with valid checksums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) checksum: u32,
    pub(super) chain: u32,
    pub(super) place: Place,
    /// The number of consecutive frames that fit after it, itself included.
    depth: u64,
}

/// Bytes that are not a sound frame but may contain sound appends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) at: u64,
    /// True if nothing follows it in the last segment, so that it may be an unfinished write.
    pub(super) is_tail: bool,
}

/// A file of the log.
pub(super) struct LogFile {
    pub(super) name: String,
    pub(super) segment: u64,
}

/// All sources.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) files: Vec<LogFile>,
    /// The complete frames by number, those of the log first.
    pub(super) whole: BTreeMap<u64, Vec<Whole>>,
    pub(super) pieces: BTreeMap<u64, Vec<Piece>>,
    pub(super) damages: Vec<Damage>,
}

impl Sources {
    /// Reads all files of the log that do not belong to another journal.
    pub(super) fn of_log(disk: &dyn Disk, journal: Uuid) -> io::Result<Self> {
        let mut sources = Self::default();
        let mut expected = 1;
        for name in disk.list()? {
            let number = name.strip_suffix(".log").and_then(|it| it.parse().ok());
            let Some(segment) = number.filter(|number| segment_name(*number) == name) else {
                let what = format!("the log has a file {name} that does not belong there");
                sources.found(None, what, Remedy::SetAside);
                continue;
            };
            if segment != expected {
                let what = format!("segment {expected} of the log is missing");
                sources.found(None, what, Remedy::Rewritten);
            }
            expected = segment + 1;
            sources.files.push(LogFile { name, segment });
        }
        let mut last = 0;
        for file in 0..sources.files.len() {
            sources.file(disk, journal, file, &mut last)?;
        }
        Ok(sources)
    }

    fn found(&mut self, frames: Option<(u64, u64)>, what: String, remedy: Remedy) {
        self.damages.push(Damage {
            frames,
            what,
            remedy,
        });
    }

    fn file(
        &mut self,
        disk: &dyn Disk,
        journal: Uuid,
        file: usize,
        last: &mut u64,
    ) -> io::Result<()> {
        let Some(LogFile { name, segment }) = self.files.get(file) else {
            return Ok(());
        };
        let (is_last, segment) = (file + 1 == self.files.len(), *segment);
        let mut reader = LogReader::new(disk.open(name, false)?)?;
        if !self.header(&mut reader, journal, segment, is_last, last)? {
            return Ok(());
        }
        let mut at = reader.offset();
        loop {
            match reader.step()? {
                Step::Frame {
                    header,
                    checksum,
                    end,
                    ..
                } => {
                    if header.number <= *last {
                        let what = format!(
                            "frame {} of the log, at byte {at} of segment {segment}, \
                             stands behind frame {last}",
                            header.number
                        );
                        let frames = Some((header.number, header.number));
                        self.found(frames, what, Remedy::Rewritten);
                    }
                    *last = header.number;
                    self.whole(header, checksum, Place::Log { file, at });
                    at = end;
                }
                Step::Bad(bad) => {
                    let number = bad.header.map_or(*last + 1, |(header, _)| header.number);
                    *last = number;
                    let piece = Piece {
                        file,
                        at: bad.at,
                        is_tail: is_last && bad.next.is_none(),
                    };
                    self.pieces.entry(number).or_default().push(piece);
                    let Some(next) = bad.next else {
                        return Ok(());
                    };
                    reader.seek(next);
                    at = next;
                }
                Step::End => return Ok(()),
            }
        }
    }

    /// Reads the header of a segment and reports its faults. Returns true if frames may follow.
    fn header(
        &mut self,
        reader: &mut LogReader,
        journal: Uuid,
        segment: u64,
        is_last: bool,
        last: &mut u64,
    ) -> io::Result<bool> {
        match reader.header()? {
            Some(SegmentHeader { journal: other, .. }) if other != journal => {
                let what = format!("segment {segment} of the log is of journal {other}");
                self.found(None, what, Remedy::SetAside);
                return Ok(false);
            }
            Some(found) if found.segment != segment => {
                let what = format!(
                    "the file of segment {segment} of the log is segment {}",
                    found.segment
                );
                self.found(None, what, Remedy::Rewritten);
            }
            Some(found) => *last = found.first.saturating_sub(1).max(*last),
            None if is_last && !reader.has_frames()? => return Ok(false),
            None => {
                let what = format!(
                    "the header of segment {segment} of the log does not hold its checksum"
                );
                self.found(None, what, Remedy::Rewritten);
            }
        }
        Ok(true)
    }

    fn whole(&mut self, header: Header, checksum: u32, place: Place) {
        let known = self.whole.entry(header.number).or_default();
        if known.iter().all(|whole| whole.checksum != checksum) {
            known.push(Whole {
                checksum,
                chain: header.chain,
                place,
                depth: 0,
            });
        }
    }

    /// Adds the complete frames of an index. An index without a mark must have a frame in common
    /// with the log.
    pub(super) fn add_index(&mut self, index: &Index, is_ours: bool) -> Result<bool, String> {
        let mut theirs = Vec::new();
        let mut in_common = is_ours;
        for number in index.frames() {
            let frame_bytes = index.frame_bytes(number).ok().flatten();
            let Some((header, checksum)) = frame_bytes.as_ref().and_then(FrameBytes::header) else {
                continue;
            };
            if header.number == number {
                let ours = self.whole.get(&number).into_iter().flatten();
                in_common |= ours.into_iter().any(|whole| whole.checksum == checksum);
                theirs.push((header, checksum));
            }
        }
        for (header, checksum) in theirs.into_iter().filter(|_| in_common) {
            self.whole(header, checksum, Place::Index);
        }
        Ok(in_common)
    }

    /// Returns the history with the most consecutive frames, and the frames of other histories.
    pub(super) fn history(&mut self) -> (BTreeMap<u64, Whole>, Vec<(u64, Whole)>) {
        let mut next: Vec<Whole> = Vec::new();
        let mut next_number = 0;
        for (number, wholes) in self.whole.iter_mut().rev() {
            if number + 1 != next_number {
                next.clear();
            }
            for whole in wholes.iter_mut() {
                let fits = next.iter().filter(|next| next.chain == whole.checksum);
                whole.depth = 1 + fits.map(|next| next.depth).max().unwrap_or(0);
            }
            (next, next_number) = (wholes.clone(), *number);
        }
        let (mut history, mut others) = (BTreeMap::new(), Vec::new());
        let mut before = Some((0, 0));
        for (number, wholes) in &self.whole {
            let chain = before
                .filter(|(last, _)| last + 1 == *number)
                .map(|(_, checksum)| checksum);
            // The reversal makes the first of equal frames win, which is the one of the log.
            let best = wholes
                .iter()
                .rev()
                .max_by_key(|whole| (chain == Some(whole.chain), whole.depth));
            let Some(best) = best else { continue };
            history.insert(*number, *best);
            let rest = wholes.iter().filter(|it| it.checksum != best.checksum);
            others.extend(rest.map(|whole| (*number, *whole)));
            before = Some((*number, best.checksum));
        }
        (history, others)
    }
}

/// A reader that reads frames a second time.
pub(super) struct FrameReader<'s> {
    disk: &'s dyn Disk,
    files: &'s [LogFile],
    index: Option<&'s Index>,
    open: Option<(usize, LogReader)>,
}

impl<'s> FrameReader<'s> {
    pub(super) fn new(disk: &'s dyn Disk, files: &'s [LogFile], index: Option<&'s Index>) -> Self {
        Self {
            disk,
            files,
            index,
            open: None,
        }
    }

    /// The segment of a place in the log.
    pub(super) fn segment(&self, place: Place) -> Option<u64> {
        match place {
            Place::Log { file, .. } => self.files.get(file).map(|file| file.segment),
            Place::Index => None,
        }
    }

    /// Reads the bytes at a place, sound or not.
    pub(super) fn read(&mut self, number: u64, place: Place) -> io::Result<FrameBytes> {
        let gone = || io::Error::other(format!("frame {number} was there a moment ago"));
        match place {
            Place::Index => {
                let frame_bytes = self.index.map(|index| index.frame_bytes(number));
                frame_bytes
                    .transpose()
                    .map_err(io::Error::other)?
                    .flatten()
                    .ok_or_else(gone)
            }
            Place::Log { file, at } => {
                if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
                    let name = &self.files.get(file).ok_or_else(gone)?.name;
                    self.open = Some((file, LogReader::new(self.disk.open(name, false)?)?));
                }
                let (_, reader) = self.open.as_mut().ok_or_else(gone)?;
                reader.seek(at);
                match reader.step()? {
                    Step::Frame { frame_bytes, .. } => Ok(frame_bytes),
                    Step::Bad(bad) => Ok(bad.frame_bytes),
                    Step::End => Err(gone()),
                }
            }
        }
    }
}
