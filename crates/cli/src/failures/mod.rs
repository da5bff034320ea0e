//! The failures of commands: a stable code, one sentence, advice, and the exit code.
//!
//! Errors of the library become failures here, so that every command reports one of them alike.
//! This room prints nothing and knows no command.
//!
//! Read `failure` first. `service` has the failures of a command that asks a running service.

pub(super) mod failure;
pub(super) mod service;
