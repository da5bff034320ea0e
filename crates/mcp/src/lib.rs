//! Servers of the Model Context Protocol as sources of tools.
//!
//! A [`McpServer`] configures how a server is reached: as a child process over standard input and
//! output, or over streamable HTTP. [`T::mcp`](McpTools::mcp) connects, lists the tools and returns
//! them as a [`Toolset`]. Policies, gates and files of policies apply to them by name, as to any
//! other tool.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use recount_mcp::{McpServer, McpTools};
//! use recount_tool::{T, ToolDispatcher, ToolPolicy};
//! use std::time::Duration;
//!
//! let files = McpServer::stdio(
//!     "npx",
//!     [
//!         "-y",
//!         "@modelcontextprotocol/server-filesystem@2026.8.31",
//!         "/srv/notes",
//!     ],
//! )
//!     .named("files")
//!     .prefix("files_")
//!     .timeout(Duration::from_secs(10))
//!     .policy("files_write_*", ToolPolicy::gate("Write this file?"));
//! let mut tools = ToolDispatcher::new();
//! tools.register(T::mcp(files).await?)?;
//! # Ok(()) }
//! ```
//!
//! Data of a foreign server is not trusted. An approval covers its whole definition of a tool, and
//! a tool whose definition changes is not called. Its hints change no rule unless the embedding
//! program trusts them. Its process inherits only the necessary environment variables and those
//! named by the program.
//!
//! The library re-exports it as `recount::mcp`.

// The modules, each of which imports those before it: `words`, `settings`, `definitions`, `asking`,
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
pub use tools::changes::McpChanges;

use recount_tool::{T, Toolset};

use self::tools::remote::Remote;

/// Adds [`T::mcp`](McpTools::mcp) to [`T`]. The prelude of `recount` exports it.
pub trait McpTools {
    /// Returns the tools of an MCP server, given as a command line, a URL, or a [`McpServer`] with
    /// more settings.
    ///
    /// `mcp` connects, lists the tools and checks them. The connection stays open while any of the
    /// tools exists, or until an engine that has them shuts down. After a lost connection, the next
    /// call connects again. Tools that the server adds or changes later are available from the next
    /// `T::mcp` on, or by [`mcp_watched`](McpTools::mcp_watched).
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), recount_mcp::McpError> {
    /// use recount_mcp::{McpServer, McpTools};
    /// use recount_tool::T;
    ///
    /// let files =
    ///     T::mcp("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /srv/notes").await?;
    /// let wiki = T::mcp(McpServer::http("https://wiki.example/mcp").prefix("wiki_")).await?;
    /// let tools = T::confirm(files, "May it?") | wiki;
    /// # drop(tools);
    /// # Ok(()) }
    /// ```
    ///
    /// A tool with an invalid definition does not affect the others. Its schema is loosened where
    /// that is safe, its name is made legal, or the tool is left out. A logged warning names the
    /// tool and the field. See [`McpServer::strict`].
    ///
    /// # Errors
    /// * The server is unreachable or does not speak the protocol.
    /// * None of its tools can be offered, or one cannot and the server is
    ///   [strict](McpServer::strict).
    /// * A policy of the server matches none of its tools.
    fn mcp(server: impl Into<McpServer>) -> impl Future<Output = Result<Toolset, McpError>> + Send;

    /// Returns the tools of an MCP server like [`mcp`](McpTools::mcp), and the later changes of its
    /// list, which running sessions may take.
    ///
    /// # Errors
    /// Those of [`mcp`](McpTools::mcp).
    fn mcp_watched(
        server: impl Into<McpServer>,
    ) -> impl Future<Output = Result<(Toolset, McpChanges), McpError>> + Send;
}

impl McpTools for T {
    fn mcp(server: impl Into<McpServer>) -> impl Future<Output = Result<Toolset, McpError>> + Send {
        let server = server.into();
        async {
            let (remote, definitions) = Remote::connect(server).await?;
            tools::tool::toolset(&Arc::new(remote), definitions)
        }
    }

    fn mcp_watched(
        server: impl Into<McpServer>,
    ) -> impl Future<Output = Result<(Toolset, McpChanges), McpError>> + Send {
        let server = server.into();
        async {
            let (remote, definitions) = Remote::connect(server).await?;
            let remote = Arc::new(remote);
            let changes = McpChanges::of(&remote, &definitions);
            Ok((tools::tool::toolset(&remote, definitions)?, changes))
        }
    }
}
