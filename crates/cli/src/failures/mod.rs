//! The failures of commands: a stable code, one sentence, advice, and the exit code.
//!
//! Errors of the library are converted here, so every command reports the same error alike.
//! This room prints nothing and knows no command.
//!
//! Read `failure` first. `errors` converts the errors of the library, `service` those of a request
//! to a running service. `masked` removes passwords from their texts.

mod errors;
mod failure;
mod masked;
mod service;

pub(crate) use failure::{Exit, Failure, IN_USE, IO, NOT_YOURS, READ_ONLY, SEALED_ADVICE};
pub(crate) use masked::{is_address, without_password};
pub(crate) use service::{out_of_reach, refused, unanswered};
