//! Copies a log frame by frame into another directory, while somebody may be writing it.
//!
//! A log only grows, and frames check themselves. So a reader without a lock may only see too little: a frame half
//! written, an end that has moved meanwhile. Whatever looks wrong is therefore looked at once more, from the last sound frame on;
//! what still looks wrong then, with nothing gained in between, is.

use std::io::{self, ErrorKind};

use uuid::Uuid;

use crate::Progress;
use crate::files::disk::{Disk, DiskFile};
use crate::log::segments::{Stopped, misplaced, numbers, total};
use crate::log::{
    Bad, Block, Entry, Header, LogReader, SEGMENT_HEADER, SegmentHeader, Step, Written,
    segment_name,
};

/// How much is gathered before it is written.
const GATHER: usize = 1 << 20;

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

/// The log that is written.
struct Out<'d> {
    disk: &'d dyn Disk,
    file: Option<Box<dyn DiskFile>>,
    /// What is written of the file.
    length: u64,
    gathered: Vec<u8>,
    /// All bytes taken.
    bytes: u64,
}

impl<'d> Out<'d> {
    fn new(disk: &'d dyn Disk) -> Self {
        Self {
            disk,
            file: None,
            length: 0,
            gathered: Vec::new(),
            bytes: 0,
        }
    }

    /// Goes on in a new segment.
    fn begin(&mut self, header: &SegmentHeader) -> io::Result<()> {
        self.sync()?;
        self.file = Some(self.disk.open(&segment_name(header.segment), true)?);
        self.length = 0;
        self.write(&header.encode())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.gathered.len() >= GATHER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.as_mut() {
            file.write_at(self.length, &self.gathered)?;
            self.length += self.gathered.len() as u64;
            self.gathered.clear();
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.as_mut().map_or(Ok(()), |file| file.sync())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sync()?;
        self.disk.sync_names()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::files::disk::RealDisk;
    use crate::log::{LogWriter, encode_entry};
    use crate::{Append, Line};

    const JOURNAL: Uuid = Uuid::from_u128(5);

    /// A log in which the first looks at a segment see what it was before its last frames came.
    struct Growing {
        disk: RealDisk,
        segment: &'static str,
        before: u64,
        early: AtomicUsize,
    }

    /// A file that is zeros from some byte on.
    struct Early(Box<dyn DiskFile>, u64);

    impl Disk for Growing {
        fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
            let file = self.disk.open(name, create)?;
            let is_early = name == self.segment
                && self
                    .early
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                        left.checked_sub(1)
                    })
                    .is_ok();
            Ok(if is_early {
                Box::new(Early(file, self.before))
            } else {
                file
            })
        }

        fn list(&self) -> io::Result<Vec<String>> {
            self.disk.list()
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.disk.rename(from, to)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.disk.remove(name)
        }

        fn sync_names(&self) -> io::Result<()> {
            self.disk.sync_names()
        }

        fn free_space(&self) -> io::Result<u64> {
            self.disk.free_space()
        }
    }

    impl DiskFile for Early {
        fn length(&mut self) -> io::Result<u64> {
            self.0.length()
        }

        fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
            self.0.read_at(offset, into)?;
            for (at, byte) in (offset..).zip(into) {
                *byte = if at < self.1 { *byte } else { 0 };
            }
            Ok(())
        }

        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.0.write_at(offset, bytes)
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.0.truncate(length)
        }

        fn sync(&mut self) -> io::Result<()> {
            self.0.sync()
        }
    }

    /// A log of two segments with three frames each; where the frames of the first end.
    fn log(disk: &RealDisk) -> Vec<u64> {
        let append = Append::new(Uuid::from_u128(1), 0, vec![Line::new(*b"{}")]);
        let entry = encode_entry(&append, |_| false).bytes;
        let limit = SEGMENT_HEADER + 3 * (32 + entry.len() as u64);
        let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, limit).unwrap();
        let written = (0..6).map(|_| writer.commit(std::iter::once(&entry[..])).unwrap().0);
        let ends = written
            .filter(|it| it.segment == 1)
            .map(|it| it.end)
            .collect();
        writer.close().unwrap();
        ends
    }

    fn copied(early: usize, before: impl Fn(&[u64]) -> u64) -> Result<Copied, Stopped> {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path().join("log"));
        let ends = log(&disk);
        assert_eq!(ends.len(), 3);
        let growing = Growing {
            disk,
            segment: "0000000000000001.log",
            before: before(&ends),
            // The total is asked for first, then the header is read.
            early: AtomicUsize::new(early + 2),
        };
        let to = RealDisk::new(directory.path().join("copy"));
        copy(&growing, &to, JOURNAL, None, &mut |_| {})
    }

    #[test]
    fn what_came_while_it_was_read_is_looked_at_once_more() {
        // The end was between two frames, in a header, in a frame.
        for bytes in [0, 9, 40] {
            let copied = copied(1, |ends| ends.iter().rev().nth(1).unwrap() + bytes);
            let copied = copied.map(|it| (it.last.number, it.records));
            assert!(matches!(copied, Ok((6, 6))), "{bytes}");
        }
    }

    /// A log that a repair renames when its second segment is to be opened for the second time.
    struct Going(RealDisk, std::path::PathBuf, AtomicUsize);

    impl Disk for Going {
        fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
            if name == segment_name(2) && self.2.fetch_add(1, Ordering::Relaxed) == 1 {
                std::fs::rename(&self.1, self.1.with_extension("damaged-1"))?;
            }
            self.0.open(name, create)
        }

        fn list(&self) -> io::Result<Vec<String>> {
            self.0.list()
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.rename(from, to)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.0.remove(name)
        }

        fn sync_names(&self) -> io::Result<()> {
            self.0.sync_names()
        }

        fn free_space(&self) -> io::Result<u64> {
            self.0.free_space()
        }
    }

    #[test]
    fn a_log_that_goes_away_meanwhile_is_not_taken_for_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let disk = RealDisk::new(&path);
        log(&disk);
        // The total is asked for first, which opens every segment.
        let going = Going(disk, path.clone(), AtomicUsize::new(0));
        let to = RealDisk::new(directory.path().join("copy"));
        let copied = copy(&going, &to, JOURNAL, None, &mut |_| {});
        assert!(matches!(copied, Err(Stopped::Damaged(_) | Stopped::Io(_))));
        assert!(!path.exists());
    }

    #[test]
    fn what_still_looks_wrong_is_wrong() {
        let copied = copied(usize::MAX - 2, |ends| ends.iter().min().unwrap() + 9);
        assert!(matches!(copied, Err(Stopped::Damaged(_))));
    }
}
