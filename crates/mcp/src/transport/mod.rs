//! The ways to a server: the process of a child, and streamable HTTP.
//!
//! They know no tool, and of results only that they stay as they were written. Read `child` and
//! `http`, then `http_client`, `http_marking` and `json_answers`.

pub(super) mod child;
pub(super) mod http;
mod http_client;
mod http_marking;
mod json_answers;
