//! The claim of a journal whose marker may be damaged. The log and the index also name the journal.

use std::collections::BTreeSet;
use std::path::Path;

use uuid::Uuid;

use crate::Error;
use crate::files::disk::{Disk, RealDisk};
use crate::files::swap::LOG;
use crate::index::Index;
use crate::log::LogReader;
use crate::store::directory::claim::{Directory, Others, index_place};

/// Claims the journal, and returns the fault of its marker, if it has one.
pub(super) fn claim(path: &Path, others: Others) -> Result<(Directory, Option<String>), Error> {
    let mut directory = match Directory::claim(path, false, others) {
        Ok(directory) => directory,
        Err(Error::NotAJournal { path, found }) => {
            return match agreed(&path) {
                Some(journal) => {
                    let what = format!("the marker is damaged: {found}");
                    Ok((Directory::claim_unmarked(&path, journal)?, Some(what)))
                }
                None => Err(Error::NotAJournal { path, found }),
            };
        }
        Err(error) => return Err(error),
    };
    let marked = directory.journal;
    let agreed = agreed(path).filter(|log| *log != marked);
    // If the index belongs to the journal of the marker, the log is the foreign part.
    let other = agreed.filter(|_| !index_is_of(path, marked));
    let what =
        other.map(|log| format!("the marker names journal {marked}, the log is of journal {log}"));
    directory.journal = other.unwrap_or(marked);
    Ok((directory, what))
}

/// The journal that all segment headers with a valid checksum name.
fn agreed(path: &Path) -> Option<Uuid> {
    let disk = RealDisk::new(path.join(LOG));
    let mut ids = BTreeSet::new();
    for name in disk.list().ok()? {
        let file = disk.open(&name, false).ok()?;
        let header = LogReader::new(file).and_then(|mut reader| reader.header());
        ids.extend(header.ok()?.map(|header| header.journal));
    }
    let only = ids.len() == 1;
    ids.pop_first().filter(|_| only)
}

fn index_is_of(path: &Path, journal: Uuid) -> bool {
    let place = index_place(path);
    place.exists()
        && Index::open(&place, 1 << 20)
            .and_then(|index| index.mark(journal))
            .is_ok_and(|mark| mark.is_some())
}
