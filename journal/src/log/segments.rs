//! A strict reader of all segments in order: every frame must follow the previous one.

use std::io;

use uuid::Uuid;

use super::reader::{Bad, LogReader, Step};
use super::{FrameBytes, Header, SEGMENT_HEADER, SegmentHeader, Written, segment_name};
use crate::files::disk::{Disk, DiskFile};

/// The sound part of a log, and the bytes after it.
pub(crate) struct LogEnd {
    pub(crate) last: Written,
    /// The open segment; `None` for a log without a segment.
    pub(crate) file: Option<Box<dyn DiskFile>>,
    /// The number of bytes of a write that was never acknowledged.
    pub(crate) torn: u64,
    /// The segments that were prepared and never used.
    pub(crate) unused: Vec<u64>,
}

/// The error that stops the reading of a log.
pub(crate) enum Stopped {
    Io(io::Error),
    Damaged(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns the numbers of the segments, in order.
pub(crate) fn numbers(disk: &dyn Disk) -> Result<Vec<u64>, Stopped> {
    let mut numbers = Vec::new();
    for name in disk.list()? {
        let number = name
            .strip_suffix(".log")
            .and_then(|digits| digits.parse().ok())
            .filter(|number| segment_name(*number) == name && *number == numbers.len() as u64 + 1);
        match number {
            Some(number) => numbers.push(number),
            None => {
                let what = format!("the log has a file {name} that does not belong there");
                return Err(Stopped::Damaged(what));
            }
        }
    }
    Ok(numbers)
}

/// Returns the bytes of all segments together.
pub(crate) fn total(disk: &dyn Disk, numbers: &[u64]) -> io::Result<u64> {
    let mut total = 0;
    for number in numbers {
        total += disk.open(&segment_name(*number), false)?.length()?;
    }
    Ok(total)
}

/// Calls `each` for every frame in order, with its header, the position after it, and its bytes.
pub(crate) fn read(
    disk: &dyn Disk,
    journal: Uuid,
    mut each: impl FnMut(&Header, Written, FrameBytes) -> Result<(), Stopped>,
) -> Result<LogEnd, Stopped> {
    let mut log = LogEnd {
        last: Written::NOTHING,
        file: None,
        torn: 0,
        unused: Vec::new(),
    };
    for number in numbers(disk)? {
        let mut reader = LogReader::new(disk.open(&segment_name(number), false)?)?;
        let expected = SegmentHeader::after(journal, log.last);
        match reader.header()? {
            Some(found) if found == expected && log.torn == 0 => {}
            // The header is written with the first commit, which was never acknowledged.
            None if !reader.has_frames()? => {
                log.unused.push(number);
                continue;
            }
            found => return Err(Stopped::Damaged(misplaced(number, found, &expected))),
        }
        if let Some(unused) = log.unused.first() {
            let what = format!("segment {unused} of the log is empty, segment {number} is not");
            return Err(Stopped::Damaged(what));
        }
        log.last = Written {
            segment: number,
            end: SEGMENT_HEADER,
            ..log.last
        };
        log.torn = segment(&mut reader, &mut log.last, &mut each)?;
        log.file = Some(reader.into_file());
    }
    Ok(log)
}

/// Reads one segment to its end. Returns the number of bytes after its last frame that are not the
/// zeros of the preallocation.
fn segment(
    reader: &mut LogReader,
    last: &mut Written,
    each: &mut impl FnMut(&Header, Written, FrameBytes) -> Result<(), Stopped>,
) -> Result<u64, Stopped> {
    loop {
        match reader.step()? {
            Step::End => return Ok(0),
            Step::Bad(Bad { at, next, .. }) => {
                // The next commit is written only after the sync of this one. Bytes before a later
                // frame were therefore synced.
                if next.is_some() {
                    let what = format!("the frame at byte {at} does not hold its checksum");
                    return Err(Stopped::Damaged(what));
                }
                return Ok(reader.length() - at);
            }
            Step::Frame {
                header,
                checksum,
                end,
                frame_bytes,
            } => {
                if header.number != last.number + 1 || header.chain != last.checksum {
                    let what = format!(
                        "frame {} stands behind frame {} and does not follow it",
                        header.number, last.number
                    );
                    return Err(Stopped::Damaged(what));
                }
                *last = Written {
                    number: header.number,
                    checksum,
                    end,
                    ..*last
                };
                each(&header, *last, frame_bytes)?;
            }
        }
    }
}

/// The reason why a segment header does not belong here.
pub(crate) fn misplaced(
    number: u64,
    found: Option<SegmentHeader>,
    expected: &SegmentHeader,
) -> String {
    match found {
        Some(found) if found.journal != expected.journal => format!(
            "segment {number} of the log is of journal {}, not of {}",
            found.journal, expected.journal
        ),
        Some(_) => format!(
            "segment {number} of the log does not follow frame {}",
            expected.first - 1
        ),
        None => format!("the header of segment {number} of the log does not hold its checksum"),
    }
}
