//! The errors of keys and sealed data. No variant contains a key or opened content.

use std::io;
use std::path::PathBuf;

use uuid::Uuid;

/// The error of sealing, opening, or using a key store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key store was created with another master key.
    #[error(
        "the master key is not the one with which the key store at {} was made",
        path.display()
    )]
    WrongMasterKey {
        /// The directory.
        path: PathBuf,
    },
    /// The bytes are not a master key, which has 32 bytes or 64 hex digits.
    #[error("a master key is 32 bytes or 64 hex digits, found {bytes} bytes that are neither")]
    NotAMasterKey {
        /// The number of bytes found.
        bytes: usize,
    },
    /// The key store would be inside a journal, so a copy of the journal would contain the keys.
    #[error(
        "the key store {} stands inside the journal {}; keys belong outside",
        path.display(),
        journal.display()
    )]
    InsideJournal {
        /// The directory of the key store.
        path: PathBuf,
        /// The directory of the journal.
        journal: PathBuf,
    },
    /// No key store exists.
    #[error("there is no key store at {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something else, or a file of the key store is wrong.
    #[error("{} is not of a key store: {found}", path.display())]
    NotAKeyStore {
        /// The directory or the file.
        path: PathBuf,
        /// The fault.
        found: String,
    },
    /// Users other than its owner may have read or written the key store.
    #[error("the key store is not to be believed: {}: {what}", path.display())]
    Insecure {
        /// The directory, or what is in it.
        path: PathBuf,
        /// The owner or the mode that is wrong.
        what: String,
    },
    /// The key does not open the bytes at this place: they were altered, moved, or sealed with
    /// another key.
    #[error(
        "{what} of session {session} does not open with the session's key: it was altered, \
         moved from another place, or sealed with another key"
    )]
    DoesNotOpen {
        /// The session.
        session: Uuid,
        /// The part: a body, an object, a text, a key.
        what: &'static str,
    },
    /// The bytes are marked as sealed and do not have that form.
    #[error("{what} of session {session} is marked as sealed and is not of that form")]
    Malformed {
        /// The session.
        session: Uuid,
        /// The part: a body, an object, a text, a key.
        what: &'static str,
    },
    /// The system has no random bytes for a new key.
    #[error("the system gives no random bytes for a new key: {cause}")]
    NoEntropy {
        /// The error of the system.
        cause: String,
    },
    /// A file operation failed.
    #[error("failed to {doing}")]
    Io {
        /// The operation.
        doing: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        |source| Self::Io { doing, source }
    }
}
