//! What can go wrong, each with what was expected and what came.

use std::io;
use std::path::PathBuf;

use recount_text::json::Unreadable;
use uuid::Uuid;

use crate::Hash;

/// The journal could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else appended to the stream. Stop; never read again and retry blindly.
    #[error("session {session} is at seq {actual}, the append expected {expected}")]
    Conflict {
        /// The stream.
        session: Uuid,
        /// What the caller knew.
        expected: u64,
        /// What the journal has.
        actual: u64,
    },
    /// A record does not name its predecessor.
    #[error(
        "record {seq} of session {session} names {found} as its predecessor instead of {expected}"
    )]
    BrokenChain {
        /// The stream.
        session: Uuid,
        /// The record.
        seq: u64,
        /// The leaf hash of the record before.
        expected: Hash,
        /// What the record says.
        found: Hash,
    },
    /// The append is not well-formed; nothing was written.
    #[error("the append to session {session} is refused at seq {seq}: {what}")]
    Refused {
        /// The stream.
        session: Uuid,
        /// The record it is about, or the first one of the append.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// What a record says nests deeper than the journal takes; nothing was written.
    #[error("record {seq} of session {session} nests deeper than the limit of {limit} levels")]
    TooDeep {
        /// The stream.
        session: Uuid,
        /// The record.
        seq: u64,
        /// What is taken.
        limit: usize,
    },
    /// Not every reader would read the record, or read the same; nothing was written.
    #[error("record {seq} of session {session} cannot be read back: {what} at byte {at}")]
    Unreadable {
        /// The stream.
        session: Uuid,
        /// The record.
        seq: u64,
        /// Where in its bytes.
        at: usize,
        /// What is there.
        what: Unreadable,
    },
    /// Something is larger than the journal takes; nothing was written.
    #[error("{what} of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// A record, an object, an append.
        what: &'static str,
        /// What came.
        size: usize,
        /// What is taken.
        limit: usize,
    },
    /// The disk is nearly full; nothing was written, and appends are taken again as soon as there
    /// is room.
    #[error(
        "the disk has no room: {free} bytes are free, {floor} are to stay free; nothing was written"
    )]
    NoSpace {
        /// What is free.
        free: u64,
        /// What must stay free.
        floor: u64,
    },
    /// A write or sync failed, so nothing is taken or answered any more; opening the journal again
    /// recovers.
    #[error("the journal stopped after a failure and must be opened again: {cause}")]
    Poisoned {
        /// The failure.
        cause: String,
    },
    /// The journal is closed.
    #[error("the journal is closed")]
    Closed,
    /// The journal is open for reading only.
    #[error("the journal is open for reading only")]
    ReadOnly,
    /// Another process, or another handle of this one, has the journal open.
    #[error("the journal at {} is in use", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// Users other than its owner may have written what is in the directory, so nothing there was
    /// believed.
    #[error("{} is not to be believed: {what}", path.display())]
    Insecure {
        /// The directory, or what is in it.
        path: PathBuf,
        /// The owner or the mode that it should not have.
        what: String,
    },
    /// The superuser was about to work in the journal of another user, who could not read what it
    /// makes there.
    #[error("the journal at {} is of the user {owner}, not to be written by another", path.display())]
    NotYours {
        /// The directory.
        path: PathBuf,
        /// The number of its user.
        owner: u32,
    },
    /// There is no journal.
    #[error("there is no journal at {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{} is not a journal: {found}", path.display())]
    NotAJournal {
        /// The directory.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// The directory does not say where a backup ends, so nobody could tell whether it is whole.
    #[error("{} is not a backup: it has no file BACKUP", path.display())]
    NotABackup {
        /// The directory.
        path: PathBuf,
    },
    /// Something is where a new directory should be; nothing was written.
    #[error("there is something at {} already", path.display())]
    Occupied {
        /// The place.
        path: PathBuf,
    },
    /// A later version of this program wrote the journal.
    #[error("the journal at {} has format {found}, this program reads up to {known}", path.display())]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest known format.
        known: u64,
    },
    /// The log lost or altered something that was acknowledged.
    #[error("the journal is damaged{}: {what}", place(*session, *seq))]
    Damaged {
        /// The stream, where it can be told.
        session: Option<Uuid>,
        /// The record, where it can be told.
        seq: Option<u64>,
        /// What was found.
        what: String,
    },
    /// An exported file is not what was written, or not all of it; nothing of it was kept.
    #[error("the export is damaged{}: {what}", place(*session, *seq))]
    DamagedExport {
        /// The stream, where it can be told.
        session: Option<Uuid>,
        /// The record, where it can be told.
        seq: Option<u64>,
        /// What was found.
        what: String,
    },
    /// A value of the index does not hold its checksum or is missing; the log still has it, and
    /// opening again rebuilds the index.
    #[error("the index is damaged{}: {what}; opening the journal again rebuilds it from the log", place(*session, *seq))]
    Index {
        /// The stream, where it can be told.
        session: Option<Uuid>,
        /// The record, where it can be told.
        seq: Option<u64>,
        /// What was found.
        what: String,
    },
    /// The system refused a file operation.
    #[error("failed to {doing}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// Where in the journal, as far as it can be told.
pub(crate) fn place(session: Option<Uuid>, seq: Option<u64>) -> String {
    match (session, seq) {
        (Some(session), Some(seq)) => format!(" at session {session} seq {seq}"),
        (Some(session), None) => format!(" at session {session}"),
        (None, _) => String::new(),
    }
}

/// Bytes are not a record.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the record is malformed: {what}")]
pub struct Malformed {
    /// What was expected and what came.
    pub what: String,
}

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
