//! The import of an export: it creates a journal with the same bytes, and writes the log directly.
//!
//! One thread reads and verifies, the caller's thread asks for open work, one thread writes.

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use uuid::Uuid;

use super::verify::Finding;
use super::verify::check::{Check, Seen};
use super::verify::export::next_line;
use crate::files::disk::RealDisk;
use crate::files::unfinished::Unfinished;
use crate::log::{LogWriter, encode_append};
use crate::records::admission::{Admission, read_back};
use crate::store::directory::claim::write_marker;
use crate::{Append, Error, Hash, Line, Object, WorkChange};

/// The maximum records and bytes of one append.
const APPEND: (usize, usize) = (64, 256 << 10);
/// The minimum bytes of a frame, except the last one.
const FRAME: usize = 2 << 20;
const SEGMENT: u64 = 64 << 20;
/// The maximum number of frames that wait for the writer, and of appends that wait for their open
/// work.
pub(super) const WAITING: (usize, usize) = (2, 64);

/// The result of an import.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The id of the new journal.
    pub journal: Uuid,
    /// The number of records, including the system stream.
    pub records: u64,
    /// The number of sessions, without the system stream.
    pub sessions: u64,
    /// The number of different objects.
    pub objects: u64,
    /// The tree hash over all records in the order of the file, as the trailer has it.
    pub root: Hash,
}

/// Creates a new journal from an export of a whole journal or of one session, and verifies it.
///
/// The records and objects have the same bytes and hashes, and no record is added. The index is
/// built when the journal is first opened.
///
/// An export contains neither the open work nor the request ids, because both follow from the
/// records. `open_work` is called for each append in the order of the file, before the append is
/// written. It returns the changes of the append. Those of the journal's own stream are ignored.
///
/// The original division into appends is unknown, so an append has up to 64 records of one stream
/// here. Its objects are those before its first record.
///
/// A file of format 1 has stream after stream. The last record of the journal's own stream is then
/// written last.
///
/// ```
/// use recount_journal::{
///     Actor, Append, DiskJournal, Draft, Error, Hash, Journal, MemoryJournal, block_on, export,
///     import,
/// };
/// # use uuid::Uuid;
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// # let original = MemoryJournal::new();
/// # let session = Uuid::from_u128(1);
/// # let line = Draft {
/// #     session, seq: 1, at_us: 0, kind: "greeted", cause: None,
/// #     actor: Actor::new("engine"), body: "{}", prev: Hash::ZERO,
/// # }.line();
/// # block_on(original.append(Append::new(session, 0, vec![line.clone()])))?;
/// let mut file = Vec::new();
/// let trailer = block_on(export(&original, None, &mut file))?;
/// let imported = import(&file[..], &path, |_| Ok::<_, Error>(Vec::new()))?;
/// assert_eq!((imported.records, imported.root), (1, trailer.root));
/// assert_eq!(block_on(DiskJournal::open(&path)?.read(session, 1, 10))?, [line]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// [`Error::DamagedExport`] if the file was altered or is incomplete; [`Error::PartialExport`] if
/// it does not have all records; [`Error::Occupied`] if the destination exists;
/// [`Error::TooLarge`], [`Error::TooDeep`], [`Error::Unreadable`] and [`Error::Refused`] for
/// records that no journal accepts; [`Error::Io`]; and the errors of `open_work`. Nothing is left
/// behind.
pub fn import<E: From<Error>>(
    reader: impl BufRead + Send,
    to: impl AsRef<Path>,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<Imported, E> {
    import_then(reader, to, open_work, || Ok(()))
}

/// Like [`import`]. It also calls `at_end` once after the last record. If that fails, nothing is
/// left behind.
///
/// # Errors
/// Those of [`import`] and of `at_end`.
pub fn import_then<E: From<Error>>(
    mut reader: impl BufRead + Send,
    to: impl AsRef<Path>,
    open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
    at_end: impl FnOnce() -> Result<(), E>,
) -> Result<Imported, E> {
    let place = Unfinished::begin(to.as_ref())?;
    let writing = || Error::io(format!("write {}", place.path().display()));
    let journal = Uuid::new_v4();
    let disk = Arc::new(RealDisk::new(place.path().join("log")));
    let writer = LogWriter::create(disk, journal, SEGMENT).map_err(writing())?;
    let (frames, taken) = sync_channel(WAITING.0);
    let (appends, gathered) = sync_channel(WAITING.1);
    let imported = thread::scope(|scope| {
        let written = scope.spawn(|| write(writer, taken));
        let gathering = Gathering::new(appends, Wanted::Whole);
        let read = scope.spawn(move || gathering.run(&mut reader, journal));
        // A thread that stops drops its channel ends. The others then stop without an error of
        // their own.
        let opened = frame(gathered, frames, open_work);
        let panicked = |who| io::Error::other(format!("the {who} panicked"));
        let read = read
            .join()
            .unwrap_or_else(|_| Err(Error::io("import")(panicked("reader"))));
        let written = written.join().unwrap_or_else(|_| Err(panicked("writer")));
        written.map_err(writing())?;
        // The reader is ahead, so its error is later in the file than this one.
        opened?;
        Ok::<_, E>(read?)
    })?;
    at_end()?;
    write_marker(place.path(), journal).map_err(writing())?;
    place.finish()?;
    Ok(imported)
}

/// Adds the changes of open work to each append, and combines the appends into frames.
fn frame<E: From<Error>>(
    gathered: Receiver<Append>,
    frames: SyncSender<Vec<Append>>,
    mut open_work: impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<(), E> {
    let (mut frame, mut bytes) = (Vec::new(), 0);
    for mut append in gathered {
        complete(&mut append, &mut open_work)?;
        Admission::of(&append)?;
        let lines = append.lines.iter().map(|line| line.bytes().len());
        let objects = append.objects.iter().map(|object| object.bytes.len());
        bytes += lines.chain(objects).sum::<usize>();
        frame.push(append);
        if bytes >= FRAME {
            bytes = 0;
            if frames.send(std::mem::take(&mut frame)).is_err() {
                return Ok(());
            }
        }
    }
    // A writer that has stopped returns its error.
    let _either = frames.send(frame);
    Ok(())
}

/// Adds the changes of open work to an append, and checks that its records can be read back.
pub(super) fn complete<E: From<Error>>(
    append: &mut Append,
    open_work: &mut impl FnMut(&Append) -> Result<Vec<WorkChange>, E>,
) -> Result<(), E> {
    let changes = open_work(append)?;
    if !append.session.is_nil() {
        append.open_work = changes;
    }
    for (line, seq) in append.lines.iter().zip(append.expected + 1..) {
        read_back(line.bytes(), append.session, seq)?;
    }
    Ok(())
}

/// Writes all frames. The log is closed in any case: a thread that prepares a segment must not
/// create a file after the directory was removed.
fn write(mut writer: LogWriter, frames: Receiver<Vec<Append>>) -> io::Result<()> {
    let whole = frames.iter().filter(|appends| !appends.is_empty());
    let written = whole.into_iter().try_for_each(|appends| {
        let encoded = appends
            .iter()
            .map(|append| encode_append(append, |_| false).bytes);
        let encoded: Vec<Vec<u8>> = encoded.collect();
        writer.commit(encoded.iter().map(Vec::as_slice)).map(drop)
    });
    // Dropping the receiver stops the sender.
    drop(frames);
    written.map_err(io::Error::from).and(writer.close())
}

/// The parts of a journal that a reader takes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// A file from which nothing is left out.
    Whole,
    /// Also a file without some sessions.
    Part,
}

/// A builder of appends from the lines of a file.
pub(super) struct Gathering {
    wanted: Wanted,
    appends: SyncSender<Append>,
    /// The append under construction.
    append: Append,
    bytes: usize,
    /// The objects before the next record.
    objects: Vec<Object>,
    /// The last append of the system stream so far. It is written last, because a closing record at
    /// the end of the log shows that nothing is missing.
    system: Option<Append>,
}

impl Gathering {
    pub(super) fn new(appends: SyncSender<Append>, wanted: Wanted) -> Self {
        Self {
            wanted,
            appends,
            append: Append::new(Uuid::nil(), 0, Vec::new()),
            bytes: 0,
            objects: Vec::new(),
            system: None,
        }
    }

    pub(super) fn run(
        mut self,
        reader: &mut impl BufRead,
        journal: Uuid,
    ) -> Result<Imported, Error> {
        let mut check = Check::default();
        let mut line = Vec::new();
        let mut goes_on = true;
        while goes_on && let Some(ended) = next_line(reader, &mut line)? {
            let seen = check.line(&line, ended, &mut |_| Vec::new());
            if let Some(finding) = check.finding() {
                return Err(damaged(finding));
            }
            match seen {
                Seen::Record(place, leaf) => {
                    // Objects precede the first record of an append, as in the file.
                    let is_full = self.append.lines.len() >= APPEND.0
                        || self.bytes >= APPEND.1
                        || !self.objects.is_empty();
                    if is_full || place.session != self.append.session {
                        goes_on = self.end_append(check.is_by_stream());
                        self.append = Append::new(place.session, place.seq - 1, Vec::new());
                    }
                    let objects = self.objects.iter().map(|object| object.bytes.len());
                    self.bytes += line.len() + objects.sum::<usize>();
                    self.append.objects.append(&mut self.objects);
                    self.append.lines.push(Line::hashed(&line, place, leaf));
                }
                Seen::Object(object) => self.objects.push(object),
                Seen::Withheld => {
                    return Err(Error::PartialExport {
                        what: "a record is withheld",
                    });
                }
                Seen::Subtree if self.wanted == Wanted::Whole => {
                    return Err(Error::PartialExport {
                        what: "it has only some of the sessions",
                    });
                }
                Seen::Subtree | Seen::Other => {}
            }
        }
        let is_by_stream = check.is_by_stream();
        let report = check.report();
        if let Some(finding) = report.findings.first() {
            return Err(damaged(finding));
        }
        let nothing = |what: &str| Error::DamagedExport {
            session: None,
            seq: None,
            what: what.to_owned(),
        };
        if report.records == 0 {
            return Err(nothing("it has no records"));
        }
        if !self.objects.is_empty() {
            return Err(nothing("an object stands behind the last record"));
        }
        self.end_append(is_by_stream);
        if let Some(last) = self.system.take() {
            self.send(last);
        }
        Ok(Imported {
            journal,
            records: report.records,
            sessions: report.sessions,
            objects: report.objects,
            root: report.root,
        })
    }

    /// Completes the append under construction. Returns false if the receiver has stopped.
    fn end_append(&mut self, is_by_stream: bool) -> bool {
        self.bytes = 0;
        let empty = Append::new(Uuid::nil(), 0, Vec::new());
        let mut append = std::mem::replace(&mut self.append, empty);
        if append.lines.is_empty() {
            return true;
        }
        if append.session.is_nil() && is_by_stream {
            // The last record of the system stream is the last one of a journal. The other ones
            // precede the sessions.
            let last = append.lines.split_off(append.lines.len() - 1);
            let seq = append.expected + append.lines.len() as u64;
            let held = Append::new(append.session, seq, last);
            let before = self.system.replace(held);
            return before.is_none_or(|before| self.send(before))
                && (append.lines.is_empty() || self.send(append));
        }
        self.send(append)
    }

    fn send(&self, append: Append) -> bool {
        self.appends.send(append).is_ok()
    }
}

fn damaged(finding: &Finding) -> Error {
    Error::DamagedExport {
        session: finding.session,
        seq: finding.seq,
        what: finding.what.clone(),
    }
}
