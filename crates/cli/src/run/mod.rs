//! `recount run`: a conversation with the user's own tools, each a program.
//!
//! The engine serves the session; this room adds the tools and the terminal. It decides nothing
//! about a call.
//!
//! Read `command` first: the options, the engine, the end. `conversation` holds the conversation,
//! with `input`, the typed lines, and `approvals`, the answers to requests. `servers` has the tools
//! of MCP servers.

mod approvals;
mod command;
mod conversation;
mod input;
mod servers;

pub(crate) use command::Run;
