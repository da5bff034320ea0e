//! The recovery: it finds the end of the log, and brings the index up to it.
//!
//! After a clean close without later changes, it reads only the mark of the index, the open items,
//! and the rows of waiting streams. Otherwise it reads the whole log, and compares the whole index
//! with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::options::Options;
use super::pass::{Passed, pass};
use super::refused::{damaged, reading, require_log};
use crate::Error;
use crate::files::swap::Names;
use crate::index::Index;
use crate::index::kept;
use crate::index::read::nowhere;
use crate::log::segments::{LogEnd, Stopped};
use crate::log::{FrameBytes, LogWriter, Written, segment_name};
use crate::store::directory::claim::{Directory, index_place};
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest;
use crate::store::directory::manifest::Manifest;
use crate::store::directory::{closed, snapshots};
use crate::store::system::{After, IndexState, Opened};
use crate::view::View;

/// The state with which the store starts.
pub(in crate::store) struct Recovered {
    pub(in crate::store) view: View,
    pub(in crate::store) index: Index,
    /// `None` if the journal is opened for reading only.
    pub(in crate::store) writer: Option<LogWriter>,
    pub(in crate::store) opened: Opened,
}

/// Finds the end of the log and brings the index up to it.
pub(in crate::store) fn recover(
    directory: &Directory,
    options: &Options,
) -> Result<Recovered, Error> {
    Names::of(&directory.path).finish().map_err(Error::io(
        "finish a repair or a compaction that was cut short",
    ))?;
    if !options.read_only {
        snapshots::remove_drafts(&directory.path);
    }
    let place = index_place(&directory.path);
    let noted = if options.notes_close {
        NotedEnd::of(&directory.path)?
    } else {
        NotedEnd::default()
    };
    let clean = options.notes_close && closed::holds(&directory.path);
    let (was_there, mut is_aside) = (is_there(&place), false);
    let mut rebuilt = (!directory.created && !was_there).then(|| "it was missing".to_owned());
    let (index, mark) = match open_index(&place, options, directory.journal) {
        Ok(opened) => opened,
        // The process that holds the index holds the journal, whatever happened to the locks. The
        // index is not set aside.
        Err(why) if crate::index::is_in_use(&why) => {
            return Err(Error::InUse {
                path: directory.path.clone(),
            });
        }
        // An index that the disk had no room to open is not set aside either.
        Err(why) if crate::index::refused_by_disk(&why).is_some() => return Err(nowhere(why)),
        Err(why) => {
            require_log(directory, options)?;
            rebuilt = Some(why);
            is_aside = was_there;
            (fresh_index(&place, options)?, None)
        }
    };
    // A damaged byte may cost sled its latest writes, and the mark is then an older one. Sizes and
    // times of the files do not show that.
    let is_whole = |mark: &Written| {
        let end = (segment_name(mark.segment), mark.end);
        closed::log_end(&directory.path) == Some(end) && noted.is_last(*mark)
    };
    if let Some(kept_at) = mark.filter(|(mark, _)| clean && is_whole(mark))
        && let Ok(work) = index.open_work()
    {
        let (mark, records) = kept_at;
        let mut view = View::new(mark, records, work);
        let waiting = closed::holds_waiting(&directory.path);
        let waiting = waiting.then(|| snapshots::waiting(&directory.path));
        let waiting = waiting
            .flatten()
            .and_then(|bytes| kept::read(&bytes, directory.journal, kept_at));
        view.cache(waiting.unwrap_or_default());
        return keep(directory, options, index, view);
    }
    let mark = mark.map(|(mark, _)| mark);
    let leveled = level(directory, options, index, mark, rebuilt, noted);
    if leveled.is_err() && (is_aside || !was_there) {
        put_back(&place, is_aside);
    }
    leveled
}

/// Starts with the state of a clean close.
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

/// Reads the whole log, and makes the index equal to it.
fn level(
    directory: &Directory,
    options: &Options,
    mut index: Index,
    mark: Option<Written>,
    rebuilt: Option<String>,
    mut noted: NotedEnd,
) -> Result<Recovered, Error> {
    let place = index_place(&directory.path);
    let stop = |stopped, index: Index, mark: Option<Written>| match stopped {
        Stopped::Io(error) => reading(directory)(error),
        Stopped::Damaged(what) => {
            // The pass has filled the index up to the end of the sound part.
            let now = index.mark(directory.journal).ok().flatten();
            let mark = now.map(|(mark, _)| mark).or(mark);
            damaged(directory, options, mark.map(|mark| (&index, mark)), what)
        }
    };
    let Passed {
        log,
        mut seen,
        filled,
        wrong,
    } = match pass(&index, directory.journal, mark, options, |frame| {
        noted.see(frame);
    }) {
        Ok(passed) => passed,
        Err(stopped) => return Err(stop(stopped, index, mark)),
    };
    // The frames of the index may be ahead of its mark. An index that cannot be read is rebuilt.
    let marked = mark.map_or(0, |mark| mark.number);
    let known = index.last_frame().unwrap_or(0).max(marked);
    if known > log.last.number {
        let what = format!(
            "the log ends at frame {}, the index knows frame {known}",
            log.last.number
        );
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    let records = seen.view.records;
    if let Some(what) = lost(directory, options, &log, records, &noted)? {
        return Err(stop(Stopped::Damaged(what), index, mark));
    }
    let state = match (wrong, rebuilt) {
        (None, Some(why)) => IndexState::Rebuilt(why),
        (None, None) if filled == 0 || (mark.is_none() && directory.created) => IndexState::Kept,
        (None, None) => IndexState::CaughtUp(filled),
        (Some(why), _) => {
            drop(index);
            index = fresh_index(&place, options)?;
            let again = match pass(&index, directory.journal, None, options, |_| ()) {
                Ok(passed) => passed,
                Err(stopped) => return Err(stop(stopped, index, None)),
            };
            if let Some(what) = again.wrong {
                return Err(nowhere(what));
            }
            seen = again.seen;
            IndexState::Rebuilt(why)
        }
    };
    let opened = Opened {
        after: after(&log, seen.closed),
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
        Some(go_on(directory, options, log, seen.last_frame_bytes).map_err(going_on(directory))?)
    };
    Ok(Recovered {
        view: seen.view,
        index,
        writer,
        opened,
    })
}

/// Returns a description if a completely read log lacks acknowledged records.
fn lost(
    directory: &Directory,
    options: &Options,
    log: &LogEnd,
    records: u64,
    noted: &NotedEnd,
) -> Result<Option<String>, Error> {
    let backup = Manifest::read(&directory.path)?;
    let found = Manifest::of(directory.journal, log.last, records);
    if let Some(what) = backup.and_then(|backup| backup.differs(&found)) {
        return Ok(Some(what));
    }
    let shortened = options
        .notes_close
        .then(|| closed::shortened(&directory.path))
        .flatten();
    if let Some(what) = shortened.or_else(|| noted.lost(log.last)) {
        return Ok(Some(what));
    }
    let is_gone = log.file.is_none() && !options.create;
    Ok(is_gone.then(|| "the log is gone".to_owned()))
}

/// The state before an opening that read the whole log.
fn after(log: &LogEnd, was_closed: bool) -> After {
    match was_closed {
        _ if log.last.number == 0 => After::New,
        true if log.torn == 0 => After::Clean,
        true | false => After::Crash,
    }
}

/// Removes `CLOSED` just before the log is written. Until then the note shows what the log has
/// lost.
fn forget_close(directory: &Directory) -> Result<(), Error> {
    closed::remove(&directory.path).map_err(Error::io("remove the note of the last close"))
}

fn going_on(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!(
        "go on with the log of {}",
        directory.path.display()
    ))
}

/// Creates the writer after the last frame, and writes that frame again: if its sync failed, it may
/// exist only in the system's cache.
fn go_on(
    directory: &Directory,
    options: &Options,
    log: LogEnd,
    last_frame_bytes: Option<Arc<FrameBytes>>,
) -> io::Result<LogWriter> {
    let (disk, journal) = (Arc::clone(&options.disk), directory.journal);
    let limit = options.segment_bytes;
    let Some(file) = log.file else {
        return LogWriter::create(disk, journal, limit);
    };
    let mut writer = LogWriter::resume(disk, journal, limit, file, log.last)?;
    // The process that created the segment may have stopped before its name was durable.
    options.disk.sync_names()?;
    writer.cut(&log.unused)?;
    if let Some(frame_bytes) = last_frame_bytes {
        writer.write_again(&frame_bytes)?;
    }
    Ok(writer)
}

fn open_index(
    place: &Path,
    options: &Options,
    journal: Uuid,
) -> Result<(Index, Option<(Written, u64)>), String> {
    let index = Index::open(place, options.settings.cache_bytes)?;
    let mark = index.mark(journal)?;
    Ok((index, mark))
}

/// Sets the existing index aside, replacing an earlier one, and creates an empty index.
fn fresh_index(place: &Path, options: &Options) -> Result<Index, Error> {
    let aside = aside(place);
    let moving = || Error::io(format!("set the damaged index {} aside", place.display()));
    let was_there = is_there(place);
    if was_there {
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(moving()(error)),
            Ok(()) | Err(_) => {}
        }
        fs::rename(place, &aside).map_err(moving())?;
    }
    Index::open(place, options.settings.cache_bytes)
        .inspect_err(|_| put_back(place, was_there))
        .map_err(nowhere)
}

/// Undoes a failed opening, for example on a full disk. A new index is useless; an old one may help
/// a repair.
fn put_back(place: &Path, is_aside: bool) {
    let _left = fs::remove_dir_all(place);
    let _left = is_aside.then(|| fs::rename(aside(place), place));
}

/// True if the path exists, also for a dangling link.
fn is_there(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok()
}

fn aside(place: &Path) -> PathBuf {
    place.with_file_name("sled.damaged-1")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::index::Row;
    use crate::{
        Actor, Append, DiskJournal, Draft, Hash, Head, Journal, OpenItem, WorkChange, block_on,
    };

    const STREAM: Uuid = Uuid::from_u128(7);

    /// Creates a closed journal with one stream, in which an item waits for an answer.
    fn closed_journal(path: &Path) {
        let journal = DiskJournal::open(path).unwrap();
        let draft = Draft {
            session: STREAM,
            seq: 1,
            at_us: 0,
            kind: "asked",
            cause: None,
            actor: Actor::new("engine"),
            body: "{}",
            prev: Hash::ZERO,
        };
        let mut append = Append::new(STREAM, 0, vec![draft.line()]);
        append.open_work = vec![WorkChange::Put(OpenItem {
            session: STREAM,
            item: 1,
            kind: "confirmation".to_owned(),
            since_us: 0,
            deadline_us: None,
            request: Some(Uuid::from_u128(8)),
            flags: 0,
        })];
        block_on(journal.append(append)).unwrap();
        block_on(journal.close()).unwrap();
    }

    fn copy_files(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.metadata().unwrap().is_file() {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }

    #[test]
    fn index_that_lost_its_latest_writes_is_caught_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        closed_journal(path);
        let older = tempfile::tempdir().unwrap();
        copy_files(&index_place(path), older.path());
        // Adds two more records of the system stream.
        block_on(DiskJournal::open(path).unwrap().close()).unwrap();
        let before = DiskJournal::options(path).read_only().open().unwrap();
        let records = before.opened().records;
        drop(before);

        fs::remove_dir_all(index_place(path)).unwrap();
        fs::create_dir(index_place(path)).unwrap();
        copy_files(older.path(), &index_place(path));
        // Simulates that sled lost its latest writes without a change of sizes and times.
        closed::write_at_close(path, end_of(path), false).unwrap();
        let journal = DiskJournal::open(path).unwrap();
        assert!(matches!(journal.opened().index, IndexState::CaughtUp(_)));
        assert_eq!(journal.opened().records, records);
        block_on(journal.close()).unwrap();
        let report = crate::maintenance::verify::directory(path).unwrap();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.records, records + 2);
    }

    /// Returns the end in the note of a journal.
    fn end_of(path: &Path) -> Manifest {
        let text = fs::read(path.join("CLOSED")).unwrap();
        let note: serde_json::Value = serde_json::from_slice(&text).unwrap();
        serde_json::from_value(note.get("end").unwrap().clone()).unwrap()
    }

    /// Returns the mark of the index. It opens a copy, because sled also writes when it reads.
    fn mark_of(path: &Path, journal: Uuid) -> (Written, u64) {
        let copy = tempfile::tempdir().unwrap();
        copy_files(&index_place(path), copy.path());
        let index = Index::open(copy.path(), 1 << 20).unwrap();
        index.mark(journal).unwrap().unwrap()
    }

    #[test]
    fn rows_of_waiting_streams_are_used_only_from_last_close() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        closed_journal(path);
        let head = || {
            let journal = DiskJournal::options(path).read_only().open().unwrap();
            assert!(!journal.opened().read_whole);
            block_on(journal.head(STREAM)).unwrap().unwrap()
        };
        let before = head();
        assert_eq!(before.seq, 1);
        // A head that only that file can contain.
        let forged = Head {
            seq: 99,
            hash: Hash::ZERO,
            at_us: 1,
        };
        let journal = Directory::claim(path, false, Default::default())
            .unwrap()
            .journal;
        let (mark, records) = mark_of(path, journal);
        let forge = |mark| {
            let bytes = kept::to_bytes(journal, mark, [Row::head(STREAM, &forged, &[])]);
            snapshots::keep_waiting(path, Some(&bytes)).unwrap();
        };
        forge((mark, records));
        assert_eq!(head(), before, "it is not the file that the close kept");
        assert_eq!(head(), before, "nor is it by having been looked at");
        closed::write_at_close(path, end_of(path), false).unwrap();
        assert_eq!(head(), before, "the close could not keep it");
        closed::write_at_close(path, end_of(path), true).unwrap();
        assert_eq!(head(), forged, "as if a close had kept it");
        forge((mark, records + 1));
        closed::write_at_close(path, end_of(path), true).unwrap();
        assert_eq!(head(), before, "it is of another state of the index");
    }
}
