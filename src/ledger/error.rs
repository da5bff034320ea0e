//! What can go wrong between a session and its journal.

use crate::session::{DecodeError, Endless, ObjectHash, Seq, SessionId};

/// The machinery failed; a refusal is a [`Rejection`](crate::session::Rejection) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal said no, or could not be read or written.
    #[error(transparent)]
    Journal(#[from] recount_journal::Error),
    /// The session is sealed and its key is not here.
    #[error("session {session} is sealed, and its key is not here")]
    Sealed {
        /// The session.
        session: SessionId,
    },
    /// Something was to be sealed, and no key store is here.
    #[error("something of session {session} is to be sealed, and there is no key store")]
    NoKeyStore {
        /// The session.
        session: SessionId,
    },
    /// What is sealed does not open, or the key store failed.
    #[error(transparent)]
    Seal(#[from] recount_journal::seal::Error),
    /// A line is not the record it should be.
    #[error("record {seq} of session {session} cannot be read")]
    Unreadable {
        /// The session.
        session: SessionId,
        /// The place.
        seq: Seq,
        /// What is wrong with it.
        #[source]
        source: DecodeError,
    },
    /// A line is not a record at all.
    #[error("record {seq} of session {session} is not a record: {source}")]
    Malformed {
        /// The session.
        session: SessionId,
        /// The place.
        seq: Seq,
        /// What is wrong with it.
        source: recount_journal::Malformed,
    },
    /// A newer program decided the session from here on, by rules that this program does not have.
    #[error(
        "record {seq} of session {session} was decided by rules {rules}, and this program knows the rules up to {}",
        crate::session::RULES
    )]
    NewerRules {
        /// The session.
        session: SessionId,
        /// The record that names the rules.
        seq: Seq,
        /// Their number.
        rules: u32,
    },
    /// An event names an object that the journal does not hold, or that is not what it should be.
    #[error(
        "session {session} names the object {hash}, which the journal does not hold or cannot read as a catalog or policies"
    )]
    MissingObject {
        /// The session.
        session: SessionId,
        /// The object.
        hash: ObjectHash,
    },
    /// No session has this id.
    #[error("there is no session {session}")]
    UnknownSession {
        /// What was asked for.
        session: SessionId,
    },
    /// An event could not be written as JSON.
    #[error("an event of session {session} cannot be written as JSON")]
    Unwritable {
        /// The session.
        session: SessionId,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// The rules contradict themselves.
    #[error("the decisions of session {session} have no end")]
    Endless {
        /// The session.
        session: SessionId,
        /// Where.
        #[source]
        source: Endless,
    },
}
