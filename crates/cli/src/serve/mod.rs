//! The service over HTTP: `recount serve`, and the commands that configure it.
//!
//! The crate `recount-server` has the routes and their checks; this room listens, and prepares the
//! engine. It decides nothing about a session or a request.
//!
//! Read `command` and `service` first: the start and the end of the service, then `start`.
//! `greeting` is what it prints. `listening` has the sockets and their encryption, `gateway` the
//! gateway for live clients, `agents` the agents with their MCP servers, `key_store` the keys of
//! sealed sessions, `notify` the sinks, `behind` the other tasks that follow the journal, and
//! `secret_file` the files that must be private. `options` overrides the configuration, and
//! `named_journal` finds the address of a database. `reload`
//! reads parts of it anew while the service runs. `token`, `init`, `check` and `notify` are the
//! commands of these names.

mod agents;
mod behind;
mod check;
mod command;
mod gateway;
mod greeting;
mod init;
mod key_store;
mod listening;
mod named_journal;
mod notify;
mod options;
mod reload;
mod secret_file;
mod service;
mod start;
mod token;
mod token_file;

pub(crate) use check::Check;
pub(crate) use command::Serve;
pub(crate) use gateway::Gateway;
pub(crate) use init::Init;
pub(crate) use notify::Notify;
pub(crate) use reload::Reload;
pub(crate) use start::loopback;
pub(crate) use token::Token;
