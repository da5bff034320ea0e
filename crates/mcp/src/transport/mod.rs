//! The transports to a server: a child process, and streamable HTTP.
//!
//! These modules know no tool, and keep results as they were written. Read `child` and `http`, then
//! `http_client`, `http_marking` and `json_answers`.

pub(super) mod child;
pub(super) mod http;
mod http_client;
mod http_marking;
mod json_answers;
