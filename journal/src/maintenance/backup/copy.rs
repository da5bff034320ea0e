//! Copies a log frame by frame into another directory, while somebody may be writing it.
//!
//! A log only grows, and frames check themselves. So a reader without a lock may only see too
//! little: a frame half written, an end that has moved meanwhile. Whatever looks wrong is therefore
//! looked at once more, from the last sound frame on; what still looks wrong then, with nothing
//! gained in between, is.

use std::io::{self, ErrorKind};

use uuid::Uuid;

use super::out::{GATHER, Out};
use crate::Progress;
use crate::files::disk::Disk;
use crate::log::segments::{Stopped, misplaced, numbers, total};
use crate::log::{
    Bad, Block, Entry, Header, LogReader, SEGMENT_HEADER, SegmentHeader, Step, Written,
    segment_name,
};

/// What was copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) last: Written,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// Copies all whole sound frames, or those up to one that is known to be committed, and syncs them.
pub(crate) fn copy(
    from: &dyn Disk,
    to: &dyn Disk,
    journal: Uuid,
    until: Option<u64>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Copied, Stopped> {
    let mut copy = Copy {
        from,
        journal,
        until,
        at: Written::NOTHING,
        last: Written::NOTHING,
        header: None,
        records: 0,
        out: Out::new(to),
        total: total(from, &numbers(from)?).unwrap_or(0),
        told: 0,
        progress,
    };
    let mut doubted = None;
    loop {
        let found = match copy.go_on() {
            // A file that ended sooner than it said was cut by its writer, who closed it.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Rest::Doubtful(error.to_string())
            }
            found => found?,
        };
        match found {
            Rest::Complete => break,
            Rest::Doubtful(what) if doubted == Some(copy.at) => return Err(Stopped::Damaged(what)),
            Rest::Doubtful(_) => doubted = Some(copy.at),
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
        records: copy.records,
        bytes,
    })
}

struct Copy<'d> {
    from: &'d dyn Disk,
    journal: Uuid,
    until: Option<u64>,
    /// Where reading goes on.
    at: Written,
    /// The last frame copied.
    last: Written,
    /// The header of the segment that is read, until a frame of it is copied.
    header: Option<SegmentHeader>,
    records: u64,
    out: Out<'d>,
    total: u64,
    told: u64,
    progress: &'d mut dyn FnMut(Progress),
}

/// What stands behind the last sound frame.
enum Rest {
    Complete,
    /// What looks wrong.
    Doubtful(String),
}

/// How a segment ends.
enum End {
    /// With the frame up to which frames were wanted.
    Reached,
    Zeros,
    /// With what may be a write that was not finished.
    Torn,
    Doubtful(String),
}

impl Copy<'_> {
    /// Copies from the last sound frame on, through all segments.
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

    /// Goes to the next segment, unless the log ends here.
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
            // Prepared and not used yet.
            None if !reader.has_frames()? => self.end(number + 1).map(Some),
            found => Ok(Some(Rest::Doubtful(misplaced(number, found, &expected)))),
        }
    }

    /// Whether the log may end before a segment.
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
                    block,
                } => {
                    let records = match records(&header, &block) {
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
                    self.take(&block)?;
                    self.records += records;
                }
            }
        }
    }

    fn take(&mut self, block: &Block) -> io::Result<()> {
        if let Some(header) = self.header.take() {
            self.out.begin(&header)?;
        }
        self.out.write(&block.0)?;
        self.last = self.at;
        if self.out.bytes - self.told > GATHER as u64 {
            self.told = self.out.bytes;
            (self.progress)(Progress {
                done: self.told,
                total: self.total.max(self.told),
            });
        }
        Ok(())
    }
}

/// How many records a frame holds, if it reads.
fn records(header: &Header, block: &Block) -> Option<u64> {
    let (mut records, mut appends) = (0, 0);
    for (_, body, intact) in block.entries() {
        let entry = Entry::decode(body).filter(|_| intact)?;
        records += entry.lines.len() as u64;
        appends += 1;
    }
    (appends == header.entries).then_some(records)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#[path = "copy_tests.rs"]
mod tests;
