//! What can go wrong with keys and with what they seal. No variant holds a key or what was sealed.

use std::io;
use std::path::PathBuf;

use uuid::Uuid;

/// Something could not be sealed or opened, or a key store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key store was made with another master key.
    #[error("the master key is not the one with which the key store at {} was made", path.display())]
    WrongMasterKey {
        /// The directory.
        path: PathBuf,
    },
    /// A master key is 32 bytes, or 64 hex digits that say them.
    #[error("a master key is 32 bytes or 64 hex digits, found {bytes} bytes that are neither")]
    NotAMasterKey {
        /// How many bytes came.
        bytes: usize,
    },
    /// The key store would stand inside a journal: whoever copies the journal would have the keys
    /// with it.
    #[error("the key store {} stands inside the journal {}; keys belong outside", path.display(), journal.display())]
    InsideJournal {
        /// The directory of the key store.
        path: PathBuf,
        /// The directory of the journal.
        journal: PathBuf,
    },
    /// There is no key store.
    #[error("there is no key store at {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is there, or a file of the key store is not what was written.
    #[error("{} is not of a key store: {found}", path.display())]
    NotAKeyStore {
        /// The directory or the file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// Users other than its owner may have read or written what is in the key store.
    #[error("the key store is not to be believed: {}: {what}", path.display())]
    Insecure {
        /// The directory, or what is in it.
        path: PathBuf,
        /// The owner or the mode that it should not have.
        what: String,
    },
    /// It does not open with this key at this place: it was altered, moved from elsewhere, or
    /// sealed with another key.
    #[error(
        "{what} of session {session} does not open with the session's key: it was altered, moved from another place, or sealed with another key"
    )]
    DoesNotOpen {
        /// The session.
        session: Uuid,
        /// A body, an object, a text, a key.
        what: &'static str,
    },
    /// It is marked as sealed and does not have the form of it.
    #[error("{what} of session {session} is marked as sealed and is not of that form")]
    Malformed {
        /// The session.
        session: Uuid,
        /// A body, an object, a text, a key.
        what: &'static str,
    },
    /// The system gave no random bytes for a new key.
    #[error("the system gives no random bytes for a new key: {cause}")]
    NoEntropy {
        /// What it said.
        cause: String,
    },
    /// A file operation failed.
    #[error("failed to {doing}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        |source| Self::Io { doing, source }
    }
}
