//! The agents of a configuration, with the files that they name.

use std::path::Path;

use super::gateway::HeldTerms;
use super::mistake::Mistake;
use super::section::instead_of;
use super::settings::{AgentSettings, Settings};
use super::tool_files::{self, NamedApprovers, NamedProgram, PolicyFile};
use recount::engine::Agent;
use recount::live::{Connector, Endpoint};
use recount::session::PolicyChanges;
use recount::tool::{PolicyTool, Toolset};

/// An agent with its files.
pub(crate) struct LoadedAgent {
    pub(crate) name: String,
    /// The tools of the files and of clients.
    tools: Toolset,
    /// The policies, of which the later count.
    policies: Vec<PolicyChanges>,
    endpoint: Option<Endpoint>,
    /// True if the sessions are sealed.
    is_sealed: bool,
    /// True if clients of a gateway declare tools, which policies may name.
    has_tools_of_clients: bool,
    /// The terms of held calls, if clients of a gateway have its sessions.
    held: Option<HeldTerms>,
    /// True if its files have no mistake.
    pub(super) is_whole: bool,
    pub(super) programs: Vec<NamedProgram>,
    pub(super) approvers: Vec<NamedApprovers>,
}

impl LoadedAgent {
    /// The agent, with further tools such as those of MCP servers.
    pub(crate) fn agent(&self, settings: &AgentSettings, more: Toolset) -> Agent {
        let policies = self.policies.iter().cloned();
        policies.fold(self.bare(settings, more), Agent::policies)
    }

    /// The agent without the tools of MCP servers, and without policies of them.
    pub(super) fn without_servers(&self, settings: &AgentSettings) -> Agent {
        self.agent_with(settings, Toolset::new())
    }

    /// The agent with these further tools, and without policies of tools that it does not have. Of
    /// tools that clients declare, it keeps them.
    pub(crate) fn agent_with(&self, settings: &AgentSettings, more: Toolset) -> Agent {
        if self.has_tools_of_clients {
            return self.agent(settings, more);
        }
        let tools = self.tools.tools().iter().chain(more.tools());
        let names: Vec<String> = tools.map(|it| it.name().to_owned()).collect();
        let policies = self.policies.iter().map(|file| {
            let mut file = file.clone();
            file.tools.retain(|name, _| names.contains(name));
            file
        });
        policies.fold(self.bare(settings, more), Agent::policies)
    }

    /// The agent without policies of files.
    fn bare(&self, settings: &AgentSettings, more: Toolset) -> Agent {
        let mut agent = Agent::new().tools(self.tools.clone() | more);
        if let Some(model) = &settings.model {
            agent = agent.model(&model.value);
        }
        if let Some(instruction) = &settings.instruction {
            agent = agent.instruction(&instruction.value);
        }
        if let Some(endpoint) = &self.endpoint {
            agent = agent.connect_to(endpoint.clone());
        }
        if self.is_sealed {
            agent = agent.sealed();
        }
        if self.has_tools_of_clients {
            agent = agent.tools_from_clients();
        }
        if let Some(held) = &self.held {
            agent = agent.acknowledge_after(held.inline);
            if let Some(time) = held.at_most {
                agent = agent.gates_expire_after(time);
                if let Some(on_expiry) = held.on_expiry {
                    agent = agent.gates_on_expiry(on_expiry);
                }
            }
            if held.dry_run {
                agent = agent.unenforced_confirmations();
            }
        }
        if let Some(transcripts) = &settings.record_transcripts {
            agent = agent.record_transcripts(transcripts.value);
        }
        agent
    }

    /// True if all tools of the agent are known before it runs.
    pub(super) fn has_known_tools(&self, settings: &AgentSettings) -> bool {
        self.is_whole && settings.mcp.is_empty() && !self.has_tools_of_clients
    }

    /// The tools of the files and of clients, without those of MCP servers.
    pub(super) fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.tools().iter().map(PolicyTool::name)
    }

    /// The policies, of which the later count.
    pub(crate) fn policies(&self) -> Vec<PolicyChanges> {
        self.policies.clone()
    }
}

/// Reads the files of every agent. Returns all mistakes.
pub(crate) fn load(settings: &Settings) -> (Vec<LoadedAgent>, Vec<Mistake>) {
    let mut mistakes = Vec::new();
    let agents = settings.agents.iter();
    let loaded = agents.map(|(name, agent)| {
        let wanted = agent.sealed.as_ref().map(|it| it.value);
        let mut loaded = LoadedAgent {
            name: name.clone(),
            tools: Toolset::new(),
            policies: Vec::new(),
            endpoint: None,
            is_sealed: settings.keys.is_some() && wanted != Some(false),
            has_tools_of_clients: settings.is_for_clients(agent),
            held: settings.held(agent),
            is_whole: true,
            programs: Vec::new(),
            approvers: Vec::new(),
        };
        let mut found = loaded.files(agent);
        match endpoint(agent) {
            Ok(endpoint) => loaded.endpoint = endpoint,
            Err(wrong) => found.extend(wrong),
        }
        if let (Some(sealed), Some(true), None) = (&agent.sealed, wanted, &settings.keys) {
            found.push(sealed.mistake("a sealed agent needs a key store in [keys]"));
        }
        loaded.is_whole = found.is_empty();
        mistakes.extend(found);
        loaded
    });
    let loaded = loaded.collect();
    (loaded, mistakes)
}

impl LoadedAgent {
    fn files(&mut self, agent: &AgentSettings) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for file in &agent.tools {
            match tool_files::tools(file) {
                Ok(found) => {
                    self.tools = std::mem::take(&mut self.tools) | found.tools;
                    self.programs.extend(found.programs);
                    self.approvers.extend(found.approvers);
                }
                Err(found) => mistakes.extend(found),
            }
        }
        for tool in &agent.client_tools {
            let parameters = tool.parameters.clone();
            let client = PolicyTool::client(&tool.name.value, &tool.description, parameters);
            self.tools = std::mem::take(&mut self.tools) | client;
            self.policies.push(tool.policies.clone());
            let own = tool
                .policies
                .tools
                .values()
                .filter_map(|it| it.approvers.clone());
            self.approvers.extend(own.map(|approvers| NamedApprovers {
                place: tool.name.place.clone(),
                field: format!("client tool {:?}: approvers", tool.name.value),
                approvers,
            }));
        }
        let has_all_tools =
            agent.mcp.is_empty() && mistakes.is_empty() && !self.has_tools_of_clients;
        let Some(file) = &agent.policies else {
            return mistakes;
        };
        match PolicyFile::read(file) {
            Ok(mut read) => {
                self.approvers.extend(read.approvers());
                if has_all_tools {
                    mistakes.extend(self.unknown_tools(&mut read));
                }
                self.policies.push(read.changes);
            }
            Err(found) => mistakes.extend(found),
        }
        mistakes
    }

    /// Reports and removes policies of tools that the agent does not have.
    fn unknown_tools(&self, file: &mut PolicyFile) -> Vec<Mistake> {
        let names: Vec<&str> = self.tool_names().collect();
        let is_unknown = |it: &&String| !names.contains(&it.as_str());
        let unknown: Vec<String> = file
            .changes
            .tools
            .keys()
            .filter(is_unknown)
            .cloned()
            .collect();
        let mistakes = unknown.iter().map(|tool| {
            let there = instead_of(tool, &names);
            let what = format!("agent {:?} has no tool {tool:?}; {there}", self.name);
            file.place_of(tool).mistake(&format!("tools.{tool}"), what)
        });
        let mistakes = mistakes.collect();
        file.changes.tools.retain(|tool, _| !unknown.contains(tool));
        mistakes
    }
}

/// The endpoint of an agent with a model.
fn endpoint(agent: &AgentSettings) -> Result<Option<Endpoint>, Vec<Mistake>> {
    let Some(model) = &agent.model else {
        let alone = [&agent.endpoint, &agent.api_version, &agent.instruction];
        let alone = alone.into_iter().flatten();
        let what = "this needs a model; without one, only programs drive the sessions";
        let mistakes: Vec<Mistake> = alone.map(|it| it.mistake(what)).collect();
        return if mistakes.is_empty() {
            Ok(None)
        } else {
            Err(mistakes)
        };
    };
    let endpoint = match &agent.endpoint {
        Some(url) => Endpoint::url(&url.value),
        None => Endpoint::from_env().map_err(|error| {
            vec![model.mistake(format!("without an endpoint for this model: {error}"))]
        })?,
    };
    let endpoint = match &agent.api_version {
        Some(version) => endpoint.api_version(&version.value),
        None => endpoint,
    };
    let given = agent.endpoint.as_ref().unwrap_or(model);
    let mistakes: Vec<Mistake> = endpoint
        .mistakes()
        .into_iter()
        .map(|it| given.mistake(it))
        .collect();
    if mistakes.is_empty() {
        Ok(Some(endpoint))
    } else {
        Err(mistakes)
    }
}

/// True if the program can be started: it is an executable file, or one of that name is in `PATH`.
pub(super) fn is_program(program: &str) -> bool {
    if program.contains(std::path::is_separator) {
        return is_executable(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|it| is_executable(&it.join(program)))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let facts = file.metadata();
    facts.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    let with = |ending: &str| file.with_extension(ending).is_file();
    file.is_file() || with("exe") || with("cmd") || with("bat")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reading;

    #[test]
    fn agent_records_what_its_settings_name() {
        let file = "[agents.a]\nrecord_transcripts = \"none\"\n[agents.b]\n\
                    [agents.c]\nrecord_transcripts = \"redacted\"\n";
        let (settings, _) = reading::read(file, Path::new("recount.toml"));
        let (loaded, _) = load(&settings);
        let agents = loaded.iter().zip(settings.agents.values());
        let agents =
            agents.map(|(it, settings)| format!("{:?}", it.agent(settings, Toolset::new())));
        let agents: Vec<String> = agents.collect();
        assert!(
            matches!(&agents[..], [a, b, c]
                if a.contains("transcripts: None")
                    && b.contains("transcripts: Full")
                    && c.contains("transcripts: Redacted")),
            "{agents:?}"
        );
    }
}
