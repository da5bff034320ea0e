//! One connection to a server, from its handshake to its end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::service::{Peer, RunningService};
use rmcp::{RoleClient, ServiceError, ServiceExt};

use super::asker::Asker;
use super::causes;
use super::child::ChildProcess;
use super::definition::Definition;
use super::http;
use super::server::{McpServer, Way};
use crate::session::ObjectHash;

/// One connection to a server.
pub(super) struct Connection {
    service: RunningService<RoleClient, Asker>,
    child: Mutex<Option<ChildProcess>>,
    /// What the server has last said of its tools, by its own names.
    listed: Mutex<BTreeMap<String, ObjectHash>>,
}

impl Connection {
    /// Connects, and lists the tools.
    pub(super) async fn open(server: &McpServer) -> Result<(Connection, Vec<Definition>), String> {
        let patience = server.connects_within;
        let opening = Self::opened(server);
        let opened = tokio::time::timeout(patience, opening).await;
        let opened = opened.unwrap_or_else(|_| Err(format!("it took longer than {patience:?}")));
        opened.map_err(|reason| server.unsaid().out_of(reason))
    }

    async fn opened(server: &McpServer) -> Result<(Connection, Vec<Definition>), String> {
        let asker = Asker::new(server.name());
        let (service, child) = match &server.way {
            Way::Stdio { program, args } => {
                let (mut child, pipes) = ChildProcess::start(server, program, args)?;
                let service = match asker.serve(pipes).await {
                    Ok(service) => service,
                    Err(error) => {
                        let epitaph = child.epitaph().await;
                        return Err(format!("{}; {epitaph}", causes::of_handshake(&error)));
                    }
                };
                (service, Some(child))
            }
            Way::Http { url } => {
                let transport = http::transport(server, url)?;
                let service = asker.serve(transport).await;
                (service.map_err(|error| causes::of_handshake(&error))?, None)
            }
            Way::Broken { problem } => return Err(problem.clone()),
        };
        let connection = Connection {
            service,
            child: Mutex::new(child),
            listed: Mutex::default(),
        };
        let definitions = connection.list(&server.prefix).await;
        let definitions = definitions.map_err(|error| {
            let why = causes::of_request(&error);
            format!("it does not list its tools: {why}")
        })?;
        Ok((connection, definitions))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Definition>, ServiceError> {
        let tools = self.service.list_all_tools().await?;
        let definitions: Vec<Definition> =
            tools.iter().map(|it| Definition::of(it, prefix)).collect();
        let by_name = |it: &Definition| (it.own_name.clone(), it.hash());
        *self.listed() = definitions.iter().map(by_name).collect();
        Ok(definitions)
    }

    fn listed(&self) -> MutexGuard<'_, BTreeMap<String, ObjectHash>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server still says of a tool what it said; it is asked again where it has said that its tools are others.
    pub(super) async fn still_defines(&self, tool: &Definition) -> Result<bool, ServiceError> {
        if self.asker().take_changed() {
            self.list("").await?;
        }
        Ok(self.listed().get(&tool.own_name) == Some(&tool.hash()))
    }

    pub(super) fn asker(&self) -> &Asker {
        self.service.service()
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// Hangs up, and ends the program if there is one.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let child = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(child) = child {
            child.end().await;
        }
    }
}
