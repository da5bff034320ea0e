//! Makes an index for a whole log while nobody has the journal open, and leaves everything as a
//! clean close does.

use std::path::Path;

use uuid::Uuid;

use super::options::Options;
use super::pass::{Passed, pass};
use super::recovery;
use crate::Error;
use crate::index::{Index, read::nowhere};
use crate::log::Written;
use crate::log::segments::Stopped;
use crate::store::directory::claim::{Directory, index_place};
use crate::store::directory::closed;
use crate::store::directory::closed::NotedEnd;
use crate::store::directory::manifest::Manifest;
use crate::store::system::{After, Opened};

/// A log that was read whole and is sound.
pub(crate) struct Filled {
    pub(crate) end: Manifest,
    /// True if nothing stands behind the record of a close, no zeros either.
    pub(crate) closed: bool,
}

/// What the index of before knows of the log.
pub(crate) struct Witness {
    mark: Option<Written>,
    /// Frames are put in before the mark that speaks of them.
    last_frame: u64,
}

impl Witness {
    /// Nothing, if nothing in it can be read.
    ///
    /// # Errors
    /// Its frames can be read, and whose they are or up to where they reach it does not say: they
    /// may be all that is left of what the log has lost.
    pub(crate) fn of(index: &Index, journal: Uuid) -> Result<Option<Self>, Error> {
        let last_frame = index.last_frame().unwrap_or(0);
        match index.mark(journal) {
            Ok(mark) => {
                let mark = mark.map(|(mark, _)| mark);
                Ok(Some(Self { mark, last_frame }))
            }
            Err(_) if last_frame == 0 => Ok(None),
            Err(what) => Err(damaged(format!(
                "the index has frames up to {last_frame}, but {what}; an opening makes a new one and keeps this"
            ))),
        }
    }

    /// What shows that the log is not the one it saw, or not all of it; `met` says whether its mark
    /// was met there.
    fn differs(&self, last: Written, met: bool) -> Option<String> {
        let known = self.last_frame.max(self.mark.map_or(0, |mark| mark.number));
        if known > last.number {
            let ends = last.number;
            let what = format!("the log ends at frame {ends}, the index knows frame {known}");
            return Some(what);
        }
        let is_other = !met && self.mark.is_some_and(|mark| mark.number > 0);
        is_other.then(|| "the log is not the one that the index was filled from".to_owned())
    }
}

fn damaged(what: String) -> Error {
    Error::Damaged {
        session: None,
        seq: None,
        what,
    }
}

/// Fills a new index at a place from the whole log, and makes it durable. The log must be sound and
/// must be the one that the old index has seen.
pub(crate) fn fill(
    directory: &Directory,
    options: &Options,
    place: &Path,
    old: Option<&Witness>,
) -> Result<Filled, Error> {
    let index = Index::open(place, options.settings.cache_bytes).map_err(nowhere)?;
    let (mark, mut met) = (old.and_then(|old| old.mark), false);
    let mut noted = NotedEnd::of(&directory.path)?;
    let read = pass(&index, directory.journal, None, options, |last| {
        met |= mark == Some(last);
        noted.see(last);
    });
    let Passed {
        mut log,
        seen,
        wrong,
        ..
    } = read.map_err(|stopped| match stopped {
        Stopped::Io(error) => {
            Error::io(format!("read the log of {}", directory.path.display()))(error)
        }
        Stopped::Damaged(what) => damaged(what),
    })?;
    if let Some(what) = wrong {
        return Err(nowhere(what));
    }
    let Some(file) = &mut log.file else {
        return Err(damaged("the log is gone".to_owned()));
    };
    let length = file.length().map_err(Error::io("look at the log"))?;
    let other = old.and_then(|old| old.differs(log.last, met));
    if let Some(what) = other.or_else(|| noted.lost(log.last)) {
        return Err(damaged(what));
    }
    index.flush(place).map_err(nowhere)?;
    Ok(Filled {
        end: Manifest::of(directory.journal, log.last, seen.view.records),
        closed: seen.closed && log.last.end == length && log.unused.is_empty(),
    })
}

/// Brings the index level with the log and, where that was closed, notes how all files are, so that
/// the next opening need not read them.
pub(crate) fn settle(directory: &Directory, options: &Options) -> Result<Opened, Error> {
    let recovered = recovery::recover(directory, options)?;
    let place = index_place(&directory.path);
    recovered.index.flush(&place).map_err(nowhere)?;
    let (last, records) = (recovered.view.last, recovered.view.records);
    drop(recovered.index);
    let end = Manifest::of(directory.journal, last, records);
    if recovered.opened.after == After::Clean {
        closed::write_with_end(&directory.path, end)
            .map_err(Error::io("note how the journal was left"))?;
    }
    Ok(recovered.opened)
}
