//! The strict check of a log, which decides whether it needs a repair, and the notes beside the
//! log.

use crate::Error;
use crate::files::disk::RealDisk;
use crate::log::segments::Stopped;
use crate::log::{LoggedAppend, Written, read_log};
use crate::store::directory::claim::Directory;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;

use super::report::{Damage, Remedy, Repaired};
use super::streams::{Streams, Verdict};
use super::witness::Witness;

/// The marker and the notes beside a log.
pub(super) struct Notes {
    /// True if the marker is intact.
    pub(super) has_marker: bool,
    /// True if the file `BACKUP` is readable or missing.
    pub(super) has_backup: bool,
    /// True if the file `CLOSED` is readable or missing.
    pub(super) has_close: bool,
    /// The end of the log according to `BACKUP`.
    pub(super) backup: Option<Manifest>,
    /// The end of the log according to `CLOSED`.
    pub(super) closed_at: NotedEnd,
}

impl Notes {
    /// Reads the notes and reports the unreadable ones. `marker` is the fault of the marker, if it
    /// has one.
    pub(super) fn of(
        directory: &Directory,
        marker: Option<String>,
        report: &mut Repaired,
    ) -> Result<Self, Error> {
        let (backup, no_backup) = readable(Manifest::read(&directory.path))?;
        let (closed_at, no_close) = readable(NotedEnd::of(&directory.path))?;
        let notes = Self {
            has_marker: marker.is_none(),
            has_backup: no_backup.is_none(),
            has_close: no_close.is_none(),
            backup: backup.flatten(),
            closed_at: closed_at.unwrap_or_default(),
        };
        let damages = [
            (marker, Remedy::Rewritten),
            (no_backup, Remedy::Removed),
            (no_close, Remedy::Removed),
        ];
        for (what, remedy) in damages {
            report.damages.extend(what.map(|what| beside(what, remedy)));
        }
        Ok(notes)
    }
}

/// Separates the value from the damage that made it unreadable.
fn readable<T>(read: Result<T, Error>) -> Result<(Option<T>, Option<String>), Error> {
    match read {
        Ok(read) => Ok((Some(read), None)),
        Err(Error::Damaged { what, .. }) => Ok((None, Some(what))),
        Err(error) => Err(error),
    }
}

/// Creates the damage of something else than a frame.
pub(super) fn beside(what: String, remedy: Remedy) -> Damage {
    Damage {
        frames: None,
        what,
        remedy,
    }
}

/// Reads the log strictly. Returns its streams if it is sound, reaches the last frame that the
/// index has, and ends at its noted end.
pub(super) fn checked(
    disk: &RealDisk,
    directory: &Directory,
    index: &Witness,
    noted: Option<Manifest>,
    closed_at: &mut NotedEnd,
) -> std::io::Result<Option<(Streams, Written)>> {
    let mut streams = Streams::default();
    let mark = index.mark;
    let mut is_known = mark.is_none_or(|mark| mark.number == 0);
    let read = read_log(disk, directory.journal, |header, last, frame_bytes| {
        let mut count = 0;
        for (_, body, is_intact) in frame_bytes.appends() {
            let append = LoggedAppend::decode(body).filter(|_| is_intact);
            let lives =
                append.is_some_and(|append| streams.accept(&append, true) == Verdict::Lives);
            count += u32::from(lives);
        }
        is_known |= mark == Some(last);
        closed_at.see(last);
        if count == header.appends {
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
