//! The backup of a journal into another directory.

use std::path::Path;

use uuid::Uuid;

use super::copy::{Copied, copy};
use crate::files::disk::{Disk, RealDisk};
use crate::files::unfinished::Unfinished;
use crate::log::segments::Stopped;
use crate::store::directory::claim::{journal_at, write_marker};
use crate::store::directory::closed;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;
use crate::store::survey;
use crate::{DiskJournal, Error, Progress};

/// The content of a backup.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The id of the journal.
    pub journal: Uuid,
    /// The number of commits.
    pub frames: u64,
    /// The number of records, including the system stream.
    pub records: u64,
    /// The bytes of the log.
    pub bytes: u64,
}

/// Backs up the journal in a directory that another process may have open. It takes no lock and
/// changes nothing there.
///
/// The log only grows and its frames have checksums, so all complete commits are copied. A process
/// that has the journal open should call [`DiskJournal::backup`], which knows the last acknowledged
/// commit.
///
/// ```
/// use recount_journal::{DiskJournal, backup, verify};
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, to) = (directory.path().join("journal"), directory.path().join("backup"));
/// let journal = DiskJournal::open(&path)?;
/// let copied = backup::directory(&path, &to, |_| {})?;
/// assert_eq!((copied.frames, copied.records), (1, 1));
/// assert!(verify::directory(&to)?.is_sound());
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Damaged`] with the first fault, if the log is damaged anywhere but at its very end;
/// [`Error::Occupied`] if the destination exists; [`Error::Missing`], [`Error::NotAJournal`],
/// [`Error::NewerFormat`] and [`Error::Io`]. Nothing is left behind.
pub fn directory(
    path: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut progress: impl FnMut(Progress),
) -> Result<BackedUp, Error> {
    let path = path.as_ref();
    let journal = journal_at(path)?;
    let disk = RealDisk::reading(path.join("log"));
    let (noted, backup) = (NotedEnd::of(path)?, Manifest::read(path)?);
    let check = |copied: &Copied| {
        let lost = copied.noted.lost(copied.last);
        // A closed log must be complete, unless another process reopened it in the meantime.
        if let Some(what) = lost.or_else(|| closed::shortened(path))
            && NotedEnd::of(path)? == noted
        {
            return Err(damaged(&disk, journal, what));
        }
        backup.map_or(Ok(()), |backup| as_noted(&backup, journal, copied))
    };
    let until = Until::Close(noted);
    back_up(&disk, journal, until, check, to.as_ref(), &mut progress)
}

impl DiskJournal {
    /// Copies all appends that were acknowledged before the call, while appends continue. The copy
    /// is a journal itself. `progress` is called about once a mebibyte.
    ///
    /// See [`backup::directory`](crate::maintenance::backup::directory()), and [`Error::Poisoned`]
    /// once the store failed.
    pub fn backup(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(Progress),
    ) -> Result<BackedUp, Error> {
        let (disk, journal, until) = self.acknowledged()?;
        back_up(
            disk,
            journal,
            Until::Frame(until),
            |_| Ok(()),
            to.as_ref(),
            &mut progress,
        )
    }
}

/// The end of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// An acknowledged frame.
    Frame(u64),
    /// The last complete frame, not before the noted end of the last close.
    Close(NotedEnd),
}

/// Copies the frames up to an end.
fn back_up(
    disk: &dyn Disk,
    journal: Uuid,
    until: Until,
    check: impl FnOnce(&Copied) -> Result<(), Error>,
    to: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<BackedUp, Error> {
    let place = Unfinished::begin(to)?;
    let copied = copied(disk, &place, journal, until, progress)?;
    check(&copied)?;
    let manifest = Manifest::of(journal, copied.last, copied.records);
    let writing = Error::io(format!("write {}", place.path().display()));
    manifest.write(place.path()).map_err(writing)?;
    place.finish()?;
    Ok(BackedUp::of(journal, &copied))
}

/// Checks the copy of a backup against its `BACKUP` file.
pub(super) fn as_noted(manifest: &Manifest, journal: Uuid, copied: &Copied) -> Result<(), Error> {
    let found = Manifest::of(journal, copied.last, copied.records);
    match manifest.differs(&found) {
        Some(what) => Err(Error::Damaged {
            session: None,
            seq: None,
            what,
        }),
        None => Ok(()),
    }
}

impl BackedUp {
    pub(super) fn of(journal: Uuid, copied: &Copied) -> Self {
        Self {
            journal,
            frames: copied.last.number,
            records: copied.records,
            bytes: copied.bytes,
        }
    }
}

/// Copies a log into an unfinished directory, and writes the marker of the same journal.
pub(super) fn copied(
    disk: &dyn Disk,
    place: &Unfinished,
    journal: Uuid,
    until: Until,
    progress: &mut dyn FnMut(Progress),
) -> Result<Copied, Error> {
    let to = RealDisk::new(place.path().join("log"));
    let (until, noted) = match until {
        Until::Frame(frame) => (Some(frame), NotedEnd::default()),
        Until::Close(noted) => (None, noted),
    };
    let copied = copy(disk, &to, journal, until, noted, progress);
    let copied = copied.map_err(|stopped| match stopped {
        Stopped::Io(error) => Error::io("copy the log")(error),
        Stopped::Damaged(what) => damaged(disk, journal, what),
    })?;
    let writing = Error::io(format!("write {}", place.path().display()));
    write_marker(place.path(), journal).map_err(writing)?;
    Ok(copied)
}

/// Creates the error for damage, with the record at fault. It reads everything that can be read.
fn damaged(disk: &dyn Disk, journal: Uuid, what: String) -> Error {
    let findings =
        survey::of_log(disk, journal, None, NotedEnd::default()).map(survey::Survey::findings);
    let placed = findings.ok().and_then(|findings| {
        findings
            .into_iter()
            .find(|finding| finding.session.is_some())
    });
    match placed {
        Some(finding) => Error::Damaged {
            session: finding.session,
            seq: finding.seq,
            what: format!("{}; {what}", finding.what),
        },
        None => Error::Damaged {
            session: None,
            seq: None,
            what,
        },
    }
}
