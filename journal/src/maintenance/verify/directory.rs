//! The verification of a journal's directory, with the index as the witness of the log.

use std::fs;
use std::io;
use std::path::Path;

use super::report::Report;
use crate::Error;
use crate::files::disk::RealDisk;
use crate::files::swap::{LOG_NEW, Names};
use crate::index::{Index, refused_by_disk};
use crate::log::{Written, is_full};
use crate::store::directory::claim::{Directory, Others};
use crate::store::directory::closed;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;
use crate::store::survey::{self, Streams, Survey};

/// The note for a journal without an index.
pub(crate) const INDEX_MISSING: &str =
    "the index is missing; the next opening rebuilds it from the log";

/// Verifies the journal in a directory. It takes the lock, and adds, cuts and repairs nothing. In a
/// read-only directory it verifies only the log.
///
/// # Errors
/// [`Error::Insecure`], [`Error::NotYours`], [`Error::InUse`], [`Error::Missing`],
/// [`Error::NotAJournal`], [`Error::NewerFormat`] and [`Error::Io`] if the journal cannot be read
/// at all. Every other fault is a finding of the report.
pub fn directory(path: impl AsRef<Path>) -> Result<Report, Error> {
    claimed(path.as_ref(), Others::Refused)
}

/// Like [`directory`], but also verifies a journal that [`guard`](crate::guard()) rejects.
///
/// # Errors
/// As [`directory`], without [`Error::Insecure`] and [`Error::NotYours`].
pub fn insecure_directory(path: impl AsRef<Path>) -> Result<Report, Error> {
    claimed(path.as_ref(), Others::Trusted)
}

fn claimed(path: &Path, others: Others) -> Result<Report, Error> {
    let directory = Directory::claim(path, false, others)?;
    let was_noted = closed::holds(&directory.path);
    let report = report_on(&directory)?;
    if was_noted && report.is_sound() && directory.lock.can_write {
        // sled changes its files even when they are only read.
        match closed::write(&directory.path) {
            // Without `CLOSED` the next opening reads the whole log.
            Err(error) if is_full(&error) => {}
            noted => noted.map_err(Error::io("note how the journal was found"))?,
        }
    }
    Ok(report)
}

fn report_on(directory: &Directory) -> Result<Report, Error> {
    let mut notes = Vec::new();
    let mut trouble = None;
    let index = open_index(directory, &mut notes).unwrap_or_else(|what| {
        if let Some(why) = refused_by_disk(&what) {
            notes.push(not_looked_at(&why));
        } else {
            trouble = Some(format!(
                "the index cannot be read: {what}; the next opening rebuilds it from the log"
            ));
        }
        None
    });
    if Names::of(&directory.path).has(LOG_NEW) {
        trouble =
            Some("a repair was cut short; opening or repairing the journal finishes it".to_owned());
    }
    let disk = RealDisk::reading(directory.path.join("log"));
    let mut index = index.as_ref().map(|(index, mark)| (index, *mark));
    let reading = || Error::io(format!("read the log of {}", directory.path.display()));
    let mut unreadable = None;
    let noted = NotedEnd::of(&directory.path).unwrap_or_else(|error| {
        unreadable = Some(error.to_string());
        NotedEnd::default()
    });
    let mut survey = survey::of_log(&disk, directory.journal, index, noted).map_err(reading())?;
    if let Some(why) = survey.refused_by_disk().filter(|_| index.is_some()) {
        // sled also writes when it reads, so its error is no fault of the index.
        notes.push(not_looked_at(&why));
        index = None;
        survey = survey::of_log(&disk, directory.journal, None, noted).map_err(reading())?;
    }
    if let Some(what) = unreadable {
        survey.streams.find(None, None, what);
    }
    if let Some(what) = trouble {
        survey.streams.find(None, None, what);
    }
    notes.append(&mut survey.notes);
    notes.extend(look_at_end(
        directory,
        &mut survey,
        index.map(|(_, mark)| mark),
    ));
    let objects = survey.objects.len() as u64;
    Ok(report(survey.streams, objects, notes))
}

/// Compares the end of the log with the notes beside it and with the index. Returns a remark that
/// is no damage.
fn look_at_end(
    directory: &Directory,
    survey: &mut Survey,
    mark: Option<Written>,
) -> Option<String> {
    let backup = Manifest::read(&directory.path).unwrap_or_else(|error| {
        survey.streams.find(None, None, error.to_string());
        None
    });
    if let Some(backup) = backup {
        let found = Manifest::of(directory.journal, survey.last, survey.streams.records);
        if let Some(what) = backup.differs(&found) {
            survey.streams.find(None, None, what);
        }
    } else if let Some(what) = closed::shortened(&directory.path)
        .or_else(|| survey.noted.lost(survey.last))
        .filter(|_| survey.streams.findings.is_empty())
    {
        survey.streams.find(None, None, what);
    } else if !survey.clean {
        let left = match survey.noted.frame() {
            0 => "the journal was not closed".to_owned(),
            noted => format!(
                "the journal was closed at frame {noted}, and not since it was written to again"
            ),
        };
        return Some(format!(
            "{left}; nothing vouches that the log ends where it ended"
        ));
    } else if survey.is_behind(mark) {
        if closed::is_noted(&directory.path) {
            survey.streams.find(None, None, survey::BEHIND.to_owned());
        } else {
            // A repair or an opening was killed before it had brought the index up to the log.
            return Some("the index is behind the log; the next opening catches it up".to_owned());
        }
    }
    None
}

/// The note about an index that sled could not open or read because of the disk.
fn not_looked_at(why: &io::Error) -> String {
    format!("the index was not looked at, since the disk takes no writes: {why}")
}

/// Opens the index, and returns it with its mark, if it has one.
fn open_index(
    directory: &Directory,
    notes: &mut Vec<String>,
) -> Result<Option<(Index, Written)>, String> {
    let place = directory.path.join("sled");
    if fs::symlink_metadata(&place).is_err() {
        notes.push(INDEX_MISSING.to_owned());
        return Ok(None);
    }
    if !directory.lock.can_write {
        notes.push(
            "the index was not looked at, since sled opens it only where it can write".to_owned(),
        );
        return Ok(None);
    }
    let index = Index::open(&place, 64 << 20)?;
    let mark = index.mark(directory.journal)?;
    if mark.is_none() {
        notes.push("the index is empty".to_owned());
    }
    Ok(mark.map(|(mark, _)| (index, mark)))
}

fn report(streams: Streams, objects: u64, notes: Vec<String>) -> Report {
    Report {
        objects,
        notes,
        ..Report::of(streams)
    }
}
