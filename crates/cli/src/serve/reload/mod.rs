//! The configuration read anew while the service runs: by SIGHUP, and by `recount reload`.
//!
//! Policies, tokens, the issuer of JWTs, the certificate and the sinks of notifications are taken
//! anew. A part with a mistake stays as it was.
//!
//! Read `reloader` first, then `next_start`, the changes that it does not take; `outcome` is the
//! failure about both, and `command` the command.

mod command;
mod next_start;
mod outcome;
mod reloader;

pub(crate) use command::Reload;
pub(super) use reloader::Reloader;
