//! Servers of the Model Context Protocol as sources of tools.
//!
//! A [`McpServer`] says how a server is reached: as a child process that speaks on its standard
//! input and output, or over streamable HTTP. [`T::mcp`](McpTools::mcp) connects, lists the tools
//! and gives them as a [`Toolset`], like any other: policies, gates and files of policies hold for
//! them by name.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use recount_mcp::{McpServer, McpTools};
//! use recount_tool::{T, ToolDispatcher, ToolPolicy};
//! use std::time::Duration;
//!
//! let files = McpServer::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/srv/notes"])
//!     .named("files")
//!     .prefix("files_")
//!     .timeout(Duration::from_secs(10))
//!     .policy("files_write_*", ToolPolicy::gate("Write this file?"));
//! let mut tools = ToolDispatcher::new();
//! tools.register(T::mcp(files).await?)?;
//! # Ok(()) }
//! ```
//!
//! What a foreign server says is taken as foreign: its whole definition of a tool is part of what a
//! person approves, a definition that changes is not called, its hints change no rule unless the
//! embedding program trusts them, and its process gets nothing of the environment but what it needs
//! and what it is given.
//!
//! An embedder names it `recount::mcp`.

// The rooms, each of which imports those before it: `words`, `settings`, `definitions`, `asking`,
// `answers`, `transport`, `tools`. Read `settings` first, then `tools`.
mod answers;
mod asking;
mod definitions;
mod settings;
mod tools;
mod transport;
mod words;

use std::sync::Arc;

pub use settings::error::{McpError, McpMistake};
pub use settings::server::McpServer;

use recount_tool::{T, Toolset};

use self::tools::remote::Remote;

/// Adds [`T::mcp`](McpTools::mcp) to [`T`]. The prelude of `recount` has it in scope.
pub trait McpTools {
    /// The tools of an MCP server: a command line, a URL, or a [`McpServer`] that says more.
    ///
    /// It connects, lists the tools and checks them. The connection stays, for as long as any of
    /// the tools is there or until an engine that has them shuts down; where it is lost, the next
    /// call makes it again. Tools that the server adds or changes meanwhile count from the next
    /// `T::mcp` on; see the [crate].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), recount_mcp::McpError> {
    /// use recount_mcp::{McpServer, McpTools};
    /// use recount_tool::T;
    ///
    /// let files = T::mcp("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /srv/notes").await?;
    /// let wiki = T::mcp(McpServer::http("https://wiki.example/mcp").prefix("wiki_")).await?;
    /// let tools = T::confirm(files, "May it?") | wiki;
    /// # drop(tools);
    /// # Ok(()) }
    /// ```
    ///
    /// A tool whose definition is wrong takes no other with it: its schema is loosened where that
    /// is safe, its name gets a legal form, or it is left out, and a warning in the log names the
    /// tool and the field. See [`McpServer::strict`].
    ///
    /// # Errors
    /// The server is not there or does not speak the protocol; none of its tools can be offered, or
    /// one cannot and the server is [strict](McpServer::strict); a policy of the server fits none
    /// of its tools.
    fn mcp(server: impl Into<McpServer>) -> impl Future<Output = Result<Toolset, McpError>> + Send;
}

impl McpTools for T {
    fn mcp(server: impl Into<McpServer>) -> impl Future<Output = Result<Toolset, McpError>> + Send {
        let server = server.into();
        async {
            let (remote, definitions) = Remote::connect(server).await?;
            tools::tool::toolset(&Arc::new(remote), definitions)
        }
    }
}
