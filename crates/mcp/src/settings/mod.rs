//! The settings of a server, and the errors of connecting with them.
//!
//! Nothing here connects. Read `server`, then `error`; `pattern` matches names of tools.

pub(super) mod error;
pub(super) mod pattern;
pub(super) mod server;
