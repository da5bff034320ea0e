//! The errors of the journal, each with the expected and the found value.

use std::io;
use std::path::PathBuf;

use recount_text::json::Unreadable;
use uuid::Uuid;

use crate::Hash;

/// The error of a journal operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another writer appended to the stream. Stop; never read again and retry blindly.
    #[error("session {session} is at seq {actual}, the append expected {expected}")]
    Conflict {
        /// The stream.
        session: Uuid,
        /// The last seq that the caller knew.
        expected: u64,
        /// The last seq in the journal.
        actual: u64,
    },
    /// Another node owns the stream, and its lease is valid. Nothing was written.
    #[error(
        "session {session} is owned by node {owner}, whose lease is valid; nothing was written"
    )]
    Owned {
        /// The stream.
        session: Uuid,
        /// The name of the node.
        owner: String,
    },
    /// Another node has owned the stream since, so the database refused the append. Stop, as after
    /// a conflict.
    #[error(
        "this node owned session {session} in epoch {held}, which is {current} now; nothing was \
         written"
    )]
    Fenced {
        /// The stream.
        session: Uuid,
        /// The epoch in which this node owned it.
        held: u64,
        /// The epoch in the database.
        current: u64,
    },
    /// The server that stores the journal may lose acknowledged appends. Nothing was written.
    #[error("the database may lose acknowledged appends: {}", settings.join(", "))]
    Lossy {
        /// The settings at fault, each as `name = value`.
        settings: Vec<String>,
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
        /// The predecessor hash in the record.
        found: Hash,
    },
    /// The append is not well-formed; nothing was written.
    #[error("the append to session {session} is refused at seq {seq}: {what}")]
    Refused {
        /// The stream.
        session: Uuid,
        /// The seq of the record at fault, or the first one of the append.
        seq: u64,
        /// The fault.
        what: String,
    },
    /// A body nests deeper than the journal allows; nothing was written.
    #[error("record {seq} of session {session} nests deeper than the limit of {limit} levels")]
    TooDeep {
        /// The stream.
        session: Uuid,
        /// The record.
        seq: u64,
        /// The maximum depth.
        limit: usize,
    },
    /// Readers could read the record back with different results; nothing was written.
    #[error("record {seq} of session {session} cannot be read back: {what} at byte {at}")]
    Unreadable {
        /// The stream.
        session: Uuid,
        /// The record.
        seq: u64,
        /// The offset in its bytes.
        at: usize,
        /// The fault.
        what: Unreadable,
    },
    /// A part of the append exceeds its limit; nothing was written.
    #[error("{what} of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// The part: a record, an object or an append.
        what: &'static str,
        /// The size, in bytes.
        size: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The disk is nearly full; nothing was written. Appends succeed again as soon as there is
    /// room.
    #[error(
        "the disk has no room: {free} bytes are free, {floor} are to stay free; nothing was written"
    )]
    NoSpace {
        /// The free bytes.
        free: u64,
        /// The bytes that must stay free.
        floor: u64,
    },
    /// A write or sync failed. No call succeeds any more until the journal is opened again, which
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
    /// Users other than its owner may have written to the directory, so nothing in it was trusted.
    #[error("{} is not to be believed: {what}", path.display())]
    Insecure {
        /// The directory, or a file in it.
        path: PathBuf,
        /// The owner or the mode that is wrong.
        what: String,
    },
    /// The superuser tried to write to the journal of another user, who could not read the new
    /// files.
    #[error(
        "the journal at {} is of the user {owner}, not to be written by another",
        path.display()
    )]
    NotYours {
        /// The directory.
        path: PathBuf,
        /// The user id of the owner.
        owner: u32,
    },
    /// No journal exists.
    #[error("there is no journal at {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something else than a journal.
    #[error("{} is not a journal: {found}", path.display())]
    NotAJournal {
        /// The directory.
        path: PathBuf,
        /// A description of the content.
        found: String,
    },
    /// The directory does not say where a backup ends, so its completeness cannot be checked.
    #[error("{} is not a backup: it has no file BACKUP", path.display())]
    NotABackup {
        /// The directory.
        path: PathBuf,
    },
    /// The path of a new directory is taken; nothing was written.
    #[error("there is something at {} already", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
    },
    /// A later version of this program wrote the journal.
    #[error(
        "the journal at {} has format {found}, this program reads up to {known}",
        path.display()
    )]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest known format.
        known: u64,
    },
    /// The log lost or altered an acknowledged record.
    #[error("the journal is damaged{}: {what}", place(*session, *seq))]
    Damaged {
        /// The stream, if known.
        session: Option<Uuid>,
        /// The record, if known.
        seq: Option<u64>,
        /// The fault.
        what: String,
    },
    /// An exported file was altered, or is incomplete; nothing of it was kept.
    #[error("the export is damaged{}: {what}", place(*session, *seq))]
    DamagedExport {
        /// The stream, if known.
        session: Option<Uuid>,
        /// The record, if known.
        seq: Option<u64>,
        /// The fault.
        what: String,
    },
    /// A file that can be verified has only a part of a journal; nothing of it was kept.
    #[error(
        "the file is no whole export: {what}; it can be verified, but no journal follows from it"
    )]
    PartialExport {
        /// The part that is missing.
        what: &'static str,
    },
    /// A value of the index is missing or fails its checksum. The log still has it, and opening
    /// again rebuilds the index.
    #[error(
        "the index is damaged{}: {what}; opening the journal again rebuilds it from the log",
        place(*session, *seq)
    )]
    Index {
        /// The stream, if known.
        session: Option<Uuid>,
        /// The record, if known.
        seq: Option<u64>,
        /// The fault.
        what: String,
    },
    /// The operating system rejected a file operation.
    #[error("failed to {doing}")]
    Io {
        /// The operation.
        doing: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Wraps an error of the operating system, with the operation that it rejected, such as
    /// "write the export".
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// True if the same operation can succeed later, because the store was out of reach or full.
    /// Nothing is wrong with the journal itself then.
    ///
    /// The outcome of an append that failed with [`Error::Io`] is unknown, so read its stream
    /// before it is sent again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::NoSpace { .. })
    }
}

/// Returns an error and its causes as one line, such as for a log: an error by itself says what
/// failed, and not why.
///
/// ```
/// use recount_journal::{Error, causes};
///
/// let error = Error::io("read records")(std::io::Error::other("permission denied (42501)"));
/// assert_eq!(causes(&error), "failed to read records: permission denied (42501)");
/// ```
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The place in the journal as a part of an error text, as far as it is known.
pub(crate) fn place(session: Option<Uuid>, seq: Option<u64>) -> String {
    match (session, seq) {
        (Some(session), Some(seq)) => format!(" at session {session} seq {seq}"),
        (Some(session), None) => format!(" at session {session}"),
        (None, _) => String::new(),
    }
}

/// The error for bytes that are not a record.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the record is malformed: {what}")]
pub struct Malformed {
    /// The expected and the found value.
    pub what: String,
}

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
