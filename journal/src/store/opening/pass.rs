//! One reading of the whole log against an index: frames up to its mark are compared, later ones
//! are put in.
//!
//! What the log says is gathered by the thread that reads it; the index is compared and filled by
//! another, which is quicker, and keeps what sled allocates for its cache apart from what stays:
//! both would else lie in turns in the same pages of the heap, and nothing of those could be given
//! back.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use uuid::Uuid;

use super::options::Options;
use super::settings::Progress;
use crate::index::{Index, Room, Row, Walk};
use crate::log::segments::{self, LogEnd, Stopped};
use crate::log::{Block, Entry, FramePlace, Place, Written, read_log, segment_name};
use crate::store::system;
use crate::view::{Added, View};
use crate::{Head, Record};

/// How many bytes of frames go into the index before what they come down to follows. While rows go
/// in together, sled keeps a page for every one of them, as it was before; few at a time cost no
/// more time.
const FLUSH_BYTES: usize = 32 << 10;
/// How many bytes of frames are handed over at a time, at least, where they are only compared.
const HANDED_BYTES: usize = 64 << 10;
/// How many rows are handed over at a time.
const HANDED_ROWS: usize = 512;
/// How often something is handed over before the reading waits.
const AHEAD: usize = 2;

/// What came of a reading.
pub(super) struct Passed {
    pub(in crate::store) log: LogEnd,
    pub(in crate::store) seen: Seen,
    /// How many frames were put in.
    pub(in crate::store) filled: u64,
    /// Why the index cannot be used.
    pub(in crate::store) wrong: Option<String>,
}

/// What the log says.
pub(in crate::store) struct Seen {
    pub(in crate::store) view: View,
    /// True if the last record is that of a close.
    pub(in crate::store) closed: bool,
    /// The length of all frames.
    pub(in crate::store) bytes: u64,
    pub(super) last_block: Option<Arc<Block>>,
}

/// Reads the log against the index, and tells the end of every frame.
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
        room: Room::default(),
        filled: 0,
        wrong: None,
    };
    thread::scope(|scope| {
        let (work, taken) = sync_channel(AHEAD);
        let leveler = thread::Builder::new()
            .name("journal index level".to_owned())
            .spawn_scoped(scope, move || leveling.work(taken))?;
        let mut reading = Reading {
            mark,
            seen: Seen {
                view: View::empty(),
                closed: false,
                bytes: 0,
                last_block: None,
            },
            work,
            frames: Vec::new(),
            bytes: 0,
            unflushed: 0,
        };
        let log = reading.run(journal, options, each);
        let Reading { mut seen, work, .. } = reading;
        // The leveler ends when nobody can hand it anything any more. sled's panics it turns into
        // words itself.
        drop(work);
        let (filled, wrong) = leveler.join().unwrap_or_else(|_| {
            let what = "the thread that compared it panicked";
            (0, Some(what.to_owned()))
        });
        // Not before: records of a stream must follow those before them, and the index may not have
        // these yet.
        seen.view.let_go();
        Ok(Passed {
            log: log?,
            seen,
            filled,
            wrong,
        })
    })
}

/// What the reading thread hands over, in the order of the log.
enum Work {
    /// Frames behind those before.
    Frames(Vec<(Written, Arc<Block>)>),
    /// All that the log says up to the mark of the index.
    Check(Receiver<Vec<Row>>),
    /// What changed up to a frame, and how many records that makes.
    Rows(Vec<Row>, Written, u64),
}

/// The side of the log.
struct Reading {
    mark: Option<Written>,
    seen: Seen,
    work: SyncSender<Work>,
    /// Frames that were not handed over yet, and their bytes.
    frames: Vec<(Written, Arc<Block>)>,
    bytes: usize,
    /// Bytes of frames that were put in without what they come down to.
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
        // A killed process may have left a frame that only the cache of the system has. It must not
        // be in the index and then, after a power loss, not in the log. The last segment may be one
        // that was prepared, hence two.
        for number in numbers.iter().rev().take(2) {
            options.disk.open(&segment_name(*number), false)?.sync()?;
        }
        let mut told = 0;
        let log = read_log(&*options.disk, journal, |header, last, block| {
            each(last);
            self.frame(header.entries, last, block)?;
            let done = self.seen.bytes;
            if done - told > 1 << 20 {
                told = done;
                (options.settings.progress)(Progress { done, total });
            }
            Ok(())
        })?;
        self.hand_over();
        if self.unflushed > 0 {
            self.hand_over_rows();
        }
        (options.settings.progress)(Progress { done: total, total });
        Ok(log)
    }

    fn frame(&mut self, appends: u32, last: Written, block: Block) -> Result<(), Stopped> {
        self.seen.add(appends, last, &block)?;
        let block = Arc::new(block);
        let checked = self.mark.is_some_and(|mark| last.number <= mark.number);
        if !checked {
            self.unflushed += block.0.len();
        }
        self.bytes += block.0.len();
        self.frames.push((last, Arc::clone(&block)));
        if self.bytes >= HANDED_BYTES {
            self.hand_over();
        }
        if self.unflushed > FLUSH_BYTES {
            self.hand_over();
            self.hand_over_rows();
        }
        if let Some(mark) = self.mark.filter(|mark| mark.number == last.number) {
            if mark != last {
                // The index is filled from synced frames only, so one of the two is not what it
                // was.
                return Err(Stopped::Damaged(format!(
                    "frame {} of the log is not the one the index was filled from",
                    last.number
                )));
            }
            self.hand_over();
            self.hand_over_all();
        }
        self.seen.last_block = Some(block);
        Ok(())
    }

    fn hand_over(&mut self) {
        self.bytes = 0;
        let frames = std::mem::take(&mut self.frames);
        if !frames.is_empty() {
            self.send(Work::Frames(frames));
        }
    }

    /// The rows that changed since the last time.
    fn hand_over_rows(&mut self) {
        self.unflushed = 0;
        let view = &mut self.seen.view;
        let rows = view.begin_flush();
        view.end_flush();
        let (last, records) = (view.last, view.records);
        self.send(Work::Rows(rows, last, records));
    }

    /// All rows there are, a few at a time.
    fn hand_over_all(&mut self) {
        let (rows, taken) = sync_channel(1);
        self.send(Work::Check(taken));
        let mut all = self.seen.view.changed_rows();
        loop {
            let some: Vec<Row> = all.by_ref().take(HANDED_ROWS).collect();
            // Whoever found something wrong takes no more.
            if some.is_empty() || rows.send(some).is_err() {
                break;
            }
        }
        drop(all);
        self.seen.view.flushed();
    }

    fn send(&self, work: Work) {
        // A leveler that is gone has panicked, which is told when it is joined; the log is read to
        // its end all the same.
        let _gone = self.work.send(work);
    }
}

/// The side of the index.
struct Leveling<'i> {
    index: &'i Index,
    journal: Uuid,
    mark: Option<Written>,
    walk: Walk,
    room: Room,
    filled: u64,
    wrong: Option<String>,
}

impl Leveling<'_> {
    /// Works until nothing more comes; tells how many frames were put in, and what is wrong with
    /// the index.
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
                for (last, block) in known {
                    if !self.walk.holds(last.number, block) {
                        let number = last.number;
                        return Err(format!("it does not hold frame {number} as the log does"));
                    }
                }
                let blocks = new.iter().map(|(last, block)| (last.number, &**block));
                self.index.put_blocks(blocks, &mut self.room, || ())?;
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
    fn add(&mut self, appends: u32, last: Written, block: &Block) -> Result<(), Stopped> {
        let mut count = 0;
        for (place, body, intact) in block.entries() {
            let entry = Entry::decode(body).filter(|_| intact).ok_or_else(|| {
                Stopped::Damaged(format!(
                    "an append of frame {} does not decode",
                    last.number
                ))
            })?;
            self.entry(last.frame(block), place, &entry)?;
            count += 1;
        }
        if count != appends {
            return Err(Stopped::Damaged(format!(
                "frame {} holds {count} appends instead of {appends}",
                last.number
            )));
        }
        self.view.last = last;
        self.bytes += block.0.len() as u64;
        Ok(())
    }

    fn entry(&mut self, frame: FramePlace, place: Place, entry: &Entry<'_>) -> Result<(), Stopped> {
        let (session, first) = (entry.session, entry.first);
        let unfit = |what: &str| {
            let seq = entry.last();
            Stopped::Damaged(format!("record {seq} of session {session} {what}"))
        };
        let before = self.view.stream(session, None).ok().flatten();
        let seq = before.map_or(0, |stream| stream.head.seq);
        let line = entry.lines.last().ok_or_else(|| unfit("is not there"))?;
        let record = Record::parse(line).map_err(|malformed| unfit(&malformed.to_string()))?;
        if first != seq + 1 || record.session != session || record.seq != entry.last() {
            return Err(unfit("does not follow the record before"));
        }
        let head = Head {
            seq: record.seq,
            hash: crate::Hash::of_line(line),
            at_us: record.at_us,
        };
        self.closed = session.is_nil() && record.kind == system::CLOSED;
        let added = Added::of(entry, head);
        // Nothing is fetched from the index here, so nothing can fail.
        self.view
            .add(frame, place, &added, None)
            .map_err(|error| Stopped::Damaged(error.to_string()))
    }
}
