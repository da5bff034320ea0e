//! Tools of MCP servers, tested with real servers. A server is a child process on standard input
//! and output, or a service of this machine over streamable HTTP.
#![cfg(all(feature = "mcp", feature = "testing"))]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "support/child_process/mod.rs"]
mod child_process;

#[path = "mcp/asking_server.rs"]
mod asking_server;
#[path = "mcp/asking_tasks.rs"]
mod asking_tasks;
#[path = "mcp/calls.rs"]
mod calls;
#[path = "mcp/changed_lists.rs"]
mod changed_lists;
#[path = "mcp/defects.rs"]
mod defects;
#[path = "mcp/digits.rs"]
mod digits;
#[path = "mcp/door.rs"]
mod door;
#[path = "mcp/following.rs"]
mod following;
#[path = "mcp/listing.rs"]
mod listing;
#[path = "mcp/lost.rs"]
mod lost;
#[path = "mcp/over_http.rs"]
mod over_http;
#[path = "mcp/progress.rs"]
mod progress;
#[path = "mcp/questions.rs"]
mod questions;
#[path = "mcp/raw_server.rs"]
mod raw_server;
#[path = "mcp/rounds.rs"]
mod rounds;
#[path = "mcp/rounds_lost.rs"]
mod rounds_lost;
#[path = "mcp/server.rs"]
mod server;
#[path = "mcp/survives.rs"]
mod survives;
#[path = "mcp/tasks.rs"]
mod tasks;
#[path = "mcp/unreadable.rs"]
mod unreadable;
#[path = "mcp/unreadable_http.rs"]
mod unreadable_http;

/// No test of its own: other tests start it as a server process.
#[test]
fn the_server() {
    if let Some(config) = server::config() {
        server::serve(config);
    }
}
