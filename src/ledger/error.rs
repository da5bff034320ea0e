//! Errors between a session and its journal.

use recount_journal::Error as JournalError;

use crate::session::{DecodeError, Endless, ObjectHash, Seq, SessionId};

/// A technical failure. A refused command is a [`Rejection`](crate::session::Rejection) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal rejected the operation, or could not be read or written.
    #[error(transparent)]
    Journal(#[from] recount_journal::Error),
    /// The session is sealed and its key is not available.
    #[error("session {session} is sealed, and its key is not here")]
    Sealed {
        /// The session.
        session: SessionId,
    },
    /// Sealing was required, but no key store is configured.
    #[error("something of session {session} is to be sealed, and there is no key store")]
    NoKeyStore {
        /// The session.
        session: SessionId,
    },
    /// Sealed data cannot be decrypted, or the key store failed.
    #[error(transparent)]
    Seal(#[from] recount_journal::seal::Error),
    /// A record holds no valid event.
    #[error("record {seq} of session {session} cannot be read")]
    Unreadable {
        /// The session.
        session: SessionId,
        /// The record's seq.
        seq: Seq,
        /// The fault.
        #[source]
        source: DecodeError,
    },
    /// A line is not a record.
    #[error("record {seq} of session {session} is not a record: {source}")]
    Malformed {
        /// The session.
        session: SessionId,
        /// The line's seq.
        seq: Seq,
        /// The fault.
        source: recount_journal::Malformed,
    },
    /// A newer version of Recount decided the session from this record on, by rules unknown here.
    #[error(
        "record {seq} of session {session} was decided by rules {rules}, and this program knows the rules up to {}",
        crate::session::RULES
    )]
    NewerRules {
        /// The session.
        session: SessionId,
        /// The record that names the rules.
        seq: Seq,
        /// The number of the rules.
        rules: u32,
    },
    /// A record of rules 2 or later names a catalog or policies with a field that this program does
    /// not know. A newer version of Recount may hold calls by it.
    #[error(
        "record {seq} of session {session} names the object {object}, whose field {field:?} this \
         program does not know"
    )]
    UnknownField {
        /// The session.
        session: SessionId,
        /// The record that names the object.
        seq: Seq,
        /// The object's hash.
        object: ObjectHash,
        /// The JSON Pointer of the first such field.
        field: String,
    },
    /// An event names an object that the journal does not hold, or that has an unexpected content.
    #[error(
        "session {session} names the object {hash}, which the journal does not hold or cannot read as a catalog or policies"
    )]
    MissingObject {
        /// The session.
        session: SessionId,
        /// The object's hash.
        hash: ObjectHash,
    },
    /// The journal has no session with this id.
    #[error("there is no session {session}")]
    UnknownSession {
        /// The id.
        session: SessionId,
    },
    /// An event could not be serialized as JSON.
    #[error("an event of session {session} cannot be written as JSON")]
    Unwritable {
        /// The session.
        session: SessionId,
        /// The error of serde.
        #[source]
        source: serde_json::Error,
    },
    /// The decision rules contradict themselves, so the decisions never end.
    #[error("the decisions of session {session} have no end")]
    Endless {
        /// The session.
        session: SessionId,
        /// The observation's kind and the number of decisions.
        #[source]
        source: Endless,
    },
}

impl Error {
    /// True if other sessions can still be read: a listing goes on without this one.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of_one_session(&self) -> bool {
        match self {
            Error::Journal(error) => matches!(
                error,
                JournalError::Damaged {
                    session: Some(session),
                    ..
                } if !session.is_nil()
            ),
            Error::Sealed { .. }
            | Error::NoKeyStore { .. }
            | Error::Seal(_)
            | Error::Unreadable { .. }
            | Error::Malformed { .. }
            | Error::NewerRules { .. }
            | Error::UnknownField { .. }
            | Error::MissingObject { .. }
            | Error::UnknownSession { .. }
            | Error::Unwritable { .. }
            | Error::Endless { .. } => true,
        }
    }
}
