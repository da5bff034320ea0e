//! The checks of what refers to what: programs, approvers, and agents as the engine takes them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::agents::{LoadedAgent, is_program};
use super::mistake::{Mistake, Place};
use super::section::instead_of;
use super::settings::{AccessSettings, RoleRule, Settings};
use super::tool_files::NamedApprovers;
use recount::engine::{Engine, Error};
use recount::journal::seal::MemoryKeyStore;
use recount::session::{Approvers, Person, Timestamp};
use recount_server::TokenInfo;

/// The issuer of the persons that tokens name.
const ISSUER: &str = "recount";

/// Registers the agents with an engine in memory, which checks each as a whole.
pub(crate) async fn registered(settings: &Settings, agents: &[LoadedAgent]) -> Vec<Mistake> {
    let mut engine = Engine::in_memory();
    if settings.keys.is_some() {
        engine = engine.keys(Arc::new(MemoryKeyStore::default()));
    }
    // The mistakes of a file would be reported again as those of the agent.
    for loaded in agents.iter().filter(|it| it.is_whole) {
        if let Some(agent) = settings.agents.get(&loaded.name) {
            engine = engine.agent(&loaded.name, loaded.without_servers(agent));
        }
    }
    let found = match engine.open().await {
        Ok(engine) => {
            // Nothing runs in it, so nothing can be lost.
            let _ = engine.shutdown(Duration::ZERO).await;
            return Vec::new();
        }
        Err(Error::Configuration { mistakes }) => mistakes,
        Err(error) => vec![error.to_string()],
    };
    let placed = found.into_iter().map(|what| {
        let of_agent = |(name, _): &(&String, _)| what.starts_with(&format!("agent {name:?}"));
        let agent = settings.agents.iter().find(of_agent);
        match agent {
            Some((name, agent)) => agent.place.mistake(&format!("agents.{name}"), what),
            None => Place::named("the agents").mistake("", what),
        }
    });
    placed.collect()
}

/// Reports tools whose program cannot be started.
pub(crate) fn programs(agents: &[LoadedAgent]) -> Vec<Mistake> {
    let named = agents.iter().flat_map(|it| &it.programs);
    let missing = named.filter(|it| !is_program(&it.program));
    let mistakes = missing.map(|it| {
        let what = format!(
            "expected an executable program, found none at {:?}",
            it.program
        );
        it.place.mistake(&it.field, what)
    });
    mistakes.collect()
}

/// Reports roles, groups and names of approvers that no valid token gives.
///
/// Persons that another party vouches for, such as users of the operating system, are not known
/// here. The issuer of JWTs and the proxy may give any group, and the issuer any role.
pub(crate) fn approvers(
    access: &AccessSettings,
    agents: &[LoadedAgent],
    tokens: &[TokenInfo],
    now: Timestamp,
) -> Vec<Mistake> {
    let valid = || tokens.iter().filter(|it| it.is_valid(now));
    let given = Given {
        roles: valid().flat_map(|it| &it.roles).collect(),
        groups: valid().flat_map(|it| &it.groups).collect(),
        names: valid().map(|it| &it.name).collect(),
        any_role: access.jwt.is_some(),
        any_group: access.jwt.is_some() || access.proxy.is_some(),
    };
    let named = agents.iter().flat_map(|it| &it.approvers);
    named.flat_map(|it| given.missing(it)).collect()
}

/// Reports agents and tools of `roles` that the configuration does not have.
///
/// Without agents, the service reads and answers sessions of other programs, whose agents are not
/// known here. Neither are the tools of an agent with MCP servers.
pub(crate) fn grants(settings: &Settings, agents: &[LoadedAgent]) -> Vec<Mistake> {
    if settings.agents.is_empty() {
        return Vec::new();
    }
    let (jwt, proxy) = (&settings.access.jwt, &settings.access.proxy);
    let of_jwt = jwt.iter().flat_map(|it| &it.roles);
    let rules = of_jwt.chain(proxy.iter().flat_map(|it| &it.roles));
    rules
        .flat_map(|rule| {
            let mut mistakes = unknown_agents(rule, settings);
            mistakes.extend(unknown_tools(rule, settings, agents));
            mistakes
        })
        .collect()
}

fn unknown_agents(rule: &RoleRule, settings: &Settings) -> Vec<Mistake> {
    let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
    let unknown = rule.agents.iter();
    let unknown = unknown.filter(|it| !settings.agents.contains_key(&it.value));
    let mistakes = unknown.map(|it| {
        let instead = instead_of(&it.value, &known);
        it.mistake(format!("there is no agent {:?}; {instead}", it.value))
    });
    mistakes.collect()
}

fn unknown_tools(rule: &RoleRule, settings: &Settings, agents: &[LoadedAgent]) -> Vec<Mistake> {
    let covered = |it: &&LoadedAgent| rule.grant.agents.covers(&it.name);
    let covered: Vec<&LoadedAgent> = agents.iter().filter(covered).collect();
    let is_known = |it: &LoadedAgent| {
        let own = settings.agents.get(&it.name);
        own.is_some_and(|own| it.has_known_tools(own))
    };
    if covered.is_empty() || !covered.iter().all(|it| is_known(it)) {
        return Vec::new();
    }
    let known: Vec<&str> = covered.iter().flat_map(|it| it.tool_names()).collect();
    let unknown = rule.tools.iter();
    let unknown = unknown.filter(|it| !known.contains(&it.value.as_str()));
    let mistakes = unknown.map(|it| {
        let instead = instead_of(&it.value, &known);
        let what = format!("no agent of this role has a tool {:?}; {instead}", it.value);
        it.mistake(what)
    });
    mistakes.collect()
}

/// The roles, groups and names of the valid tokens.
struct Given<'t> {
    roles: BTreeSet<&'t String>,
    groups: BTreeSet<&'t String>,
    names: BTreeSet<&'t String>,
    /// True if another party gives roles that are not known here.
    any_role: bool,
    /// True if another party gives groups that are not known here.
    any_group: bool,
}

impl Given<'_> {
    fn missing(&self, named: &NamedApprovers) -> Vec<Mistake> {
        let of_one = |it: &Approvers| {
            let is_missing = |role: &&String| !self.any_role && !self.roles.contains(role);
            let roles = it.roles.iter().filter(is_missing);
            let roles = roles.map(|role| format!("no valid token gives the role {role:?}"));
            let is_missing = |group: &&String| !self.any_group && !self.groups.contains(group);
            let groups = it.groups.iter().filter(is_missing);
            let groups = groups.map(|group| format!("no valid token gives the group {group:?}"));
            let is_unknown =
                |it: &&Person| it.issuer == ISSUER && !self.names.contains(&it.subject);
            let names = it.names.iter().filter(is_unknown);
            let names = names.map(|it| format!("no valid token has the name {:?}", it.subject));
            roles.chain(groups).chain(names).collect::<Vec<_>>()
        };
        let whats = named.approvers.iter().flat_map(of_one);
        whats
            .map(|what| named.place.mistake(&named.field, what))
            .collect()
    }
}
