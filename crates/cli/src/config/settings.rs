//! The settings of a service, each with its place.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::checkpoints::CheckpointSettings;
use super::gateway::GatewaySettings;
use super::mistake::Place;
use super::notify::{RouteSettings, SinkSettings};
use super::postgres::PostgresSettings;
use super::reads::ReadsSettings;
use super::section::Given;
use super::traces::TracesSettings;
use crate::journal::Location;
use recount::engine::Transcripts;
use recount::session::PolicyChanges;
use recount_server::{Grant, JwtAlgorithm};

/// The settings of `recount serve`, without defaults. Paths are relative to the current directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) listen: Option<Given<SocketAddr>>,
    pub(crate) journal: Option<Given<Location>>,
    /// The settings of a journal in a database.
    pub(crate) postgres: PostgresSettings,
    pub(crate) keys: Option<KeySettings>,
    pub(crate) tls: TlsSettings,
    pub(crate) access: AccessSettings,
    pub(crate) limits: LimitSettings,
    /// The collector of traces, if there is one.
    pub(crate) traces: Option<TracesSettings>,
    /// The checkpoints of the journal, if any are made.
    pub(crate) checkpoints: Option<CheckpointSettings>,
    /// The gateway, if there is one.
    pub(crate) gateway: Option<GatewaySettings>,
    /// The recording of reads.
    pub(crate) reads: ReadsSettings,
    /// The sinks of notifications.
    pub(crate) sinks: Vec<SinkSettings>,
    /// The routes to them.
    pub(crate) routes: Vec<RouteSettings>,
    /// The agents by their names.
    pub(crate) agents: BTreeMap<String, AgentSettings>,
}

/// The keys of sealed sessions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeySettings {
    /// The directory of the key store.
    pub(crate) store: Given<PathBuf>,
    /// The file of the master key. Without one, it comes from the environment.
    pub(crate) master_key_file: Option<Given<PathBuf>>,
}

/// The certificate of the service. Both files or none are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TlsSettings {
    /// The file of the certificate and of those that signed it, in PEM.
    pub(crate) certificate: Option<Given<PathBuf>>,
    /// The file of the private key, in PEM.
    pub(crate) key: Option<Given<PathBuf>>,
}

impl TlsSettings {
    /// True if a file is named.
    pub(crate) fn is_given(&self) -> bool {
        self.certificate.is_some() || self.key.is_some()
    }
}

/// The ways to prove who sends a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessSettings {
    /// The file of the tokens.
    pub(crate) tokens: Option<Given<PathBuf>>,
    /// True if a reverse proxy, which has the certificate, is in front of the service.
    pub(crate) behind_proxy: Option<Given<bool>>,
    /// The URL by which clients reach the service.
    pub(crate) public_url: Option<Given<String>>,
    pub(crate) jwt: Option<JwtSettings>,
    pub(crate) proxy: Option<ProxySettings>,
}

/// The JWTs of an issuer.
#[derive(Clone, Debug)]
pub(crate) struct JwtSettings {
    pub(crate) issuer: Given<String>,
    pub(crate) audience: Given<String>,
    pub(crate) keys: JwtKeys,
    /// The only allowed algorithms. Empty: every asymmetric one.
    pub(crate) algorithms: Vec<Given<JwtAlgorithm>>,
    pub(crate) clock_skew: Option<Given<Duration>>,
    /// The time within which keys are fetched once at most.
    pub(crate) refetch_after: Option<Given<Duration>>,
    pub(crate) roles_claim: Option<Given<String>>,
    pub(crate) groups_claim: Option<Given<String>>,
    pub(crate) roles: Vec<RoleRule>,
}

/// The place of an issuer's keys.
#[derive(Clone, Debug)]
pub(crate) enum JwtKeys {
    File(Given<PathBuf>),
    /// A URL, and the file of the only authorities that it is trusted with, in PEM.
    Url(Given<String>, Option<Given<PathBuf>>),
}

/// A reverse proxy that names users, on a socket of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProxySettings {
    pub(crate) socket: Given<PathBuf>,
    /// The permissions of the socket. Without them, only the user of the service can open it.
    pub(crate) socket_mode: Option<Given<u32>>,
    pub(crate) user_header: Given<String>,
    pub(crate) groups_header: Option<Given<String>>,
    /// The issuer of the persons that it names.
    pub(crate) issuer: Option<Given<String>>,
    pub(crate) roles: Vec<RoleRule>,
}

/// The grant for a value of a claim or of a header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoleRule {
    pub(crate) value: String,
    pub(crate) grant: Grant,
    /// The agents of the grant, with their places.
    pub(crate) agents: Vec<Given<String>>,
    /// The tools of the grant, with their places.
    pub(crate) tools: Vec<Given<String>>,
}

/// The limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LimitSettings {
    /// The maximum size of a request's body, in bytes.
    pub(crate) body_bytes: Option<Given<u32>>,
    /// The maximum number of open connections.
    pub(crate) connections: Option<Given<u32>>,
    /// The maximum number of tools that run at the same time.
    pub(crate) running_max: Option<Given<u32>>,
    /// The time for running work after the request to end.
    pub(crate) grace: Option<Given<Duration>>,
    /// The maximum time for the head of a request, and for an idle connection.
    pub(crate) head_time: Option<Given<Duration>>,
    /// The maximum time for the body of a request.
    pub(crate) body_time: Option<Given<Duration>>,
    /// The requests of a principal in a second.
    pub(crate) requests_per_second: Option<Given<u32>>,
    /// The requests of an address with failed credentials in a minute.
    pub(crate) failures_per_minute: Option<Given<u32>>,
    /// The maximum number of streams of a principal.
    pub(crate) streams: Option<Given<u32>>,
    /// The maximum number of waiting requests of a principal.
    pub(crate) waiting: Option<Given<u32>>,
}

/// An agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentSettings {
    pub(crate) place: Place,
    /// The model. Without one, only programs drive the sessions.
    pub(crate) model: Option<Given<String>>,
    /// The URL of the model's service. Without one, it comes from the environment.
    pub(crate) endpoint: Option<Given<String>>,
    pub(crate) api_version: Option<Given<String>>,
    pub(crate) instruction: Option<Given<String>>,
    /// False for sessions in clear, although there is a key store.
    pub(crate) sealed: Option<Given<bool>>,
    /// The part of what is said that is recorded.
    pub(crate) record_transcripts: Option<Given<Transcripts>>,
    /// The files of tools that are commands.
    pub(crate) tools: Vec<Given<PathBuf>>,
    /// The file of policies, which override those of the tools.
    pub(crate) policies: Option<Given<PathBuf>>,
    pub(crate) mcp: Vec<McpSettings>,
    pub(crate) client_tools: Vec<ClientTool>,
}

impl AgentSettings {
    /// An agent without any setting, as the one that a gateway has by itself.
    pub(super) fn bare(place: Place) -> AgentSettings {
        AgentSettings {
            place,
            model: None,
            endpoint: None,
            api_version: None,
            instruction: None,
            sealed: None,
            record_transcripts: None,
            tools: Vec::new(),
            policies: None,
            mcp: Vec::new(),
            client_tools: Vec::new(),
        }
    }

    /// True if the settings are the same but for the policies.
    pub(crate) fn equals_but_for_policies(&self, other: &AgentSettings) -> bool {
        self.but_for_policies() == other.but_for_policies()
    }

    fn but_for_policies(&self) -> impl PartialEq {
        let AgentSettings {
            place: _,
            model,
            endpoint,
            api_version,
            instruction,
            sealed,
            record_transcripts,
            tools,
            policies: _,
            mcp,
            client_tools,
        } = self;
        let client_tools: Vec<_> = client_tools.iter().map(ClientTool::contract).collect();
        let conversation = (model, endpoint, api_version, instruction);
        (
            conversation,
            sealed,
            record_transcripts,
            tools,
            mcp,
            client_tools,
        )
    }
}

/// An MCP server whose tools an agent has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct McpSettings {
    /// A command line or a URL.
    pub(crate) server: Given<String>,
    pub(crate) prefix: Option<Given<String>>,
    /// The variables that a program inherits.
    pub(crate) env: Vec<Given<String>>,
    /// The variable with the token for a server at a URL.
    pub(crate) token_env: Option<Given<String>>,
    pub(crate) include: Vec<Given<String>>,
    pub(crate) exclude: Vec<Given<String>>,
    /// Other names for tools, by the name of the tool.
    pub(crate) aliases: BTreeMap<String, Given<String>>,
    pub(crate) strict: bool,
}

/// A tool that clients run.
#[derive(Clone, Debug)]
pub(crate) struct ClientTool {
    pub(crate) name: Given<String>,
    pub(crate) description: String,
    /// The JSON Schema of the arguments.
    pub(crate) parameters: Option<serde_json::Value>,
    /// The policies of this tool.
    pub(crate) policies: PolicyChanges,
}

impl ClientTool {
    /// All of the tool but its policies.
    fn contract(&self) -> impl PartialEq {
        let ClientTool {
            name,
            description,
            parameters,
            policies: _,
        } = self;
        (name, description, parameters)
    }
}
