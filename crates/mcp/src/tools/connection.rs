//! One connection to a server, from its handshake to its end.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount_session::ObjectHash;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{ClientInitializeError, Peer, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceError, ServiceExt};
use serde_json::Value;
use tokio::sync::watch;

use crate::answers::lost::Lost;
use crate::answers::raw_results::MarkedLines;
use crate::asking::asker::Asker;
use crate::definitions::definition::{Definition, hash_of};
use crate::settings::server::{Endpoint, McpServer};
use crate::transport::child::ChildProcess;
use crate::transport::http;
use crate::words::causes;

/// One connection to a server.
pub(super) struct Connection {
    service: RunningService<RoleClient, Asker>,
    /// The results that were received without the id of their request.
    lost: Lost,
    child: Mutex<Option<ChildProcess>>,
    /// The hashes of the last listed definitions, by the server's own tool names. Locked while the
    /// list is renewed, so that no call uses an outdated definition.
    listed: tokio::sync::Mutex<BTreeMap<String, ObjectHash>>,
    /// The time limit to list the tools.
    lists_within: Duration,
}

/// The reason why the server's definitions are unknown.
pub(super) enum Unlisted {
    Unanswered(ServiceError),
    Endless,
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unlisted::Unanswered(error) => f.write_str(&causes::of_request(error)),
            Unlisted::Endless => write!(f, "its list has more than {PAGES_MAX} pages"),
        }
    }
}

impl Connection {
    /// Connects and lists the tools.
    pub(crate) async fn open(
        server: &McpServer,
        reports: &Arc<watch::Sender<u64>>,
    ) -> Result<(Connection, Vec<Value>), String> {
        let patience = server.connects_within;
        let opening = Self::opened(server, reports);
        let opened = tokio::time::timeout(patience, opening).await;
        let opened = opened.unwrap_or_else(|_| Err(format!("it took longer than {patience:?}")));
        opened.map_err(|reason| server.unsaid().out_of(reason))
    }

    async fn opened(
        server: &McpServer,
        reports: &Arc<watch::Sender<u64>>,
    ) -> Result<(Connection, Vec<Value>), String> {
        let asker = Asker::new(server.name(), server.unsaid(), reports.clone());
        let lost = Lost::default();
        let (service, child) = match &server.endpoint {
            Endpoint::Stdio { program, args } => {
                let (mut child, pipes) = ChildProcess::start(server, program, args)?;
                let (stdout, stdin) = pipes;
                let lines = MarkedLines::of(stdout, lost.clone());
                // Lines are limited before, and a marked line may be longer than that limit.
                let transport = AsyncRwTransport::new_client(lines, stdin);
                let transport = transport.with_max_line_length(usize::MAX);
                let service = match handshake(asker.serve(transport), &lost).await {
                    Ok(service) => service,
                    Err(reason) => {
                        let exit_report = child.exit_report().await;
                        return Err(format!("{reason}; {exit_report}"));
                    }
                };
                (service, Some(child))
            }
            Endpoint::Http { url } => {
                let transport = http::transport(server, url, lost.clone())?;
                (handshake(asker.serve(transport), &lost).await?, None)
            }
            Endpoint::Broken { problem } => return Err(problem.clone()),
        };
        let connection = Connection {
            service,
            lost,
            child: Mutex::new(child),
            listed: tokio::sync::Mutex::default(),
            lists_within: server.connects_within,
        };
        let tools = connection.list().await;
        let tools = tools.map_err(|error| format!("it does not list its tools: {error}"))?;
        *connection.listed.lock().await = tools.iter().filter_map(hash_of).collect();
        Ok((connection, tools))
    }

    /// Returns the current definitions of the server's tools, as it writes them.
    async fn list(&self) -> Result<Vec<Value>, Unlisted> {
        let listing = async {
            let (mut tools, mut page) = (Vec::new(), None);
            for _ in 0..PAGES_MAX {
                let (listed, next) = self.page(page).await.map_err(Unlisted::Unanswered)?;
                tools.extend(listed);
                let Some(next) = next else {
                    return Ok(tools);
                };
                page = Some(PaginatedRequestParams::default().with_cursor(Some(next)));
            }
            Err(Unlisted::Endless)
        };
        let timeout = self.lists_within;
        let listed = tokio::time::timeout(timeout, listing).await;
        listed.unwrap_or(Err(Unlisted::Unanswered(ServiceError::Timeout { timeout })))
    }

    /// Requests one page of the list; returns its definitions and the cursor of the next page. A
    /// page that the library cannot read is read tool by tool.
    async fn page(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<(Vec<Value>, Option<String>), ServiceError> {
        let request = ListToolsRequest {
            params: page,
            ..ListToolsRequest::default()
        };
        let request = ClientRequest::ListToolsRequest(request);
        let mut lost = self.lost.listen();
        let answer = tokio::select! {
            biased;
            answer = self.peer().send_request(request) => answer,
            error = lost.next() => Err(ServiceError::McpError(error)),
        };
        match answer? {
            ServerResult::ListToolsResult(listed) => {
                let tools = listed.tools.iter().map(serde_json::to_value);
                let tools: Result<_, _> = tools.collect();
                Ok((tools.unwrap_or_default(), listed.next_cursor))
            }
            ServerResult::CustomResult(listed) => {
                let Some(tools) = listed.0.get("tools").and_then(Value::as_array) else {
                    return Err(ServiceError::UnexpectedResponse);
                };
                let next = listed.0.get("nextCursor").and_then(Value::as_str);
                Ok((tools.clone(), next.map(str::to_owned)))
            }
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    /// True if the server's definition of a tool is unchanged. The tools are listed again if the
    /// server has reported a change.
    pub(super) async fn still_defines(&self, tool: &Definition) -> Result<bool, Unlisted> {
        let mut listed = self.listed.lock().await;
        if let Some(change) = self.asker().take_change() {
            let tools = self.list().await?;
            *listed = tools.iter().filter_map(hash_of).collect();
            change.handled();
        }
        Ok(listed.get(&tool.own_name) == Some(&tool.hash()))
    }

    /// Lists the tools again, also for the next calls.
    pub(super) async fn listed_again(&self) -> Result<Vec<Value>, Unlisted> {
        let mut listed = self.listed.lock().await;
        let change = self.asker().take_change();
        let tools = self.list().await?;
        *listed = tools.iter().filter_map(hash_of).collect();
        if let Some(change) = change {
            change.handled();
        }
        Ok(tools)
    }

    pub(crate) fn asker(&self) -> &Asker {
        self.service.service()
    }

    pub(crate) fn lost(&self) -> &Lost {
        &self.lost
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// Closes the connection and ends the program, if there is one.
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

/// Waits for the handshake. Fails if a result without an id arrives, which may be its answer.
async fn handshake(
    serving: impl Future<Output = Result<RunningService<RoleClient, Asker>, ClientInitializeError>>,
    lost: &Lost,
) -> Result<RunningService<RoleClient, Asker>, String> {
    let mut lost = lost.listen();
    tokio::select! {
        biased;
        served = serving => served.map_err(|error| causes::of_handshake(&error)),
        error = lost.next() => Err(format!("it sent {}", error.message)),
    }
}

/// The maximum number of pages in a list of tools.
const PAGES_MAX: usize = 100;
