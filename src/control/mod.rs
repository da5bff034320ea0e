//! The way to a running service: what the process that holds a journal offers to an operator on the
//! same machine.
//!
//! A journal belongs to one process, so whoever wants to look at it or answer in it meanwhile asks
//! that process. It listens on the loopback interface for a WebSocket; where, and what must be
//! shown there, stands in the file `CONTROL` in the journal's directory, which only its own user
//! can read. `docs/control.md` has the messages.
//!
//! Nothing here knows an engine: whoever starts a [`Server`] says what becomes of a [`Request`].
//! Who asks follows from the door, never from a message.

mod address;
mod claimed;
mod client;
mod connection;
mod error;
mod file;
mod message;
mod newcomers;
pub mod os_user;
mod refusal;
mod server;
mod token;

pub(crate) use address::withdraw;
pub use address::{Address, CONTROL_FILES};
pub use claimed::wrong_with_name;
pub use client::{Answered, Client, read};
pub use error::{ConnectError, Unanswered};
#[doc(hidden)]
pub use message::ticket;
pub use message::{
    LogItem, NamedId, OnRecord, Problem, Reply, Request, Waiting, checked, confirmation, finding,
};
pub use refusal::Refusal;
pub use server::{Handler, Items, ReaderGone, Server};
