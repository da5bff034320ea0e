//! Recovers what can be recovered of a damaged journal, and says exactly what could not.
//!
//! Every frame is taken from the log if it is sound there, else from the index, which has the same bytes; else its single
//! appends that hold their checksums are taken. A stream lives on as far as it has no gap and its chain of hashes holds;
//! whole records behind that go into a salvage file. The log is written anew beside the old one, which is kept.

mod appends;
mod claiming;
mod new_log;
mod report;
mod rewriting;
mod sources;
mod streams;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use report::{Damage, Hurt, Remedy, Repaired};

use crate::files::disk::RealDisk;
use crate::files::swap::{BACKUP, LOG, LOG_NEW, Names};
use crate::index::Index;
use crate::log::segments::Stopped;
use crate::log::{Entry, Written, read_log};
use crate::store::directory::claim::{Directory, Others};
use crate::store::directory::closed;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;
use crate::store::opening::settling;
use crate::store::survey;
use crate::store::wall_clock;
use crate::{DiskJournal, Error, Progress};
use rewriting::Rewriting;
use streams::{Streams, Verdict};

/// Settings for a repair.
pub struct RepairOptions {
    dry_run: bool,
    program: String,
    progress: Box<dyn Fn(Progress) + Send>,
    others: Others,
    clock: Arc<dyn Fn() -> i64 + Send + Sync>,
    steps: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for RepairOptions {
    fn default() -> Self {
        Self {
            dry_run: false,
            program: concat!("recount-journal ", env!("CARGO_PKG_VERSION")).to_owned(),
            progress: Box::new(|_| {}),
            others: Others::Refused,
            clock: Arc::new(wall_clock),
            steps: Arc::new(|_| {}),
        }
    }
}

impl RepairOptions {
    /// Only reports what would be done, and changes nothing.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self {
            dry_run: true,
            ..self
        }
    }

    /// What the system stream names as the program that repaired the journal.
    #[must_use]
    pub fn program(self, program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            ..self
        }
    }

    /// Is told how much of the new log the index has, about once a mebibyte.
    #[must_use]
    pub fn progress(self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        Self {
            progress: Box::new(progress),
            ..self
        }
    }

    /// Where the time of the record of the repair comes from, in microseconds since 1970.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            ..self
        }
    }

    /// Works in a directory that [`guard`](crate::guard()) refuses.
    #[must_use]
    pub fn insecure_directory(self) -> Self {
        Self {
            others: Others::Trusted,
            ..self
        }
    }

    /// Is told of every change of the directory before it is made, so that a test can end the process there.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn steps(self, steps: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            steps: Arc::new(steps),
            ..self
        }
    }
}

impl fmt::Debug for RepairOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepairOptions")
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

/// Repairs the log and the marker of a journal. One that is sound is not changed; an index that is damaged while the log is
/// sound is made again from that, as an opening does it too; one that is missing is left to the
/// opening.
///
/// A backup is an ordinary journal afterwards, since it does not end any more where it says.
/// The old log stays as `log.damaged-1`, or the next free number, and the old index as `sled.damaged-1`. The system stream gets
/// a record `journal_repaired` that counts what happened. Objects of salvaged records stay in the journal. A repair that is
/// cut short can be run again; once it is decided, opening finishes it.
///
/// ```
/// use recount_journal::{DiskJournal, Journal, RepairOptions, block_on, repair};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// block_on(DiskJournal::open(&path)?.close())?;
/// std::fs::write(path.join("JOURNAL"), "scribbled over").unwrap();
/// let repaired = repair(&path, RepairOptions::default())?;
/// assert!(repaired.was_needed() && !repaired.lost_something());
/// DiskJournal::open(&path)?;
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Insecure`], [`Error::NotYours`], [`Error::InUse`], [`Error::Missing`],
/// [`Error::NewerFormat`]; [`Error::NotAJournal`] when neither the marker nor the log says whose it
/// is; [`Error::Damaged`] when neither log nor index has anything left; [`Error::Io`].
pub fn repair(path: impl AsRef<Path>, options: RepairOptions) -> Result<Repaired, Error> {
    let (mut directory, marker) = claiming::claim(path.as_ref(), options.others)?;
    let names = Names::seen_by(&directory.path, Arc::clone(&options.steps));
    let doing = || {
        Error::io(format!(
            "repair the journal at {}",
            directory.path.display()
        ))
    };
    let mut report = Repaired::default();
    let is_decided = names.has(LOG_NEW);
    if options.dry_run && is_decided {
        let note = "a repair was cut short when it was already decided; repairing or opening the journal finishes it";
        report.notes.push(note.to_owned());
        report.unfinished = true;
        return Ok(report);
    }
    if !options.dry_run {
        names.finish().map_err(doing())?;
    }
    if is_decided {
        let note = "a repair that was cut short was finished";
        report.notes.push(note.to_owned());
        settle(&directory, options.progress)?;
        return Ok(report);
    }
    let was_noted = closed::holds(&directory.path);
    let disk = RealDisk::new(names.path(LOG));
    let index = Witness::of(&directory, &names);
    let backup = match Manifest::read(&directory.path) {
        Ok(backup) => Ok(backup),
        Err(Error::Damaged { what, .. }) => Err(what),
        Err(error) => return Err(error),
    };
    let (mut closed_at, no_note) = match NotedEnd::of(&directory.path) {
        Ok(noted) => (noted, None),
        Err(Error::Damaged { what, .. }) => (NotedEnd::default(), Some(what)),
        Err(error) => return Err(error),
    };
    let noted = backup.as_ref().ok().copied().flatten();
    let sound = checked(&disk, &directory, &index, noted, &mut closed_at).map_err(doing())?;
    report.damages.extend(marker.map(|what| Damage {
        frames: None,
        what,
        remedy: Remedy::Rewritten,
    }));
    let has_marker = report.damages.is_empty();
    let has_backup = backup.is_ok();
    report.damages.extend(backup.err().map(|what| Damage {
        frames: None,
        what,
        remedy: Remedy::Removed,
    }));
    let has_note = no_note.is_none();
    report.damages.extend(no_note.map(|what| Damage {
        frames: None,
        what,
        remedy: Remedy::Removed,
    }));
    if let Some((streams, last)) = sound {
        // What was cut off exactly behind a frame leaves no other trace, and nothing to restore it from.
        let shortened = closed_at
            .lost(last)
            .or_else(|| closed::shortened(&directory.path));
        let is_short = shortened.is_some() || !has_note;
        report.damages.extend(shortened.map(|what| Damage {
            frames: None,
            what,
            remedy: Remedy::Lost,
        }));
        report.records = streams.records;
        report.sessions = streams.sessions();
        report.was_closed = streams.closed;
        report.identical = true;
        // What a verification finds in the index; one that was never whole, as behind a repair that
        // was killed, too.
        let fault = index.fault(&disk, &directory, closed_at).map_err(doing())?;
        let fault = fault.filter(|_| !is_short);
        if let Some(what) = index.trouble.as_ref().filter(|_| fault.is_none()) {
            report.notes.push(format!("the log is sound; {what}; that needs no repair, since the next opening makes the index again from the log"));
        }
        let is_faulty = fault.is_some();
        report.damages.extend(fault.map(|what| Damage {
            frames: None,
            what,
            remedy: Remedy::Rewritten,
        }));
        drop(index);
        if !options.dry_run && is_short {
            closed::remove(&directory.path).map_err(doing())?;
        }
        if !options.dry_run && !has_marker {
            names.step("restore the marker");
            directory.restore_marker().map_err(doing())?;
        }
        if !options.dry_run && !has_backup {
            names.remove(BACKUP).map_err(doing())?;
        }
        if !options.dry_run && is_faulty {
            names.step("make the index again");
            settle(&directory, options.progress)?;
        } else if was_noted {
            // sled touches its files even when they are only read.
            closed::write(&directory.path).map_err(Error::io("note how the journal was found"))?;
        }
        return Ok(report);
    }
    let mut rewriting = Rewriting::new(&directory, &names, &disk, &index, report);
    let noted = noted.map_or(0, |backup| backup.frame);
    let noted = noted.max(closed_at.frame());
    rewriting.read(options.dry_run, noted).map_err(doing())?;
    if rewriting.is_empty() {
        return Err(Error::Damaged {
            session: None,
            seq: None,
            what: "neither the log nor the index has anything left".to_owned(),
        });
    }
    let mut report = rewriting
        .finish(&options.program, (options.clock)())
        .map_err(doing())?;
    drop(index);
    if options.dry_run {
        return Ok(report);
    }
    if !has_marker {
        names.step("restore the marker");
        directory.restore_marker().map_err(doing())?;
    }
    // It tells of the log that is replaced.
    closed::remove(&directory.path).map_err(doing())?;
    let aside = names.decide_repair().map_err(doing())?;
    (report.damaged_log, report.salvage) = (aside.log, aside.salvage);
    directory.lock.hold_log(&directory.path)?;
    names.step("make the index again");
    settle(&directory, options.progress)?;
    Ok(report)
}

/// Makes the index level with the log, and leaves everything as a close does.
fn settle(directory: &Directory, progress: Box<dyn Fn(Progress) + Send>) -> Result<(), Error> {
    let settings = DiskJournal::options(&directory.path).read_only();
    settling::settle(directory, &settings.progress(progress)).map(drop)
}

/// The index as far as it can be had.
struct Witness {
    index: Option<Index>,
    /// The last frame it vouches for, if it says that it is of this journal.
    mark: Option<Written>,
    /// The last frame it has or speaks of.
    known: u64,
    trouble: Option<String>,
}

impl Witness {
    fn of(directory: &Directory, names: &Names) -> Self {
        let mut witness = Self {
            index: None,
            mark: None,
            known: 0,
            trouble: None,
        };
        let Some(place) = names.index() else {
            witness.trouble = Some("the index is missing".to_owned());
            return witness;
        };
        let cannot = |what| Some(format!("the index cannot be used: {what}"));
        match Index::open(&place, 64 << 20) {
            Ok(index) => {
                match index.mark(directory.journal) {
                    Ok(mark) => {
                        witness.mark = mark.map(|(mark, _)| mark);
                        let marked = witness.mark.map_or(0, |mark| mark.number);
                        witness.known = marked.max(index.last_frame().unwrap_or(0));
                    }
                    Err(what) => witness.trouble = cannot(what),
                }
                witness.index = Some(index);
            }
            Err(what) => witness.trouble = cannot(what),
        }
        witness
    }

    /// The first thing that a verification finds wrong with an index that is there, beside a log
    /// that is sound.
    fn fault(
        &self,
        disk: &RealDisk,
        directory: &Directory,
        noted: NotedEnd,
    ) -> std::io::Result<Option<String>> {
        let Some(index) = &self.index else {
            let is_there = names_index(directory);
            return Ok(self.trouble.clone().filter(|_| is_there));
        };
        if self.trouble.is_some() {
            return Ok(self.trouble.clone());
        }
        let mark = self.mark.map(|mark| (index, mark));
        let survey = survey::of_log(disk, directory.journal, mark, noted)?;
        let is_behind = survey.is_behind(self.mark) && closed::is_noted(&directory.path);
        let behind = is_behind.then(|| survey::BEHIND.to_owned());
        let found = survey.findings().into_iter().next();
        Ok(found.map(|finding| finding.what).or(behind))
    }
}

fn names_index(directory: &Directory) -> bool {
    Names::of(&directory.path).index().is_some()
}

/// Reads the log strictly; gives its streams if all of it is sound, reaches as far as the index knows, and ends where it was
/// noted to end.
fn checked(
    disk: &RealDisk,
    directory: &Directory,
    index: &Witness,
    noted: Option<Manifest>,
    closed_at: &mut NotedEnd,
) -> std::io::Result<Option<(Streams, Written)>> {
    let mut streams = Streams::default();
    let mark = index.mark;
    let mut is_known = mark.is_none_or(|mark| mark.number == 0);
    let read = read_log(disk, directory.journal, |header, last, block| {
        let mut count = 0;
        for (_, body, is_intact) in block.entries() {
            let entry = Entry::decode(body).filter(|_| is_intact);
            let lives = entry.is_some_and(|entry| streams.offer(&entry, true) == Verdict::Lives);
            count += u32::from(lives);
        }
        is_known |= mark == Some(last);
        closed_at.see(last);
        if count == header.entries {
            Ok(())
        } else {
            Err(Stopped::Damaged(format!("frame {}", last.number)))
        }
    });
    match read {
        Ok(log) => {
            let found = Manifest::of(directory.journal, log.last, streams.records);
            let is_whole = is_known
                && log.file.is_some()
                && index.known <= log.last.number
                && noted.is_none_or(|noted| noted == found);
            Ok(is_whole.then_some((streams, log.last)))
        }
        Err(Stopped::Damaged(_)) => Ok(None),
        Err(Stopped::Io(error)) => Err(error),
    }
}
