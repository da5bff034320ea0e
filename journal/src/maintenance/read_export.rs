//! An export as a journal in memory, to read its records without an import.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use uuid::Uuid;

use super::import::{Gathering, WAITING, Wanted, complete};
use crate::{Append, Error, Journal, MemoryJournal, WorkChange, block_on};

/// Reads an export into memory, with the checks of [`import`](crate::import()).
///
/// The journal rejects appends with [`Error::ReadOnly`]. It needs memory for all records and
/// objects of the export. `open_work` returns the changes of open work for each append, as in an
/// import.
///
/// ```
/// use recount_journal::{
///     Actor, Append, Draft, Error, Hash, Journal, MemoryJournal, block_on, export, read_export,
/// };
/// # use uuid::Uuid;
/// # let original = MemoryJournal::new();
/// # let session = Uuid::from_u128(1);
/// # let line = Draft {
/// #     session, seq: 1, at_us: 0, kind: "greeted", cause: None,
/// #     actor: Actor::new("engine"), body: "{}", prev: Hash::ZERO,
/// # }.line();
/// # block_on(original.append(Append::new(session, 0, vec![line.clone()])))?;
/// let mut file = Vec::new();
/// block_on(export(&original, None, &mut file))?;
/// let read = read_export(&file[..], |_| Ok::<_, Error>(Vec::new()))?;
/// assert_eq!(block_on(read.read(session, 1, 10))?, [line.clone()]);
/// let more = block_on(read.append(Append::new(session, 0, vec![line])));
/// assert!(matches!(more, Err(Error::ReadOnly)));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// [`Error::DamagedExport`] if the file was altered or is incomplete; [`Error::PartialExport`] if
/// records of its sessions are withheld; [`Error::TooLarge`],
/// [`Error::TooDeep`], [`Error::Unreadable`] and [`Error::Refused`] for records that no journal
/// accepts; [`Error::Io`]; and the errors of `open_work`.
pub fn read_export<E: From<Error>>(
    mut reader: impl BufRead + Send,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<MemoryJournal, E> {
    let journal = MemoryJournal::new();
    let (appends, gathered) = sync_channel(WAITING.1);
    thread::scope(|scope| {
        let gathering = Gathering::new(appends, Wanted::Part);
        let read = scope.spawn(move || gathering.run(&mut reader, Uuid::nil()));
        let kept = keep(gathered, &journal, open_work);
        let read = read.join().unwrap_or_else(|_| {
            let panicked = io::Error::other("the reader panicked");
            Err(Error::io("read the export")(panicked))
        });
        // The reader is ahead, so its error is later in the file than this one.
        kept?;
        Ok::<_, E>(read?)
    })?;
    Ok(journal.read_only())
}

/// Appends everything to the journal.
fn keep<E: From<Error>>(
    gathered: Receiver<Append>,
    journal: &MemoryJournal,
    mut open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<(), E> {
    for mut append in gathered {
        complete(&mut append, &mut open_work)?;
        block_on(journal.append(append))?;
    }
    Ok(())
}
