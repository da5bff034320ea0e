//! An export append by append: as a journal in memory, or for a journal outside of a directory.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use uuid::Uuid;

use super::import::{Gathering, Imported, WAITING, Wanted, complete};
use crate::records::admission::Admission;
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
    reader: impl BufRead + Send,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<MemoryJournal, E> {
    let journal = MemoryJournal::new();
    let keep = |append| Ok(block_on(journal.append(append)).map(drop)?);
    each_append(reader, Wanted::Part, open_work, keep)?;
    Ok(journal.read_only())
}

/// Reads an export of a whole journal append by append, with the checks of
/// [`import`](crate::import()), for a journal that is not in a directory.
///
/// `take` gets each append with its open work, in the order of the log. An append with later damage
/// is taken before that is found. So a first pass may only check, and a second one append:
///
/// ```
/// use recount_journal::{
///     Actor, Error, Journal, MemoryJournal, block_on, export, import_appends, own_append,
/// };
/// # let original = MemoryJournal::new();
/// # block_on(original.append(own_append(None, 0, Actor::new("engine"), "noted", "{}")))?;
/// let mut file = Vec::new();
/// block_on(export(&original, None, &mut file))?;
/// let none = |_: &_| Ok::<_, Error>(Vec::new());
/// import_appends(&file[..], none, |_| Ok(()))?;
///
/// let copy = MemoryJournal::new();
/// let imported = import_appends(&file[..], none, |append| {
///     block_on(copy.append(append)).map(drop)
/// })?;
/// assert_eq!(imported.records, 1);
/// # Ok::<(), Error>(())
/// ```
///
/// The id in the result is the nil UUID: the journal that takes the appends may have one.
///
/// # Errors
/// Those of [`import`](crate::import()) about the file; the errors of `open_work` and of `take`.
pub fn import_appends<E: From<Error>>(
    reader: impl BufRead + Send,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
    mut take: impl FnMut(Append) -> Result<(), E>,
) -> Result<Imported, E> {
    each_append(reader, Wanted::Whole, open_work, |append| {
        Admission::of(&append)?;
        take(append)
    })
}

fn each_append<E: From<Error>>(
    mut reader: impl BufRead + Send,
    wanted: Wanted,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
    take: impl FnMut(Append) -> Result<(), E>,
) -> Result<Imported, E> {
    let (appends, gathered) = sync_channel(WAITING.1);
    thread::scope(|scope| {
        let gathering = Gathering::new(appends, wanted);
        let read = scope.spawn(move || gathering.run(&mut reader, Uuid::nil()));
        let taken = take_each(gathered, open_work, take);
        let read = read.join().unwrap_or_else(|_| {
            let panicked = io::Error::other("the reader panicked");
            Err(Error::io("read the export")(panicked))
        });
        // The reader is ahead, so its error is later in the file than this one.
        taken?;
        Ok(read?)
    })
}

/// Completes every append, and hands it over.
fn take_each<E: From<Error>>(
    gathered: Receiver<Append>,
    mut open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
    mut take: impl FnMut(Append) -> Result<(), E>,
) -> Result<(), E> {
    for mut append in gathered {
        complete(&mut append, &mut open_work)?;
        take(append)?;
    }
    Ok(())
}
