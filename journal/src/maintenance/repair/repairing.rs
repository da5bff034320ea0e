//! The steps of a repair: sound parts are kept, the rest is rewritten.

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

/// Repairs the log and the marker of a journal.
///
/// A sound log is not changed. A damaged index beside a sound log is rebuilt from it, as an opening
/// does, too. A missing index is left to the next opening.
///
/// A repaired backup is an ordinary journal, because its end has changed. The old log stays as
/// `log.damaged-1`, or with the next free number, and the old index as `sled.damaged-1`. The system
/// stream gets a record `journal_repaired` with counts. Objects of salvaged records stay in the
/// journal. An interrupted repair can be run again; once it is decided, any opening finishes it.
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
/// [`Error::NewerFormat`]; [`Error::NotAJournal`] if neither the marker nor the log names the
/// journal; [`Error::Damaged`] if neither the log nor the index has any record; [`Error::Io`].
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

/// Finishes an interrupted repair that was already decided. A dry run only reports it.
fn finish_decided(
    directory: &Directory,
    names: &Names,
    options: RepairOptions,
    mut report: Repaired,
) -> Result<Repaired, Error> {
    if options.dry_run {
        let note = "a repair was cut short when it was already decided; \
                    repairing or opening the journal finishes it";
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
    /// True if `CLOSED` described every file correctly.
    was_noted: bool,
    notes: Notes,
    options: RepairOptions,
}

impl Repair {
    /// Checks the log strictly. Returns its streams and the last frame if it is sound.
    fn checked(&mut self, index: &Witness) -> Result<Option<(Streams, Written)>, Error> {
        let Notes {
            backup, closed_at, ..
        } = &mut self.notes;
        checked(&self.disk, &self.directory, index, *backup, closed_at)
            .map_err(repairing(&self.directory))
    }

    /// Keeps a sound log, and restores the damaged files beside it.
    fn keep(
        self,
        index: Witness,
        streams: &Streams,
        last: Written,
        mut report: Repaired,
    ) -> Result<Repaired, Error> {
        // A log that was cut off exactly after a frame leaves no other trace, and nothing to
        // restore it from.
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
        // The first fault of the index. An index that was never complete, for example after a
        // killed repair, has one, too.
        let fault = index
            .fault(&self.disk, &self.directory, closed_at)
            .map_err(repairing(&self.directory))?;
        let fault = fault.filter(|_| !is_short);
        if let Some(what) = index.trouble.as_ref().filter(|_| fault.is_none()) {
            report.notes.push(format!(
                "the log is sound; {what}; that needs no repair, \
                 since the next opening makes the index again from the log"
            ));
        }
        let is_faulty = fault.is_some();
        let fault = fault.map(|what| beside(what, Remedy::Rewritten));
        report.damages.extend(fault);
        drop(index);
        self.restore_beside(is_short, is_faulty)?;
        Ok(report)
    }

    /// Restores the damaged files beside a sound log: the notes, the marker and the index.
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
            // sled changes its files even when they are only read.
            closed::write(&self.directory.path)
                .map_err(Error::io("note how the journal was found"))?;
        }
        Ok(())
    }

    /// Writes the marker again, if it is damaged.
    fn restore_marker(&self) -> Result<(), Error> {
        if self.notes.has_marker {
            return Ok(());
        }
        self.names.step("restore the marker");
        self.directory
            .restore_marker()
            .map_err(repairing(&self.directory))
    }

    /// Writes a new log of everything that can be recovered, and replaces the old one with it.
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
        // `CLOSED` describes the log that is being replaced.
        closed::remove(&directory.path).map_err(repairing(directory))?;
        let aside = names.decide_repair().map_err(repairing(directory))?;
        (report.damaged_log, report.salvage) = (aside.log, aside.salvage);
        self.directory.lock.hold_log(&self.directory.path)?;
        self.names.step("make the index again");
        settle(&self.directory, self.options.settings.progress)?;
        Ok(report)
    }
}

/// The error of a repair that the operating system stopped.
fn repairing(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!(
        "repair the journal at {}",
        directory.path.display()
    ))
}

/// Brings the index up to the log, and leaves everything as a close does.
fn settle(directory: &Directory, progress: Box<dyn Fn(Progress) + Send>) -> Result<(), Error> {
    let settings = DiskJournal::options(&directory.path).read_only();
    settling::settle(directory, &settings.progress(progress)).map(drop)
}
