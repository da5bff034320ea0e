//! The changes of a server's list of tools, as changes for sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use recount_session::ObjectHash;
use recount_tool::ToolChanges;
use tokio::sync::watch;

use super::remote::Remote;
use super::tool::tools_of;
use crate::definitions::definition::Definition;
use crate::settings::error::McpError;

/// The changes that an MCP server reports of its list of tools (`tools/list_changed`).
///
/// [`T::mcp_watched`](crate::McpTools::mcp_watched) returns them beside the tools.
pub struct McpChanges {
    /// Weak, so that the connection ends with the last tool.
    remote: Weak<Remote>,
    reports: watch::Receiver<u64>,
    /// The tools of the last list.
    listed: BTreeMap<String, ObjectHash>,
    /// The tools that have come, gone or changed since the first list.
    touched: BTreeSet<String>,
}

impl McpChanges {
    pub(crate) fn of(remote: &Arc<Remote>, definitions: &[Definition]) -> McpChanges {
        McpChanges {
            remote: Arc::downgrade(remote),
            reports: remote.reports.subscribe(),
            listed: hashes(definitions),
            touched: BTreeSet::new(),
        }
    }

    /// Waits until the server reports another list, and returns the change since the first list.
    ///
    /// The change is the same for every session, whether it has taken earlier ones or none. A tool
    /// that the server defines anew keeps the policies that the program gave it. A tool that the
    /// server adds has those of the [server](crate::McpServer::policy) and of policy files; a gate
    /// for all of them is `policy("*", …)`. Returns `None` once no tool of the server is left.
    ///
    /// ```no_run
    /// # struct LiveSession;
    /// # impl LiveSession { async fn change_tools(&self, _: recount_tool::ToolChanges) {} }
    /// # async fn example(live: LiveSession) -> Result<(), recount_mcp::McpError> {
    /// use recount_mcp::{McpServer, McpTools};
    /// use recount_tool::T;
    ///
    /// let server = McpServer::http("https://wiki.example/mcp").prefix("wiki_");
    /// let (tools, mut changes) = T::mcp_watched(server).await?;
    /// // A session is opened with `tools`.
    /// # drop(tools);
    /// while let Some(changed) = changes.next().await {
    ///     match changed {
    ///         // A `LiveHandle` of `recount`.
    ///         Ok(changes) => live.change_tools(changes).await,
    ///         Err(error) => eprintln!("the tools stay as they are: {error}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The server does not list its tools, or is strict and one of them has a mistake. The next
    /// report tries again.
    pub async fn next(&mut self) -> Option<Result<ToolChanges, McpError>> {
        loop {
            self.reports.changed().await.ok()?;
            let remote = self.remote.upgrade()?;
            match remote.listed_again().await {
                Ok(definitions) => {
                    if let Some(changes) = self.taken(&remote, definitions) {
                        return Some(Ok(changes));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns the change to this list, or `None` if it is the last list.
    fn taken(&mut self, remote: &Arc<Remote>, definitions: Vec<Definition>) -> Option<ToolChanges> {
        let now = hashes(&definitions);
        if now == self.listed {
            return None;
        }
        let names = self.listed.keys().chain(now.keys());
        let differs = |name: &&String| self.listed.get(*name) != now.get(*name);
        let touched: Vec<String> = names.filter(differs).cloned().collect();
        self.touched.extend(touched);
        let mut changes = ToolChanges::new();
        for gone in self.touched.iter().filter(|it| !now.contains_key(*it)) {
            changes = changes.without_if_present(gone);
        }
        self.listed = now;
        let come = definitions.into_iter();
        let come = come.filter(|it| self.touched.contains(&it.name)).collect();
        Some(changes.redefining(tools_of(remote, come)))
    }
}

fn hashes(definitions: &[Definition]) -> BTreeMap<String, ObjectHash> {
    let hash = |it: &Definition| (it.name.clone(), it.hash());
    definitions.iter().map(hash).collect()
}

impl std::fmt::Debug for McpChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpChanges")
            .field("listed", &self.listed.keys())
            .finish_non_exhaustive()
    }
}
