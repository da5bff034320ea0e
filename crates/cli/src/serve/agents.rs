//! The agents of the service, with the tools of their MCP servers.

use crate::config::{AgentSettings, LoadedAgent, McpSettings, Settings};
use crate::failures::{Exit, Failure};
use recount::engine::Agent;
use recount::tool::Toolset;
#[cfg(feature = "mcp")]
use recount_telling::one_line;

/// An agent that can be registered.
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) agent: Agent,
}

/// Connects to the MCP servers and returns the agents with their tools.
pub(super) async fn with_servers(
    settings: &Settings,
    loaded: Vec<LoadedAgent>,
) -> Result<Vec<Ready>, Failure> {
    let mut ready = Vec::new();
    for it in loaded {
        // Every loaded agent has its settings.
        let Some(agent) = settings.agents.get(&it.name) else {
            continue;
        };
        let tools = tools_of(agent).await?;
        ready.push(Ready {
            agent: it.agent(agent, tools),
            name: it.name,
        });
    }
    Ok(ready)
}

async fn tools_of(agent: &AgentSettings) -> Result<Toolset, Failure> {
    let mut tools = Toolset::new();
    for server in &agent.mcp {
        tools = tools | tools_of_server(server).await?;
    }
    Ok(tools)
}

#[cfg(feature = "mcp")]
async fn tools_of_server(settings: &McpSettings) -> Result<Toolset, Failure> {
    use recount::mcp::{McpError, McpServer, McpTools};
    use recount::tool::T;

    let texts = |given: &[crate::config::Given<String>]| -> Vec<String> {
        given.iter().map(|it| it.value.clone()).collect()
    };
    let text = settings.server.value.as_str();
    let mut server = McpServer::from(text)
        .include(texts(&settings.include))
        .exclude(texts(&settings.exclude));
    if let Some(prefix) = &settings.prefix {
        server = server.prefix(&prefix.value);
    }
    for (name, alias) in &settings.aliases {
        server = server.alias(name, &alias.value);
    }
    if settings.strict {
        server = server.strict();
    }
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    server = match &settings.token_env {
        Some(variable) if is_url => {
            let token = std::env::var(&variable.value).map_err(|_| {
                let what = format!("expected a token in {:?}, found none", variable.value);
                mistaken(&variable.mistake(what).to_string())
            })?;
            server.bearer(token)
        }
        Some(variable) => {
            let what = "a token is only for a server at a URL";
            return Err(mistaken(&variable.mistake(what).to_string()));
        }
        None if is_url => server,
        None => server.inherit_env(texts(&settings.env)),
    };
    let found = T::mcp(server).await;
    found.map_err(|error| match error {
        McpError::Address { .. } => {
            mistaken(&settings.server.mistake(error.to_string()).to_string())
        }
        error => Failure::new("mcp-server", one_line(&error.to_string()).into_owned())
            .advice("RECOUNT_LOG=info shows the error output of the server"),
    })
}

#[cfg(not(feature = "mcp"))]
async fn tools_of_server(settings: &McpSettings) -> Result<Toolset, Failure> {
    let what = "this recount was built without the feature `mcp`, so it cannot use MCP servers";
    Err(
        Failure::new("no-mcp", settings.server.mistake(what).to_string())
            .exit(Exit::Usage)
            .advice("build it with the feature: `cargo install recount --features mcp`"),
    )
}

#[cfg(feature = "mcp")]
fn mistaken(what: &str) -> Failure {
    Failure::new("mcp-server", one_line(what).into_owned()).exit(Exit::Usage)
}
