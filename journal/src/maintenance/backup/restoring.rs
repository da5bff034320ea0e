//! The journal that is made of a backup.

use std::path::Path;
use std::sync::Arc;

use super::backing_up::{BackedUp, as_noted, copied};
use crate::files::disk::RealDisk;
use crate::files::unfinished::Unfinished;
use crate::maintenance::verify::{self, Report};
use crate::store::directory::claim::journal_at;
use crate::store::directory::manifest::Manifest;
use crate::{DiskJournal, Error, Progress};

/// What became of a backup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Restored {
    /// What was copied.
    pub backup: BackedUp,
    /// What the verification found, if there was one; it is sound.
    pub report: Option<Report>,
}

/// Makes a journal of a backup: copies it, and builds the index. With `verified` everything is
/// verified, each record and object.
///
/// No record is added, so restoring twice gives equal heads; the journal goes on when it is opened
/// the next time. `progress` is told of the copy, then of the index.
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
/// [`Error::NotABackup`] when the directory is none; [`Error::Damaged`] when it is not what was
/// written, with the first place; else as [`directory`](super::directory()). Nothing is left
/// behind.
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
    let copied = copied(&disk, &place, journal, None, &mut |told| progress(told))?;
    as_noted(&manifest, journal, &copied)?;
    let opening = DiskJournal::options(place.path()).read_only();
    drop(opening.progress(move |told| progress(told)).open()?);
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
