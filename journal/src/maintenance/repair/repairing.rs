//! The repair itself: what is sound is kept, what is not is rewritten.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::checking::{Notes, beside, checked};
use super::claiming;
use super::options::RepairOptions;
use super::report::{Remedy, Repaired};
use super::rewriting::Rewriting;
use super::streams::Streams;
use super::witness::Witness;
use crate::files::disk::RealDisk;
use crate::files::swap::{BACKUP, LOG, LOG_NEW, Names};
use crate::log::Written;
use crate::store::directory::claim::Directory;
use crate::store::directory::closed;
use crate::store::opening::settling;
use crate::{DiskJournal, Error, Progress};

/// Repairs the log and the marker of a journal. One that is sound is not changed; an index that is
/// damaged while the log is sound is made again from that, as an opening does it too; one that is
/// missing is left to the opening.
///
/// A backup is an ordinary journal afterwards, since it does not end any more where it says. The
/// old log stays as `log.damaged-1`, or the next free number, and the old index as
/// `sled.damaged-1`. The system stream gets a record `journal_repaired` that counts what happened.
/// Objects of salvaged records stay in the journal. A repair that is cut short can be run again;
/// once it is decided, opening finishes it.
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
    let (directory, marker) = claiming::claim(path.as_ref(), options.settings.others)?;
    let names = Names::seen_by(&directory.path, Arc::clone(&options.settings.steps));
    let mut report = Repaired::default();
    if names.has(LOG_NEW) {
        return finish_decided(&directory, &names, options, report);
    }
    if !options.dry_run {
        names.finish().map_err(repairing(&directory))?;
    }
    let was_noted = closed::holds(&directory.path);
    let index = Witness::of(&directory, &names);
    let notes = Notes::of(&directory, marker, &mut report)?;
    let mut repair = Repair {
        disk: RealDisk::new(names.path(LOG)),
        directory,
        names,
        was_noted,
        notes,
        options,
    };
    match repair.checked(&index)? {
        Some((streams, last)) => repair.keep(index, &streams, last, report),
        None => repair.rewrite(index, report),
    }
}

/// Finishes a repair that was cut short when it was already decided; a dry run only reports it.
fn finish_decided(
    directory: &Directory,
    names: &Names,
    options: RepairOptions,
    mut report: Repaired,
) -> Result<Repaired, Error> {
    if options.dry_run {
        let note = "a repair was cut short when it was already decided; repairing or opening the journal finishes it";
        report.notes.push(note.to_owned());
        report.unfinished = true;
        return Ok(report);
    }
    names.finish().map_err(repairing(directory))?;
    let note = "a repair that was cut short was finished";
    report.notes.push(note.to_owned());
    settle(directory, options.settings.progress)?;
    Ok(report)
}

/// A journal under repair.
struct Repair {
    directory: Directory,
    names: Names,
    disk: RealDisk,
    /// True if every file was as the last close left it.
    was_noted: bool,
    notes: Notes,
    options: RepairOptions,
}

impl Repair {
    /// Reads the log strictly; the streams and the last frame of one that is sound.
    fn checked(&mut self, index: &Witness) -> Result<Option<(Streams, Written)>, Error> {
        let Notes {
            backup, closed_at, ..
        } = &mut self.notes;
        checked(&self.disk, &self.directory, index, *backup, closed_at)
            .map_err(repairing(&self.directory))
    }

    /// Keeps a log that is sound, and restores what is damaged beside it.
    fn keep(
        self,
        index: Witness,
        streams: &Streams,
        last: Written,
        mut report: Repaired,
    ) -> Result<Repaired, Error> {
        // What was cut off exactly behind a frame leaves no other trace, and nothing to restore it
        // from.
        let closed_at = self.notes.closed_at;
        let shortened = closed_at
            .lost(last)
            .or_else(|| closed::shortened(&self.directory.path));
        let is_short = shortened.is_some() || !self.notes.has_close;
        let shortened = shortened.map(|what| beside(what, Remedy::Lost));
        report.damages.extend(shortened);
        report.records = streams.records;
        report.sessions = streams.sessions();
        report.was_closed = streams.closed;
        report.identical = true;
        // What a verification finds in the index; one that was never whole, as behind a repair that
        // was killed, too.
        let fault = index
            .fault(&self.disk, &self.directory, closed_at)
            .map_err(repairing(&self.directory))?;
        let fault = fault.filter(|_| !is_short);
        if let Some(what) = index.trouble.as_ref().filter(|_| fault.is_none()) {
            report.notes.push(format!("the log is sound; {what}; that needs no repair, since the next opening makes the index again from the log"));
        }
        let is_faulty = fault.is_some();
        let fault = fault.map(|what| beside(what, Remedy::Rewritten));
        report.damages.extend(fault);
        drop(index);
        self.restore_beside(is_short, is_faulty)?;
        Ok(report)
    }

    /// Restores what is damaged beside a sound log: the notes, the marker and the index.
    fn restore_beside(self, is_short: bool, is_faulty: bool) -> Result<(), Error> {
        let is_real = !self.options.dry_run;
        if is_real && is_short {
            closed::remove(&self.directory.path).map_err(repairing(&self.directory))?;
        }
        if is_real {
            self.restore_marker()?;
        }
        if is_real && !self.notes.has_backup {
            self.names
                .remove(BACKUP)
                .map_err(repairing(&self.directory))?;
        }
        if is_real && is_faulty {
            self.names.step("make the index again");
            settle(&self.directory, self.options.settings.progress)?;
        } else if self.was_noted {
            // sled touches its files even when they are only read.
            closed::write(&self.directory.path)
                .map_err(Error::io("note how the journal was found"))?;
        }
        Ok(())
    }

    /// Writes the marker anew, if it is damaged.
    fn restore_marker(&self) -> Result<(), Error> {
        if self.notes.has_marker {
            return Ok(());
        }
        self.names.step("restore the marker");
        self.directory
            .restore_marker()
            .map_err(repairing(&self.directory))
    }

    /// Writes a new log of what can be recovered, and puts it in the place of the old one.
    fn rewrite(mut self, index: Witness, report: Repaired) -> Result<Repaired, Error> {
        let (directory, names) = (&self.directory, &self.names);
        let mut rewriting = Rewriting::new(directory, names, &self.disk, &index, report);
        let noted = self.notes.backup.map_or(0, |backup| backup.frame);
        let noted = noted.max(self.notes.closed_at.frame());
        rewriting
            .read(self.options.dry_run, noted)
            .map_err(repairing(directory))?;
        if rewriting.is_empty() {
            return Err(Error::Damaged {
                session: None,
                seq: None,
                what: "neither the log nor the index has anything left".to_owned(),
            });
        }
        let settings = &self.options.settings;
        let mut report = rewriting
            .finish(&settings.program, (settings.clock)())
            .map_err(repairing(directory))?;
        drop(index);
        if self.options.dry_run {
            return Ok(report);
        }
        self.restore_marker()?;
        // It tells of the log that is replaced.
        closed::remove(&directory.path).map_err(repairing(directory))?;
        let aside = names.decide_repair().map_err(repairing(directory))?;
        (report.damaged_log, report.salvage) = (aside.log, aside.salvage);
        self.directory.lock.hold_log(&self.directory.path)?;
        self.names.step("make the index again");
        settle(&self.directory, self.options.settings.progress)?;
        Ok(report)
    }
}

/// The error of a repair that the system stopped.
fn repairing(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!(
        "repair the journal at {}",
        directory.path.display()
    ))
}

/// Makes the index level with the log, and leaves everything as a close does.
fn settle(directory: &Directory, progress: Box<dyn Fn(Progress) + Send>) -> Result<(), Error> {
    let settings = DiskJournal::options(&directory.path).read_only();
    settling::settle(directory, &settings.progress(progress)).map(drop)
}
