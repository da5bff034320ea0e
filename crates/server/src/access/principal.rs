//! The principal of a request: the actor, and the grants of its credentials.

use std::collections::BTreeMap;

use recount::session::{Actor, Authentication};

use super::role::{AgentScope, Grant, Role};

/// The authenticated sender of a request.
///
/// Every handler gets it from the credentials of the request, never from a body.
///
/// ```
/// use recount::session::Actor;
/// use recount_server::{Grant, Principal, Role};
/// let support = Grant::everywhere(Role::Approver).of_agent("support");
/// let ada = Principal::new(Actor::embedder("ada"), vec![support]);
/// assert_eq!(ada.role_in("support", &Default::default()), Some(Role::Approver));
/// assert_eq!(ada.role_in("billing", &Default::default()), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Principal {
    actor: Actor,
    grants: Vec<Grant>,
}

/// The person or program behind a principal, whatever credentials prove it: the way in which the
/// name was verified, its issuer, and the name.
pub(crate) type Who = (Authentication, Option<String>, String);

impl Principal {
    /// A principal with these grants. Without one, no session exists for it.
    #[must_use]
    pub fn new(actor: Actor, grants: Vec<Grant>) -> Principal {
        Principal { actor, grants }
    }

    /// The actor of what the principal does, as records name it.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The person or program by which limits count.
    pub(crate) fn who(&self) -> Who {
        let actor = &self.actor;
        let issuer = actor.issuer().map(str::to_owned);
        (actor.authenticated_by, issuer, actor.name.clone())
    }

    /// The grants.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The highest role in a session of this agent with these labels. `None`: the session does not
    /// exist for the principal.
    #[must_use]
    pub fn role_in(&self, agent: &str, labels: &BTreeMap<String, String>) -> Option<Role> {
        let covering = self.grants.iter().filter(|it| it.covers(agent, labels));
        covering.map(|it| it.role).max()
    }

    /// True if the principal may open a session of this agent with these labels, call tools in it
    /// and run its calls. With a tool, true if it may do so with this tool.
    ///
    /// ```
    /// use recount::session::Actor;
    /// use recount_server::{Grant, Principal, Role};
    /// let packs = Grant::everywhere(Role::Client).of_agent("shop").of_tool("pack_order");
    /// let worker = Principal::new(Actor::embedder("worker"), vec![packs]);
    /// assert!(worker.may_drive("shop", &Default::default(), Some("pack_order")));
    /// assert!(!worker.may_drive("shop", &Default::default(), Some("refund")));
    /// assert!(!worker.may_drive("billing", &Default::default(), None));
    /// ```
    #[must_use]
    pub fn may_drive(
        &self,
        agent: &str,
        labels: &BTreeMap<String, String>,
        tool: Option<&str>,
    ) -> bool {
        let fits =
            |it: &&Grant| it.covers(agent, labels) && tool.is_none_or(|tool| it.covers_tool(tool));
        self.driving_grants().any(|it| fits(&it))
    }

    /// The grants with which tools may be called and claimed.
    pub(crate) fn driving_grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter().filter(|it| it.role.may_drive())
    }

    /// The highest role in all sessions of this agent, whatever their labels.
    #[must_use]
    pub fn role_over_agent(&self, agent: &str) -> Option<Role> {
        self.role_in(agent, &BTreeMap::new())
    }

    /// The highest role in all sessions, also sealed ones whose agent and labels are unknown here.
    #[must_use]
    pub fn role_over_everything(&self) -> Option<Role> {
        let is_wide = |it: &&Grant| it.agents == AgentScope::Any && it.labels.is_empty();
        let wide = self.grants.iter().filter(is_wide);
        wide.map(|it| it.role).max()
    }

    /// True if a grant may read sessions of the agent, or of any agent without a name.
    pub(crate) fn reads_of(&self, agent: Option<&str>) -> bool {
        let covers = |it: &Grant| agent.is_none_or(|agent| it.agents.covers(agent));
        let mut grants = self.grants.iter();
        grants.any(|it| it.role >= Role::Viewer && covers(it))
    }

    /// True if a grant names the agent, or every agent.
    #[must_use]
    pub fn knows_agent(&self, agent: &str) -> bool {
        self.grants.iter().any(|it| it.agents.covers(agent))
    }
}

#[cfg(test)]
mod tests {
    use recount::session::Identity;

    use super::*;

    fn with(grants: impl IntoIterator<Item = Grant>) -> Principal {
        Principal::new(Actor::token("ada"), grants.into_iter().collect())
    }

    #[test]
    fn highest_of_the_covering_roles_counts() {
        let viewer = Grant::everywhere(Role::Viewer);
        let operator = Grant::everywhere(Role::Operator).of_agent("support");
        let ada = with([operator, viewer]);
        let role_in = |agent| ada.role_in(agent, &BTreeMap::new());
        assert_eq!(role_in("support"), Some(Role::Operator));
        assert_eq!(role_in("billing"), Some(Role::Viewer));
        assert_eq!(ada.role_over_everything(), Some(Role::Viewer));
    }

    #[test]
    fn narrow_grant_is_none_over_everything() {
        let admin = || Grant::everywhere(Role::Admin);
        for narrow in [admin().of_agent("support"), admin().with_label("a", "b")] {
            let ada = with([narrow.clone()]);
            assert_eq!(ada.role_over_everything(), None, "{narrow:?}");
        }
        let ada = with([admin().of_agent("support").with_label("a", "b")]);
        assert_eq!(ada.role_over_agent("support"), None);
    }

    #[test]
    fn same_name_of_another_issuer_is_another_person() {
        let of = |issuer: &str| {
            let actor = Actor::token("ada").with_identity(Identity::of(issuer));
            Principal::new(actor, Vec::new()).who()
        };
        assert_eq!(of("sso"), of("sso"));
        assert_ne!(of("sso"), of("recount"));
    }
}
