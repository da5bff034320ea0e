//! The restore of a journal from a backup.

use std::path::Path;
use std::sync::Arc;

use super::backing_up::{BackedUp, Until, as_noted, copied};
use crate::files::disk::RealDisk;
use crate::files::unfinished::Unfinished;
use crate::maintenance::verify::{self, Report};
use crate::store::directory::claim::journal_at;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;
use crate::{DiskJournal, Error, Progress};

/// The result of a restore.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Restored {
    /// The content of the backup.
    pub backup: BackedUp,
    /// The report of the verification, if there was one; it is sound.
    pub report: Option<Report>,
}

/// Restores a journal from a backup: copies it, and builds the index. With `verified`, every record
/// and object is verified.
///
/// No record is added, so restoring twice results in equal heads. `progress` is called for the
/// copy, then for the index.
///
/// ```
/// use recount_journal::{DiskJournal, backup};
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, to) = (directory.path().join("journal"), directory.path().join("backup"));
/// DiskJournal::open(&path)?.backup(&to, |_| {})?;
/// let again = directory.path().join("again");
/// let restored = backup::restore(&to, &again, true, |_| {})?;
/// assert!(restored.report.is_some_and(|report| report.is_sound()));
/// assert_eq!(DiskJournal::open(&again)?.opened().records, 1);
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotABackup`] if the directory is not a backup; [`Error::Damaged`] with the first fault
/// if it was altered; otherwise as [`directory`](super::directory()). Nothing is left behind.
pub fn restore(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    verified: bool,
    progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<Restored, Error> {
    let (from, progress) = (from.as_ref(), Arc::new(progress));
    let journal = journal_at(from)?;
    let manifest = Manifest::read(from)?.ok_or_else(|| Error::NotABackup {
        path: from.to_owned(),
    })?;
    let place = Unfinished::begin(to.as_ref())?;
    let disk = RealDisk::reading(from.join("log"));
    // `BACKUP` vouches for the end of the log.
    let until = Until::Close(NotedEnd::default());
    let copied = copied(&disk, &place, journal, until, &mut |it| progress(it))?;
    as_noted(&manifest, journal, &copied)?;
    let opening = DiskJournal::options(place.path()).read_only();
    drop(opening.progress(move |it| progress(it)).open()?);
    let report = verified
        .then(|| verify::directory(place.path()))
        .transpose()?;
    if let Some(first) = report.as_ref().and_then(|report| report.findings.first()) {
        return Err(Error::Damaged {
            session: first.session,
            seq: first.seq,
            what: first.what.clone(),
        });
    }
    place.finish()?;
    Ok(Restored {
        backup: BackedUp::of(journal, &copied),
        report,
    })
}
