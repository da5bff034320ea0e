//! Errors of connecting to a service, and of requests to it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::Refusal;
use super::address::Address;
use super::reply::Problem;

/// The reason why the service of a journal cannot be reached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No process offers control of this journal.
    #[error("no process offers to be controlled there")]
    NotOffered,
    /// The control file cannot be used.
    #[error("{} cannot be used: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// A description of the fault.
        problem: String,
    },
    /// The file belongs to another user, and so does the service.
    #[error("{} is a file of the user {owner}, and may not be read by others", path.display())]
    NotYours {
        /// The file.
        path: PathBuf,
        /// The owner of the file.
        owner: String,
    },
    /// Users other than the owner can access the file, so its token proves nothing.
    #[error("{} can be read or written by others than its owner: its mode is {mode:03o}", path.display())]
    TokenExposed {
        /// The file.
        path: PathBuf,
        /// The permissions of the file.
        mode: u32,
    },
    /// No process listens at the address in the file.
    #[error(
        "no process answers at {}, the control address of process {}",
        address.address,
        address.pid
    )]
    Gone {
        /// The address in the file.
        address: Address,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The process at the address could not prove that it is the service of this journal. The
    /// client sent it no request.
    #[error(
        "the process at {} is not the service of the journal, which was process {}",
        .0.address,
        .0.pid
    )]
    Unproven(Address),
    /// The process at the address has no room for another operator.
    #[error(
        "the service at {}, process {}, has no room for another operator: {said:?}",
        address.address,
        address.pid
    )]
    Busy {
        /// The address in the file.
        address: Address,
        /// Text from the process. It is untrusted, because the process has not proven its identity.
        said: String,
    },
    /// The process at the address rejected the connection.
    #[error(
        "the service at {}, process {}, rejected this command: {reason}",
        address.address,
        address.pid
    )]
    Refused {
        /// The address in the file.
        address: Address,
        /// The form of the rejection. Untrusted text from the process is quoted.
        reason: String,
    },
    /// The process at the address did not answer.
    #[error(
        "the service at {}, process {}, sent nothing for {} s",
        address.address,
        address.pid,
        waited.as_secs()
    )]
    Silent {
        /// The address in the file.
        address: Address,
        /// The time waited.
        waited: Duration,
    },
}

/// The reason why a request to the service has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// A rule rejected the request.
    #[error("{}", .0.text)]
    Refused(Box<Refusal>),
    /// The request failed.
    #[error("{}", .0.text)]
    Failed(Problem),
    /// The service shut down before the request was complete.
    #[error("the service ended")]
    Ended,
    /// The request is too large for a message and was not sent.
    #[error("a message to a service takes {limit} bytes at most, and this one takes {bytes}")]
    TooLarge {
        /// The size of the request, in bytes.
        bytes: usize,
        /// The maximum size, in bytes.
        limit: usize,
    },
    /// The connection broke, the service timed out, or its message was not a valid answer.
    #[error("the connection to the service was lost: {0}")]
    Lost(String),
}
