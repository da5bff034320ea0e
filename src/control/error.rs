//! What keeps an operator from the service, and a question from its answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::Refusal;
use super::address::Address;
use super::message::Problem;

/// The service of a journal cannot be reached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No process says that it can be controlled.
    #[error("no process offers to be controlled there")]
    NotOffered,
    /// The file of the service cannot be used.
    #[error("{} cannot be used: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another user's service: its file is not for this one.
    #[error("{} is a file of the user {owner}, and may not be read by others", path.display())]
    NotYours {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// Others than the user of the service can read the file, so its token proves nothing.
    #[error("{} can be read or written by others than its owner: its mode is {mode:03o}", path.display())]
    TokenExposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Nobody listens where the file says.
    #[error("nobody answers at {}, where process {} offered to be controlled", address.address, address.pid)]
    Gone {
        /// What the file says.
        address: Address,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Somebody listens there who does not know what only the service of this journal can know.
    /// Nothing was asked of them.
    #[error("whoever answers at {} is not the service of the journal, which process {} was", .0.address, .0.pid)]
    Unproven(Address),
    /// Whoever listens there has no place for one more operator.
    #[error("whoever answers at {}, where process {} offered to be controlled, has no place for another operator: {said:?}", address.address, address.pid)]
    Busy {
        /// What the file says.
        address: Address,
        /// What they said. Nobody has proven anything yet, so these are a stranger's words.
        said: String,
    },
    /// Somebody listens there and did not let us in.
    #[error("whoever answers at {}, where process {} offered to be controlled, did not let this command in: {reason}", address.address, address.pid)]
    Refused {
        /// What the file says.
        address: Address,
        /// How they did that; what they said, which are a stranger's words, stands in quotes.
        reason: String,
    },
    /// Somebody listens there and says nothing.
    #[error("whoever answers at {}, where process {} offered to be controlled, said nothing for {} s", address.address, address.pid, waited.as_secs())]
    Silent {
        /// What the file says.
        address: Address,
        /// How long that was waited for.
        waited: Duration,
    },
}

/// A question to the service came to no good end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// A rule said no.
    #[error("{}", .0.text)]
    Refused(Box<Refusal>),
    /// It could not be done.
    #[error("{}", .0.text)]
    Failed(Problem),
    /// The service ended in good order before it was done.
    #[error("the service ended")]
    Ended,
    /// It was not asked: the question takes more bytes than a message to a service may have.
    #[error("a message to a service takes {limit} bytes at most, and this one takes {bytes}")]
    TooLarge {
        /// How many it takes.
        bytes: usize,
        /// How many it may take.
        limit: usize,
    },
    /// The connection broke, nothing came for too long, or what came is no answer.
    #[error("the connection to the service was lost: {0}")]
    Lost(String),
}
