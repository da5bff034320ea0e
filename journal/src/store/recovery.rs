//! What happens between the lock and the first append: the end of the log is found, the index is brought level.
//!
//! After a clean close that every file still agrees with, nothing is read but the index's mark and what is open. Else the whole log is
//! read and the whole index is compared with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::directory::Directory;
use super::options::{Options, Progress};
use super::refused::{damaged, reading, require_log};
use super::{After, IndexState, Opened, closed, system};
use crate::backup::manifest::{self, Manifest};
use crate::index::{Index, Row, Walk};
use crate::log::segments::{self, LogEnd, Stopped};
use crate::log::{Block, Entry, FramePlace, LogWriter, Place, Written, read_log, segment_name};
use crate::swap::Names;
use crate::view::{Added, View};
use crate::{Error, Head, Record};

/// How many bytes of frames go into the index before what they come down to follows.
const FLUSH_BYTES: usize = 8 << 20;

/// Everything the store starts with.
pub(super) struct Recovered {
    pub(super) view: View,
    pub(super) index: Index,
    /// `None` when the journal is opened for looking only.
    pub(super) writer: Option<LogWriter>,
    pub(super) opened: Opened,
}

/// Where a journal keeps its index.
pub(crate) fn index_place(directory: &Path) -> PathBuf {
    directory.join("sled")
}

/// Finds the end of the log and brings the index level with it.
pub(super) fn recover(directory: &Directory, options: &Options) -> Result<Recovered, Error> {
    Names::of(&directory.path).finish().map_err(Error::io(
        "finish a repair or a compaction that was cut short",
    ))?;
    let place = index_place(&directory.path);
    let clean = options.vouches && closed::holds(&directory.path);
    let (was_there, mut is_aside) = (place.exists(), false);
    let mut rebuilt = (!directory.created && !was_there).then(|| "it was missing".to_owned());
    let (index, mark) = match open_index(&place, options, directory.journal) {
        Ok(opened) => opened,
        Err(why) => {
            require_log(directory, options)?;
            rebuilt = Some(why);
            is_aside = was_there;
            (fresh_index(&place, options)?, None)
        }
    };
    if let Some(kept) = mark.filter(|_| clean)
        && let Ok(work) = index.open_work()
    {
        let (mark, records) = kept;
        return keep(directory, options, index, View::new(mark, records, work));
    }
    let mark = mark.map(|(mark, _)| mark);
    let leveled = level(directory, options, index, mark, rebuilt);
    if leveled.is_err() && (is_aside || !was_there) {
        put_back(&place, is_aside);
    }
    leveled
}

/// Starts with what a clean close left.
fn keep(
    directory: &Directory,
    options: &Options,
    index: Index,
    view: View,
) -> Result<Recovered, Error> {
    let writer = if options.read_only {
        None
    } else {
        forget_close(directory)?;
        let resume = || {
            let name = segment_name(view.last.segment);
            let file = options.disk.open(&name, false)?;
            let disk = Arc::clone(&options.disk);
            LogWriter::resume(
                disk,
                directory.journal,
                options.segment_bytes,
                file,
                view.last,
            )
        };
        Some(resume().map_err(going_on(directory))?)
    };
    let opened = Opened {
        after: After::Clean,
        index: IndexState::Kept,
        records: view.records,
        cut_bytes: 0,
        read_whole: false,
    };
    Ok(Recovered {
        view,
        index,
        writer,
        opened,
    })
}

/// Reads the whole log, and makes the index hold exactly that.
fn level(
    directory: &Directory,
    options: &Options,
    mut index: Index,
    mark: Option<Written>,
    rebuilt: Option<String>,
) -> Result<Recovered, Error> {
    let place = index_place(&directory.path);
    let stop = |stopped, index: Index, mark: Option<Written>| match stopped {
        Stopped::Io(error) => reading(directory)(error),
        Stopped::Damaged(what) => {
            damaged(directory, options, mark.map(|mark| (&index, mark)), what)
        }
    };
    let mut pass = Pass::new(&index, directory.journal, mark);
    let log = match pass.run(options) {
        Ok(log) => log,
        Err(stopped) => {
            drop(pass);
            return Err(stop(stopped, index, mark));
        }
    };
    // The frames of the index may be ahead of its mark. One that cannot be asked is made again.
    let marked = mark.map_or(0, |mark| mark.number);
    let known = index.last_frame().unwrap_or(0).max(marked);
    if known > log.last.number {
        let what = format!(
            "the log ends at frame {}, the index knows frame {known}",
            log.last.number
        );
        drop(pass);
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    let backup = Manifest::read(&directory.path)?;
    let found = Manifest::of(directory.journal, log.last, pass.seen.view.records);
    if let Some(what) = backup.and_then(|backup| backup.differs(&found)) {
        drop(pass);
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    if let Some(what) = options
        .vouches
        .then(|| closed::shortened(&directory.path))
        .flatten()
    {
        drop(pass);
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    let never_begun = log.file.is_none();
    if never_begun && !options.create {
        let what = "the log is gone".to_owned();
        drop(pass);
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    let (filled, wrong) = (pass.filled, pass.wrong.take());
    let mut seen = pass.seen();
    let state = match (wrong, rebuilt) {
        (None, Some(why)) => IndexState::Rebuilt(why),
        (None, None) if filled == 0 || (mark.is_none() && directory.created) => IndexState::Kept,
        (None, None) => IndexState::CaughtUp(filled),
        (Some(why), _) => {
            drop(index);
            index = fresh_index(&place, options)?;
            let mut pass = Pass::new(&index, directory.journal, None);
            if let Err(stopped) = pass.run(options) {
                drop(pass);
                return Err(stop(stopped, index, None));
            }
            if let Some(what) = pass.wrong.take() {
                return Err(crate::index::read::nowhere(what));
            }
            seen = pass.seen();
            IndexState::Rebuilt(why)
        }
    };
    let opened = Opened {
        after: match seen.closed {
            _ if log.last.number == 0 => After::New,
            true if log.torn == 0 => After::Clean,
            true | false => After::Crash,
        },
        index: state,
        records: seen.view.records,
        cut_bytes: log.torn,
        read_whole: true,
    };
    let writer = if options.read_only {
        None
    } else {
        forget_close(directory)?;
        manifest::remove(&directory.path).map_err(going_on(directory))?;
        Some(go_on(directory, options, log, seen.last_block).map_err(going_on(directory))?)
    };
    Ok(Recovered {
        view: seen.view,
        index,
        writer,
        opened,
    })
}

/// Before the log is written; until then the note shows what the log has lost.
fn forget_close(directory: &Directory) -> Result<(), Error> {
    closed::remove(&directory.path).map_err(Error::io("remove the note of the last close"))
}

fn going_on(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!(
        "go on with the log of {}",
        directory.path.display()
    ))
}

/// The writer behind the last frame. That frame is written again: if its sync failed once, only the cache of the system may have it.
fn go_on(
    directory: &Directory,
    options: &Options,
    log: LogEnd,
    last_block: Option<Block>,
) -> io::Result<LogWriter> {
    let (disk, journal) = (Arc::clone(&options.disk), directory.journal);
    let limit = options.segment_bytes;
    let Some(file) = log.file else {
        return LogWriter::create(disk, journal, limit);
    };
    let mut writer = LogWriter::resume(disk, journal, limit, file, log.last)?;
    // Whoever made the segment may have been stopped before its name was durable.
    options.disk.sync_names()?;
    writer.cut(&log.unused)?;
    if let Some(block) = last_block {
        writer.write_again(&block)?;
    }
    Ok(writer)
}

fn open_index(
    place: &Path,
    options: &Options,
    journal: Uuid,
) -> Result<(Index, Option<(Written, u64)>), String> {
    let index = Index::open(place, options.cache_bytes)?;
    let mark = index.mark(journal)?;
    Ok((index, mark))
}

/// Sets what is there aside, keeping one such directory, and begins anew.
fn fresh_index(place: &Path, options: &Options) -> Result<Index, Error> {
    let aside = aside(place);
    let moving = || Error::io(format!("set the damaged index {} aside", place.display()));
    let was_there = place.exists();
    if was_there {
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(moving()(error)),
            Ok(()) | Err(_) => {}
        }
        fs::rename(place, &aside).map_err(moving())?;
    }
    Index::open(place, options.cache_bytes)
        .inspect_err(|_| put_back(place, was_there))
        .map_err(crate::index::read::nowhere)
}

/// Undoes an opening that came to nothing, such as on a full disk: an index that was begun is of no use, one that was found may be to a repair.
fn put_back(place: &Path, is_aside: bool) {
    let _left = fs::remove_dir_all(place);
    let _left = is_aside.then(|| fs::rename(aside(place), place));
}

fn aside(place: &Path) -> PathBuf {
    place.with_file_name("sled.damaged-1")
}

/// One reading of the whole log against an index: frames up to its mark are compared, later ones are put in.
pub(super) struct Pass<'i> {
    index: &'i Index,
    journal: Uuid,
    mark: Option<Written>,
    walk: Walk,
    seen: Seen,
    /// How many frames were put in.
    filled: u64,
    unflushed: usize,
    /// Why the index cannot be used.
    pub(super) wrong: Option<String>,
}

/// What the log says.
pub(super) struct Seen {
    pub(super) view: View,
    /// Whether the last record is that of a close.
    pub(super) closed: bool,
    last_block: Option<Block>,
}

impl<'i> Pass<'i> {
    pub(super) fn new(index: &'i Index, journal: Uuid, mark: Option<Written>) -> Self {
        Self {
            index,
            journal,
            mark,
            walk: index.walk(),
            seen: Seen {
                view: View::empty(),
                closed: false,
                last_block: None,
            },
            filled: 0,
            unflushed: 0,
            wrong: None,
        }
    }

    pub(super) fn seen(self) -> Seen {
        self.seen
    }

    fn run(&mut self, options: &Options) -> Result<LogEnd, Stopped> {
        self.run_with(options, |_| ())
    }

    /// Reads the log, and tells the end of every frame.
    pub(super) fn run_with(
        &mut self,
        options: &Options,
        mut each: impl FnMut(Written),
    ) -> Result<LogEnd, Stopped> {
        let numbers = segments::numbers(&*options.disk)?;
        let total = segments::total(&*options.disk, &numbers)?;
        // A killed process may have left a frame that only the cache of the system has. It must not be in the index and
        // then, after a power loss, not in the log. The last segment may be one that was prepared, hence two.
        for number in numbers.iter().rev().take(2) {
            options.disk.open(&segment_name(*number), false)?.sync()?;
        }
        let (mut done, mut told) = (0, 0);
        let log = read_log(&*options.disk, self.journal, |header, last, block| {
            done += block.0.len() as u64;
            each(last);
            self.frame(header.entries, last, block)?;
            if done - told > 1 << 20 {
                told = done;
                (options.progress)(Progress { done, total });
            }
            Ok(())
        })?;
        self.flush();
        (options.progress)(Progress { done: total, total });
        Ok(log)
    }

    fn frame(&mut self, appends: u32, last: Written, block: Block) -> Result<(), Stopped> {
        let checked = self.mark.is_some_and(|mark| last.number <= mark.number);
        self.seen.add(appends, last, &block)?;
        if self.wrong.is_none() {
            let done = if checked {
                self.check(last, &block)
            } else {
                self.put(last, &block)
            };
            self.wrong = done.err();
        }
        if let Some(mark) = self.mark.filter(|mark| mark.number == last.number)
            && mark != last
        {
            // The index is filled from synced frames only, so one of the two is not what it was.
            return Err(Stopped::Damaged(format!(
                "frame {} of the log is not the one the index was filled from",
                last.number
            )));
        }
        self.seen.last_block = Some(block);
        Ok(())
    }

    fn check(&mut self, last: Written, block: &Block) -> Result<(), String> {
        if !self.walk.holds(last.number, block) {
            return Err(format!(
                "it does not hold frame {} as the log does",
                last.number
            ));
        }
        if self.mark.is_some_and(|mark| mark.number == last.number) {
            if !self.walk.is_behind(last.number) {
                return Err("it has frames that the log does not have".to_owned());
            }
            let rows: Vec<Row> = self.seen.view.begin_flush();
            self.index.check(&rows)?;
            self.seen.view.end_flush();
        }
        Ok(())
    }

    fn put(&mut self, last: Written, block: &Block) -> Result<(), String> {
        self.index
            .put_blocks(std::iter::once((last.number, block)), || ())?;
        self.filled += 1;
        self.unflushed += block.0.len();
        if self.unflushed > FLUSH_BYTES {
            self.put_rows()?;
        }
        Ok(())
    }

    fn flush(&mut self) {
        if self.wrong.is_none() && self.unflushed > 0 {
            self.wrong = self.put_rows().err();
        }
    }

    fn put_rows(&mut self) -> Result<(), String> {
        let view = &mut self.seen.view;
        let rows = view.begin_flush();
        self.index
            .commit(rows, self.journal, view.last, view.records)?;
        view.end_flush();
        self.unflushed = 0;
        Ok(())
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
