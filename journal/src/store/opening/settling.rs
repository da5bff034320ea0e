//! The settling of a journal that is not open: a new index for the whole log, and the state of a
//! clean close.

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

/// A sound log that was read completely.
pub(crate) struct Filled {
    pub(crate) end: Manifest,
    /// True if the log ends with the record of a close, without zeros after it.
    pub(crate) closed: bool,
}

/// The knowledge of the old index about the log.
pub(crate) struct Witness {
    mark: Option<Written>,
    /// The last frame in it. Frames are written before the mark that covers them.
    last_frame: u64,
}

impl Witness {
    /// Reads the old index. `None` if nothing in it can be read.
    ///
    /// # Errors
    /// Fails if its frames can be read, but not its journal or its mark. Those frames may be all
    /// that is left of lost parts of the log.
    pub(crate) fn of(index: &Index, journal: Uuid) -> Result<Option<Self>, Error> {
        let last_frame = index.last_frame().unwrap_or(0);
        match index.mark(journal) {
            Ok(mark) => {
                let mark = mark.map(|(mark, _)| mark);
                Ok(Some(Self { mark, last_frame }))
            }
            Err(_) if last_frame == 0 => Ok(None),
            Err(what) => Err(damaged(format!(
                "the index has frames up to {last_frame}, but {what}; \
                 an opening makes a new one and keeps this"
            ))),
        }
    }

    /// Returns a description if the log is shorter than the old index or another one. `met` is true
    /// if the log has the frame of its mark.
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

/// Fills a new index from the whole log, and makes it durable. The log must be sound, and be the
/// log of the old index.
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

/// Brings the index up to the log. If the journal was closed, it also notes the state of all files,
/// so that the next opening need not read them.
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
