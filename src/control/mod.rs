//! The control API of a running service, for operators on the same machine.
//!
//! A journal belongs to one process, so other programs send their requests to that process. It
//! listens for WebSocket connections on the loopback interface. The file `CONTROL` in the journal's
//! directory holds the address and the token, and only the service's user can read it.
//! `docs/control.md` describes the messages.
//!
//! This module does not know the engine: the caller of [`Server::start`] supplies the [`Handler`].
//! The actor of a request follows from the connection, never from a message.

mod address;
mod claimed;
mod client;
mod connection;
mod error;
mod file;
mod look;
mod message;
mod one_answer;
pub mod os_user;
mod refusal;
mod reply;
mod server;
mod token;
mod unauthenticated;

pub(crate) use address::withdraw;
pub use address::{Address, CONTROL_FILES};
pub use claimed::wrong_with_name;
pub use client::{Answered, Client, read};
pub use error::{ConnectError, Unanswered};
pub use look::Look;
#[doc(hidden)]
pub use message::ticket;
pub use message::{Request, checked, confirmation, finding};
pub use one_answer::{OneAnswer, OneOutcome};
pub use refusal::Refusal;
pub use reply::{LogItem, NamedId, OnRecord, Problem, Reloaded, Reply, Waiting};
pub use server::{Handler, Items, ReaderGone, Server};
