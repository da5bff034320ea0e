//! The reader of an agent in `recount.toml`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::document::Node;
use super::section::Section;
use super::settings::{AgentSettings, ClientTool, McpSettings};
use recount::engine::Transcripts;
use recount::session::PolicyChanges;
use recount::tool::policy_file;

/// The keys of an agent.
pub(super) const AGENT: [&str; 10] = [
    "model",
    "endpoint",
    "api_version",
    "instruction",
    "sealed",
    "record_transcripts",
    "tools",
    "policies",
    "mcp",
    "client_tools",
];

/// The keys of an MCP server.
pub(super) const MCP: [&str; 8] = [
    "server",
    "prefix",
    "env",
    "token_env",
    "include",
    "exclude",
    "aliases",
    "strict",
];

/// The keys of a client-run tool, other than those of its policies.
pub(super) const CLIENT_TOOL: [&str; 3] = ["name", "description", "parameters"];

/// Reads an agent.
pub(super) fn agent(section: &Section<'_>) -> AgentSettings {
    section.only(&AGENT);
    let servers = section.sections("mcp");
    let client_tools = section.sections("client_tools");
    AgentSettings {
        place: section.place.clone(),
        model: section.text("model"),
        endpoint: section.text("endpoint"),
        api_version: section.text("api_version"),
        instruction: section.text("instruction"),
        sealed: section.flag("sealed"),
        record_transcripts: section.value(
            "record_transcripts",
            "full, redacted or none",
            transcripts,
        ),
        tools: section.paths("tools"),
        policies: section.path("policies"),
        mcp: servers.iter().filter_map(mcp).collect(),
        client_tools: client_tools.iter().filter_map(client_tool).collect(),
    }
}

fn transcripts(node: &Node) -> Option<Transcripts> {
    match node.text()? {
        "full" => Some(Transcripts::Full),
        "redacted" => Some(Transcripts::Redacted),
        "none" => Some(Transcripts::None),
        _ => None,
    }
}

fn mcp(section: &Section<'_>) -> Option<McpSettings> {
    section.only(&MCP);
    let mut aliases = BTreeMap::new();
    if let Some(table) = section.section("aliases") {
        for name in table.table.keys() {
            aliases.extend(table.text(name).map(|alias| (name.clone(), alias)));
        }
    }
    let strict = section.flag("strict").is_some_and(|it| it.value);
    let (include, exclude) = (section.texts("include"), section.texts("exclude"));
    let (env, token_env) = (section.texts("env"), section.text("token_env"));
    let prefix = section.text("prefix");
    Some(McpSettings {
        server: section.required("server", section.text("server"))?,
        prefix,
        env,
        token_env,
        include,
        exclude,
        aliases,
        strict,
    })
}

fn client_tool(section: &Section<'_>) -> Option<ClientTool> {
    let policies = policies(section);
    let parameters = section.value("parameters", "a JSON Schema as a table or a text", schema);
    let description = section.required("description", section.text("description"));
    let name = section.required("name", section.text("name"))?;
    let mut policies = policies?;
    // The reader of policies had another name for the tool.
    let own = policies.tools.pop_first().map(|(_, it)| it);
    policies
        .tools
        .extend(own.map(|it| (name.value.clone(), it)));
    Some(ClientTool {
        name,
        description: description?.value,
        parameters: parameters.map(|it| it.value),
        policies,
    })
}

fn schema(node: &Node) -> Option<Value> {
    match node.text() {
        Some(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        None => Some(node.to_json()).filter(Value::is_object),
    }
}

/// The name of the tool for the reader of policies. A name with dots would hide the key.
const TOOL: &str = "tool";

/// Reads the keys of policies with the reader of policy files. `None` after a mistake.
fn policies(section: &Section<'_>) -> Option<PolicyChanges> {
    let members = section.table.iter();
    let members = members.filter(|(key, _)| !CLIENT_TOOL.contains(&key.as_str()));
    let policy: Map<String, Value> = members
        .map(|(key, member)| (key.clone(), member.value.to_json()))
        .collect();
    let file = json!({"tools": {TOOL: policy}});
    let error = match policy_file::parse(&file.to_string()) {
        Ok(changes) => return Some(changes),
        Err(error) => error,
    };
    let prefix = format!("tools.{TOOL}.");
    for mistake in error.mistakes {
        let key = mistake.field.strip_prefix(&prefix).unwrap_or_default();
        let first = key.split('.').next().unwrap_or_default();
        let place = section.table.get(first).map(|it| &it.key);
        let place = place.unwrap_or(&section.place);
        let mistake = place.mistake(&section.field_of(key), mistake.what);
        section.object(mistake);
    }
    None
}
