//! A pass over the whole log with an index: frames up to its mark are compared, later frames are
//! written to it.
//!
//! One thread reads the log and builds the view. Another one compares and fills the index. That is
//! faster. It also separates sled's cache allocations from the long-lived ones of the view. Mixed
//! in the same heap pages, neither could be returned to the system.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use uuid::Uuid;

use super::options::Options;
use super::settings::Progress;
use crate::index::{CompressionBuffer, Index, Row, Walk};
use crate::log::segments::{self, LogEnd, Stopped};
use crate::log::{FrameBytes, FramePlace, LoggedAppend, Place, Written, read_log, segment_name};
use crate::store::system;
use crate::view::{Added, View};
use crate::{Head, Record};

/// The bytes of frames that are written to the index before their rows follow. While rows are
/// written in one batch, sled keeps a copy of each of their pages. Small batches cost no more time.
const FLUSH_BYTES: usize = 32 << 10;
/// The minimum bytes of frames that are sent at a time, if they are only compared.
const SEND_BYTES: usize = 64 << 10;
/// The number of rows that are sent at a time.
const SEND_ROWS: usize = 512;
/// The capacity of the channel to the index thread.
const CHANNEL_CAPACITY: usize = 2;

/// The result of a pass.
pub(super) struct Passed {
    pub(in crate::store) log: LogEnd,
    pub(in crate::store) seen: Seen,
    /// The number of frames that were written to the index.
    pub(in crate::store) filled: u64,
    /// The reason why the index cannot be used.
    pub(in crate::store) wrong: Option<String>,
}

/// The content of the log.
pub(in crate::store) struct Seen {
    pub(in crate::store) view: View,
    /// True if the last record is that of a close.
    pub(in crate::store) closed: bool,
    /// The length of all frames.
    pub(in crate::store) bytes: u64,
    pub(super) last_frame_bytes: Option<Arc<FrameBytes>>,
}

/// Reads the log and levels the index with it. Calls `each` with the end of every frame.
pub(in crate::store) fn pass(
    index: &Index,
    journal: Uuid,
    mark: Option<Written>,
    options: &Options,
    each: impl FnMut(Written),
) -> Result<Passed, Stopped> {
    let leveling = Leveling {
        index,
        journal,
        mark,
        walk: index.walk(),
        buffer: CompressionBuffer::default(),
        filled: 0,
        wrong: None,
    };
    thread::scope(|scope| {
        let (work, taken) = sync_channel(CHANNEL_CAPACITY);
        let leveler = thread::Builder::new()
            .name("journal index level".to_owned())
            .spawn_scoped(scope, move || leveling.work(taken))?;
        let mut reading = Reading {
            mark,
            seen: Seen {
                view: View::empty(),
                closed: false,
                bytes: 0,
                last_frame_bytes: None,
            },
            work,
            frames: Vec::new(),
            bytes: 0,
            unflushed: 0,
        };
        let log = reading.run(journal, options, each);
        let Reading { mut seen, work, .. } = reading;
        // Dropping the sender ends the index thread. That thread turns sled's panics into errors
        // itself.
        drop(work);
        let (filled, wrong) = leveler.join().unwrap_or_else(|_| {
            let what = "the thread that compared it panicked";
            (0, Some(what.to_owned()))
        });
        // Not earlier: records of a stream must follow their predecessors, which the index may not
        // have had.
        seen.view.evict();
        Ok(Passed {
            log: log?,
            seen,
            filled,
            wrong,
        })
    })
}

/// The work that the reading thread sends, in the order of the log.
enum Work {
    /// The next frames.
    Frames(Vec<(Written, Arc<FrameBytes>)>),
    /// All rows of the log up to the mark of the index.
    Check(Receiver<Vec<Row>>),
    /// The rows that changed up to a frame, and the number of records up to it.
    Rows(Vec<Row>, Written, u64),
}

/// The side that reads the log.
struct Reading {
    mark: Option<Written>,
    seen: Seen,
    work: SyncSender<Work>,
    /// The frames that were not sent yet, and their bytes.
    frames: Vec<(Written, Arc<FrameBytes>)>,
    bytes: usize,
    /// The bytes of frames that were sent without their rows.
    unflushed: usize,
}

impl Reading {
    fn run(
        &mut self,
        journal: Uuid,
        options: &Options,
        mut each: impl FnMut(Written),
    ) -> Result<LogEnd, Stopped> {
        let numbers = segments::numbers(&*options.disk)?;
        let total = segments::total(&*options.disk, &numbers)?;
        // A killed process may have left a frame that only the system's cache has. After a power
        // loss the index could then have it and the log not. The last segment may be a prepared
        // one, so the last two are synced.
        for number in numbers.iter().rev().take(2) {
            options.disk.open(&segment_name(*number), false)?.sync()?;
        }
        let mut reported = 0;
        let log = read_log(&*options.disk, journal, |header, last, frame_bytes| {
            each(last);
            self.frame(header.appends, last, frame_bytes)?;
            let done = self.seen.bytes;
            if done - reported > 1 << 20 {
                reported = done;
                (options.settings.progress)(Progress { done, total });
            }
            Ok(())
        })?;
        self.send_frames();
        if self.unflushed > 0 {
            self.send_rows();
        }
        (options.settings.progress)(Progress { done: total, total });
        Ok(log)
    }

    fn frame(
        &mut self,
        appends: u32,
        last: Written,
        frame_bytes: FrameBytes,
    ) -> Result<(), Stopped> {
        self.seen.add(appends, last, &frame_bytes)?;
        let frame_bytes = Arc::new(frame_bytes);
        let checked = self.mark.is_some_and(|mark| last.number <= mark.number);
        if !checked {
            self.unflushed += frame_bytes.0.len();
        }
        self.bytes += frame_bytes.0.len();
        self.frames.push((last, Arc::clone(&frame_bytes)));
        if self.bytes >= SEND_BYTES {
            self.send_frames();
        }
        if self.unflushed > FLUSH_BYTES {
            self.send_frames();
            self.send_rows();
        }
        if let Some(mark) = self.mark.filter(|mark| mark.number == last.number) {
            if mark != last {
                // The index gets only synced frames, so either the log or the index was altered.
                return Err(Stopped::Damaged(format!(
                    "frame {} of the log is not the one the index was filled from",
                    last.number
                )));
            }
            self.send_frames();
            self.send_all_rows();
        }
        self.seen.last_frame_bytes = Some(frame_bytes);
        Ok(())
    }

    fn send_frames(&mut self) {
        self.bytes = 0;
        let frames = std::mem::take(&mut self.frames);
        if !frames.is_empty() {
            self.send(Work::Frames(frames));
        }
    }

    /// Sends the rows that changed since the last time.
    fn send_rows(&mut self) {
        self.unflushed = 0;
        let view = &mut self.seen.view;
        let rows = view.begin_flush();
        view.end_flush();
        let (last, records) = (view.last, view.records);
        self.send(Work::Rows(rows, last, records));
    }

    /// Sends all rows, a few at a time.
    fn send_all_rows(&mut self) {
        let (rows, taken) = sync_channel(1);
        self.send(Work::Check(taken));
        let mut all = self.seen.view.changed_rows();
        loop {
            let some: Vec<Row> = all.by_ref().take(SEND_ROWS).collect();
            // The receiver stops after the first fault.
            if some.is_empty() || rows.send(some).is_err() {
                break;
            }
        }
        drop(all);
        self.seen.view.flushed();
    }

    fn send(&self, work: Work) {
        // The index thread panicked, which is reported when it is joined. The log is read to its
        // end anyway.
        let _gone = self.work.send(work);
    }
}

/// The side that compares and fills the index.
struct Leveling<'i> {
    index: &'i Index,
    journal: Uuid,
    mark: Option<Written>,
    walk: Walk,
    buffer: CompressionBuffer,
    filled: u64,
    wrong: Option<String>,
}

impl Leveling<'_> {
    /// Works until the channel closes. Returns the number of written frames, and the fault of the
    /// index.
    fn work(mut self, works: Receiver<Work>) -> (u64, Option<String>) {
        for work in works {
            if self.wrong.is_none() {
                self.wrong = self.take(work).err();
            }
        }
        (self.filled, self.wrong)
    }

    fn take(&mut self, work: Work) -> Result<(), String> {
        match work {
            Work::Frames(frames) => {
                let marked = self.mark.map_or(0, |mark| mark.number);
                let known = frames.partition_point(|(last, _)| last.number <= marked);
                let (known, new) = frames.split_at_checked(known).unwrap_or_default();
                for (last, frame_bytes) in known {
                    if !self.walk.holds(last.number, frame_bytes) {
                        let number = last.number;
                        return Err(format!("it does not hold frame {number} as the log does"));
                    }
                }
                let new_frames = new
                    .iter()
                    .map(|(last, frame_bytes)| (last.number, &**frame_bytes));
                self.index.put_frames(new_frames, &mut self.buffer, || ())?;
                self.filled += new.len() as u64;
                Index::free_garbage()
            }
            Work::Check(rows) => {
                let marked = self.mark.map_or(0, |mark| mark.number);
                if !self.walk.is_behind(marked) {
                    return Err("it has frames that the log does not have".to_owned());
                }
                self.index.check(rows.into_iter().flatten())
            }
            Work::Rows(rows, last, records) => {
                self.index.commit(rows, self.journal, last, records)?;
                Index::free_garbage()
            }
        }
    }
}

impl Seen {
    fn add(
        &mut self,
        appends: u32,
        last: Written,
        frame_bytes: &FrameBytes,
    ) -> Result<(), Stopped> {
        let mut count = 0;
        for (place, body, intact) in frame_bytes.appends() {
            let append = LoggedAppend::decode(body)
                .filter(|_| intact)
                .ok_or_else(|| {
                    Stopped::Damaged(format!(
                        "an append of frame {} does not decode",
                        last.number
                    ))
                })?;
            self.append(last.frame(frame_bytes), place, &append)?;
            count += 1;
        }
        if count != appends {
            return Err(Stopped::Damaged(format!(
                "frame {} holds {count} appends instead of {appends}",
                last.number
            )));
        }
        self.view.last = last;
        self.bytes += frame_bytes.0.len() as u64;
        Ok(())
    }

    fn append(
        &mut self,
        frame: FramePlace,
        place: Place,
        append: &LoggedAppend<'_>,
    ) -> Result<(), Stopped> {
        let (session, first) = (append.session, append.first);
        let unfit = |what: &str| {
            let seq = append.last();
            Stopped::Damaged(format!("record {seq} of session {session} {what}"))
        };
        let before = self.view.stream(session, None).ok().flatten();
        let seq = before.map_or(0, |stream| stream.head.seq);
        let line = append.lines.last().ok_or_else(|| unfit("is not there"))?;
        let record = Record::parse(line).map_err(|malformed| unfit(&malformed.to_string()))?;
        if first != seq + 1 || record.session != session || record.seq != append.last() {
            return Err(unfit("does not follow the record before"));
        }
        let head = Head {
            seq: record.seq,
            hash: crate::Hash::of_line(line),
            at_us: record.at_us,
        };
        self.closed = session.is_nil() && record.kind == system::CLOSED;
        let added = Added::of(append, head);
        // Nothing is fetched from an index here, so this cannot fail.
        self.view
            .add(frame, place, &added, None)
            .map_err(|error| Stopped::Damaged(error.to_string()))
    }
}
