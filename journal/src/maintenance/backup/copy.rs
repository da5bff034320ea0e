//! The copy of a log frame by frame, while another process may write it.
//!
//! A log only grows, and frames have checksums. A reader without a lock can therefore only see too
//! little: a frame that is half written, or an end that has moved. After a fault it reads again
//! from the last sound frame. A fault that remains, without a new frame in between, is damage.

use std::io::{self, ErrorKind};

use uuid::Uuid;

use super::out::{GATHER, Out};
use crate::Progress;
use crate::files::disk::Disk;
use crate::log::segments::{Stopped, misplaced, numbers, total};
use crate::log::{
    Bad, FrameBytes, Header, LogReader, LoggedAppend, SEGMENT_HEADER, SegmentHeader, Step, Written,
    segment_name,
};
use crate::store::directory::closed::NotedEnd;

/// The result of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) last: Written,
    /// The noted end of the last close, compared with the copied frames.
    pub(crate) noted: NotedEnd,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// Copies and syncs all complete frames, or those up to a committed frame `until`. `noted` is the
/// end that the log had at its last close.
pub(crate) fn copy(
    from: &dyn Disk,
    to: &dyn Disk,
    journal: Uuid,
    until: Option<u64>,
    noted: NotedEnd,
    progress: &mut dyn FnMut(Progress),
) -> Result<Copied, Stopped> {
    let mut copy = Copy {
        from,
        journal,
        until,
        at: Written::NOTHING,
        last: Written::NOTHING,
        noted,
        header: None,
        records: 0,
        out: Out::new(to),
        total: total(from, &numbers(from)?).unwrap_or(0),
        reported: 0,
        progress,
    };
    let mut last_fault = None;
    loop {
        let found = match copy.go_on() {
            // A file that is shorter than its reported length was cut by its writer, which closed
            // it.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Rest::Doubtful(error.to_string())
            }
            found => found?,
        };
        match found {
            Rest::Complete => break,
            Rest::Doubtful(what) if last_fault == Some(copy.at) => {
                return Err(Stopped::Damaged(what));
            }
            Rest::Doubtful(_) => last_fault = Some(copy.at),
        }
    }
    copy.out.finish()?;
    let bytes = copy.out.bytes;
    (copy.progress)(Progress {
        done: bytes,
        total: bytes,
    });
    Ok(Copied {
        last: copy.last,
        noted: copy.noted,
        records: copy.records,
        bytes,
    })
}

struct Copy<'d> {
    from: &'d dyn Disk,
    journal: Uuid,
    until: Option<u64>,
    /// The position where reading continues.
    at: Written,
    /// The last copied frame.
    last: Written,
    noted: NotedEnd,
    /// The header of the current segment, until its first frame is copied.
    header: Option<SegmentHeader>,
    records: u64,
    out: Out<'d>,
    total: u64,
    reported: u64,
    progress: &'d mut dyn FnMut(Progress),
}

/// The state after the last sound frame.
enum Rest {
    Complete,
    /// A possible fault.
    Doubtful(String),
}

/// The end of a segment.
enum End {
    /// The last requested frame.
    Reached,
    Zeros,
    /// A write that may be unfinished.
    Torn,
    Doubtful(String),
}

impl Copy<'_> {
    /// Copies from the last sound frame, through all segments.
    fn go_on(&mut self) -> io::Result<Rest> {
        loop {
            let end = if self.at.segment == 0 {
                End::Zeros
            } else {
                self.frames()?
            };
            let is_torn = match end {
                End::Reached => return Ok(Rest::Complete),
                End::Doubtful(what) => return Ok(Rest::Doubtful(what)),
                End::Torn => true,
                End::Zeros => false,
            };
            if let Some(rest) = self.next_segment(is_torn)? {
                return Ok(rest);
            }
        }
    }

    /// Moves to the next segment. Returns the state if the log ends here.
    fn next_segment(&mut self, is_torn: bool) -> io::Result<Option<Rest>> {
        let number = self.at.segment + 1;
        let file = match self.from.open(&segment_name(number), false) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.end(number).map(Some),
            Err(error) => return Err(error),
        };
        let mut reader = LogReader::new(file)?;
        let expected = SegmentHeader::after(self.journal, self.at);
        match reader.header()? {
            Some(found) if found == expected && !is_torn => {
                self.header = Some(found);
                self.at = Written {
                    segment: number,
                    end: SEGMENT_HEADER,
                    ..self.at
                };
                Ok(None)
            }
            // A prepared segment that is not used yet.
            None if !reader.has_frames()? => self.end(number + 1).map(Some),
            found => Ok(Some(Rest::Doubtful(misplaced(number, found, &expected)))),
        }
    }

    /// Checks whether the log may end before a segment.
    fn end(&self, number: u64) -> io::Result<Rest> {
        let beyond = segment_name(number);
        let names = self.from.list()?;
        if self.at.segment > 0 && !names.contains(&segment_name(self.at.segment)) {
            let what = format!(
                "the log was taken away while it was read, behind frame {}",
                self.at.number
            );
            return Ok(Rest::Doubtful(what));
        }
        if let Some(name) = names.into_iter().find(|name| *name >= beyond) {
            let what = format!(
                "the log has a file {name} behind frame {}, where it ends",
                self.at.number
            );
            return Ok(Rest::Doubtful(what));
        }
        let last = self.last.number;
        Ok(match self.until {
            Some(until) if last < until => Rest::Doubtful(format!(
                "the log ends at frame {last}, frame {until} was acknowledged"
            )),
            None if last == 0 => Rest::Doubtful("the log is missing".to_owned()),
            Some(_) | None => Rest::Complete,
        })
    }

    /// Copies the frames of a segment.
    fn frames(&mut self) -> io::Result<End> {
        let file = self.from.open(&segment_name(self.at.segment), false)?;
        let mut reader = LogReader::new(file)?;
        reader.seek(self.at.end);
        loop {
            if self.until.is_some_and(|until| self.last.number >= until) {
                return Ok(End::Reached);
            }
            match reader.step()? {
                Step::End => return Ok(End::Zeros),
                Step::Bad(Bad { next: None, .. }) => return Ok(End::Torn),
                Step::Bad(Bad { at, .. }) => {
                    let what = format!(
                        "the frame at byte {at} of segment {} does not hold its checksum",
                        self.at.segment
                    );
                    return Ok(End::Doubtful(what));
                }
                Step::Frame {
                    header,
                    checksum,
                    end,
                    frame_bytes,
                } => {
                    let records = match records(&header, &frame_bytes) {
                        Some(records)
                            if header.number == self.at.number + 1
                                && header.chain == self.at.checksum =>
                        {
                            records
                        }
                        Some(_) => {
                            let what = format!(
                                "frame {} stands behind frame {} and does not follow it",
                                header.number, self.at.number
                            );
                            return Ok(End::Doubtful(what));
                        }
                        None => {
                            let what =
                                format!("the appends of frame {} cannot be read", header.number);
                            return Ok(End::Doubtful(what));
                        }
                    };
                    self.at = Written {
                        number: header.number,
                        checksum,
                        end,
                        ..self.at
                    };
                    self.take(&frame_bytes)?;
                    self.records += records;
                }
            }
        }
    }

    fn take(&mut self, frame_bytes: &FrameBytes) -> io::Result<()> {
        if let Some(header) = self.header.take() {
            self.out.begin(&header)?;
        }
        self.out.write(&frame_bytes.0)?;
        self.last = self.at;
        self.noted.see(self.last);
        if self.out.bytes - self.reported > GATHER as u64 {
            self.reported = self.out.bytes;
            (self.progress)(Progress {
                done: self.reported,
                total: self.total.max(self.reported),
            });
        }
        Ok(())
    }
}

/// Counts the records of a frame. `None` if an append cannot be decoded.
fn records(header: &Header, frame_bytes: &FrameBytes) -> Option<u64> {
    let (mut records, mut appends) = (0, 0);
    for (_, body, intact) in frame_bytes.appends() {
        let append = LoggedAppend::decode(body).filter(|_| intact)?;
        records += append.lines.len() as u64;
        appends += 1;
    }
    (appends == header.appends).then_some(records)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#[path = "copy_tests.rs"]
mod tests;
