//! The strict reading of a log, which tells if it needs a repair, and the notes beside it.

use crate::Error;
use crate::files::disk::RealDisk;
use crate::log::segments::Stopped;
use crate::log::{Entry, Written, read_log};
use crate::store::directory::claim::Directory;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;

use super::report::{Damage, Remedy, Repaired};
use super::streams::{Streams, Verdict};
use super::witness::Witness;

/// The marker and the notes beside a log.
pub(super) struct Notes {
    /// True if the marker is as it was written.
    pub(super) has_marker: bool,
    /// True if the note of a backup can be read, or there is none.
    pub(super) has_backup: bool,
    /// True if the note of a close can be read, or there is none.
    pub(super) has_close: bool,
    /// The end that a backup noted.
    pub(super) backup: Option<Manifest>,
    /// The end that a close noted.
    pub(super) closed_at: NotedEnd,
}

impl Notes {
    /// Reads the notes and reports those that cannot be read; `marker` tells what is wrong with the
    /// marker.
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

/// What was read, or the damage that it cannot be read for.
fn readable<T>(read: Result<T, Error>) -> Result<(Option<T>, Option<String>), Error> {
    match read {
        Ok(read) => Ok((Some(read), None)),
        Err(Error::Damaged { what, .. }) => Ok((None, Some(what))),
        Err(error) => Err(error),
    }
}

/// A damage of something else than a frame.
pub(super) fn beside(what: String, remedy: Remedy) -> Damage {
    Damage {
        frames: None,
        what,
        remedy,
    }
}

/// Reads the log strictly; gives its streams if all of it is sound, reaches as far as the index
/// knows, and ends where it was noted to end.
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
