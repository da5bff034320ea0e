//! The service over HTTP: `recount serve`, and the commands that configure it.
//!
//! The crate `recount-server` has the routes and their checks; this room listens, and prepares the
//! engine. It decides nothing about a session or a request.
//!
//! Read `command` first: the start and the end of the service, then `start`. `connections` has the
//! sockets, `proxy_socket` that of a trusted proxy, `tls` the certificate, `agents` the agents with
//! their MCP servers, `key_store` the keys of sealed sessions, `notify` the sinks, `behind` the
//! other tasks that follow the journal, and `secret_file` the files that must be private. `options`
//! overrides the configuration. `reload` reads parts of it anew while the service runs. `token`,
//! `init`, `check` and `notify` are the commands of these names.

mod agents;
mod behind;
mod check;
mod command;
mod connections;
mod init;
mod key_store;
mod notify;
mod options;
mod proxy_socket;
mod reload;
mod secret_file;
mod start;
mod tls;
mod token;
mod token_file;

pub(crate) use check::Check;
pub(crate) use command::Serve;
pub(crate) use init::Init;
pub(crate) use notify::Notify;
pub(crate) use reload::Reload;
pub(crate) use start::loopback;
pub(crate) use token::Token;
