//! Roles and grants: what a principal may do, and in which sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A role. Of viewer, approver, operator and admin, each has the rights of those before it.
///
/// A client is a program: it opens and lists sessions, calls tools and runs claimed calls, and
/// reads nothing else but the calls. Operators and admins may do the same.
///
/// ```
/// use recount_server::Role;
/// assert!(Role::Client.may_drive() && Role::Operator.may_drive());
/// assert!(!Role::Viewer.may_drive() && !Role::Approver.may_drive());
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Opens sessions, calls tools and runs claimed calls.
    Client,
    /// Reads sessions, records, requests and audits.
    Viewer,
    /// Answers confirmation requests and revokes standing leaves.
    Approver,
    /// Supplies results, cancels, reconciles, pauses and closes.
    Operator,
    /// Changes the service itself.
    Admin,
}

impl Role {
    /// All roles, lowest first.
    pub const ALL: [Role; 5] = [
        Role::Client,
        Role::Viewer,
        Role::Approver,
        Role::Operator,
        Role::Admin,
    ];

    /// True if the role may open sessions, call tools and run claimed calls.
    #[must_use]
    pub const fn may_drive(self) -> bool {
        match self {
            Role::Client | Role::Operator | Role::Admin => true,
            Role::Viewer | Role::Approver => false,
        }
    }

    /// The name of the role.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Viewer => "viewer",
            Role::Approver => "approver",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected client, viewer, approver, operator or admin, found {found:?}")]
pub struct NotARole {
    found: String,
}

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Role, NotARole> {
        let named = Role::ALL.into_iter().find(|role| role.as_str() == text);
        let found = || NotARole {
            found: text.to_owned(),
        };
        named.ok_or_else(found)
    }
}

/// The agents of a grant.
///
/// ```
/// use recount_server::AgentScope;
/// let any: AgentScope = serde_json::from_str(r#""any""#)?;
/// let some: AgentScope = serde_json::from_str(r#"["support","billing"]"#)?;
/// assert!(any.covers("orders") && !some.covers("orders"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AgentText", into = "AgentText")]
pub enum AgentScope {
    /// Every agent.
    #[default]
    Any,
    /// Only these agents. Without one, the grant covers nothing.
    Only(BTreeSet<String>),
}

/// The spelling of an [`AgentScope`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AgentText {
    Any(AnyAgent),
    Only(BTreeSet<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnyAgent {
    Any,
}

impl From<AgentText> for AgentScope {
    fn from(text: AgentText) -> AgentScope {
        match text {
            AgentText::Any(AnyAgent::Any) => AgentScope::Any,
            AgentText::Only(agents) => AgentScope::Only(agents),
        }
    }
}

impl From<AgentScope> for AgentText {
    fn from(scope: AgentScope) -> AgentText {
        match scope {
            AgentScope::Any => AgentText::Any(AnyAgent::Any),
            AgentScope::Only(agents) => AgentText::Only(agents),
        }
    }
}

impl AgentScope {
    /// True if the scope has this agent.
    #[must_use]
    pub fn covers(&self, agent: &str) -> bool {
        match self {
            AgentScope::Any => true,
            AgentScope::Only(agents) => agents.contains(agent),
        }
    }
}

/// A role in the sessions of some agents with some labels.
///
/// ```json
/// {"role":"approver","agents":["support"],"labels":{"tenant":"acme"}}
/// {"role":"client","agents":["shop"],"labels":{},"tools":["pack_order"]}
/// {"role":"admin","agents":"any","labels":{}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The role.
    pub role: Role,
    /// The agents. Defaults to any.
    #[serde(default)]
    #[schema(value_type = serde_json::Value)]
    pub agents: AgentScope,
    /// The labels that a session must have, all of them.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The only tools that may be called and claimed with the grant. `None`, and omitted: any tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tools: Option<BTreeSet<String>>,
    /// The only models that clients of a gateway may use with the grant. `None`, and omitted: any
    /// model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub models: Option<BTreeSet<String>>,
}

impl Grant {
    /// A grant of the role in every session.
    ///
    /// ```
    /// use recount_server::{Grant, Role};
    /// let acme = Grant::everywhere(Role::Viewer).of_agent("support").with_label("tenant", "acme");
    /// assert!(!acme.covers("support", &Default::default()));
    /// ```
    #[must_use]
    pub fn everywhere(role: Role) -> Grant {
        Grant {
            role,
            agents: AgentScope::Any,
            labels: BTreeMap::new(),
            tools: None,
            models: None,
        }
    }

    /// The grant with this agent only, or beside the agents that were given before.
    #[must_use]
    pub fn of_agent(mut self, agent: impl Into<String>) -> Grant {
        let mut agents = match self.agents {
            AgentScope::Any => BTreeSet::new(),
            AgentScope::Only(agents) => agents,
        };
        agents.insert(agent.into());
        self.agents = AgentScope::Only(agents);
        self
    }

    /// The grant for sessions that also have this label.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<String>, value: impl Into<String>) -> Grant {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// The grant with this tool only, or beside the tools that were given before.
    ///
    /// ```
    /// use recount_server::{Grant, Role};
    /// let packs = Grant::everywhere(Role::Client).of_tool("pack_order");
    /// assert!(packs.covers_tool("pack_order") && !packs.covers_tool("refund"));
    /// ```
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>) -> Grant {
        let mut tools = self.tools.unwrap_or_default();
        tools.insert(tool.into());
        self.tools = Some(tools);
        self
    }

    /// The grant with this model only, or beside the models that were given before.
    ///
    /// ```
    /// use recount_server::{Grant, Role};
    /// let live = Grant::everywhere(Role::Client).of_model("gemini-3.8-live");
    /// assert!(live.models.is_some_and(|it| it.contains("gemini-3.8-live")));
    /// ```
    #[must_use]
    pub fn of_model(mut self, model: impl Into<String>) -> Grant {
        let mut models = self.models.unwrap_or_default();
        models.insert(model.into());
        self.models = Some(models);
        self
    }

    /// True if the tool may be called and claimed with the grant.
    #[must_use]
    pub fn covers_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|it| it.contains(tool))
    }

    /// True if the grant covers a session of this agent with these labels.
    #[must_use]
    pub fn covers(&self, agent: &str, labels: &BTreeMap<String, String>) -> bool {
        let has = |(name, value): (&String, &String)| labels.get(name) == Some(value);
        self.agents.covers(agent) && self.labels.iter().all(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_that_drive_are_those_of_programs_and_operators() {
        let driving: Vec<Role> = Role::ALL.into_iter().filter(|it| it.may_drive()).collect();
        assert_eq!(driving, [Role::Client, Role::Operator, Role::Admin]);
    }

    #[test]
    fn empty_scope_covers_nothing() {
        let nowhere = Grant {
            agents: AgentScope::Only(BTreeSet::new()),
            tools: Some(BTreeSet::new()),
            ..Grant::everywhere(Role::Admin)
        };
        assert!(!nowhere.covers("support", &BTreeMap::new()));
        assert!(!nowhere.covers_tool("refund"));
    }

    #[test]
    fn grant_covers_sessions_with_all_its_labels() {
        let of = |labels: &[(&str, &str)]| {
            let owned = labels
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            let grant = Grant::everywhere(Role::Viewer).with_label("tenant", "acme");
            let grant = grant.with_label("site", "berlin");
            grant.covers("support", &owned.collect())
        };
        assert!(of(&[("tenant", "acme"), ("site", "berlin"), ("more", "x")]));
        assert!(!of(&[("tenant", "acme")]));
        assert!(!of(&[("tenant", "acme"), ("site", "paris")]));
    }
}
