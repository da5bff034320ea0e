//! The failures of commands: a stable code, one sentence, advice, and the exit code.
//!
//! Errors of the library become failures here, so that every command reports one of them alike.
//! This room prints nothing and knows no command.
//!
//! Read `failure` first. `errors` turns the errors of the library into failures, `service` those of
//! a command that asks a running service.

mod errors;
mod failure;
mod service;

pub(crate) use failure::{Exit, Failure, IN_USE, IO, NOT_YOURS, SEALED_ADVICE};
pub(crate) use service::{out_of_reach, refused, unanswered};
