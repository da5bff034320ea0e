//! The entrance of a gateway: the credentials of a client, and what they allow.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use recount::session::{Actor, Authentication};
use sha2::{Digest, Sha256};

/// A check of the credentials of clients.
///
/// ```
/// use std::net::IpAddr;
/// use recount::session::Actor;
/// use recount_gateway::{Admitted, Entrance, Permission, Refused};
///
/// /// One client with one password.
/// struct OnlyAda;
///
/// impl Entrance for OnlyAda {
///     fn admit(&self, credential: Option<&str>, _: Option<IpAddr>) -> Result<Admitted, Refused> {
///         match credential {
///             Some("open sesame") => Ok(Admitted::new(Actor::embedder("ada"), "open sesame")
///                 .with(Permission::any().of_agent("support"))),
///             Some(_) | None => Err(Refused::Unauthenticated),
///         }
///     }
/// }
/// ```
pub trait Entrance: Send + Sync {
    /// Returns the client with this credential, as the header or the query of its request has it.
    /// `peer` is the address of the client, by which failures are counted.
    ///
    /// # Errors
    /// The refusal. It never contains the credential.
    fn admit(&self, credential: Option<&str>, peer: Option<IpAddr>) -> Result<Admitted, Refused>;

    /// True while the credential is valid. A connection whose credential is revoked ends.
    fn is_valid(&self, admitted: &Admitted) -> bool {
        let _ = admitted;
        true
    }
}

/// The address of a client, as the program that accepts its connection knows it.
///
/// The program adds it to the extensions of each request. Without it, the failures of all clients
/// count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// The entrance that leaves the check of every credential to the vendor.
///
/// It admits every client to every agent and model.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyCredential;

impl Entrance for AnyCredential {
    fn admit(&self, credential: Option<&str>, _: Option<IpAddr>) -> Result<Admitted, Refused> {
        let client = Actor::unverified("gateway client");
        Ok(Admitted::new(client, credential.unwrap_or_default()).with(Permission::any()))
    }
}

/// A refusal of a client. No variant has a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The credential is missing, unknown, expired or revoked.
    #[error("expected a valid token of the gateway in place of the vendor's key")]
    Unauthenticated,
    /// The credential does not allow what the client asks for.
    #[error("the token does not allow {what}")]
    Forbidden {
        /// The agent, model or labels.
        what: String,
    },
    /// The address has sent too many failed credentials.
    #[error("more failed credentials than the gateway takes from one address")]
    TooMany {
        /// The time to wait before the next attempt.
        retry_after: Duration,
    },
}

/// A client that is admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    actor: Actor,
    fingerprint: String,
    permissions: Vec<Permission>,
}

impl Admitted {
    /// A client with this credential. Without a permission, it may do nothing.
    #[must_use]
    pub fn new(actor: Actor, credential: &str) -> Admitted {
        let digest = Sha256::digest(credential.as_bytes());
        Admitted {
            actor,
            fingerprint: digest.iter().map(|it| format!("{it:02x}")).collect(),
            permissions: Vec::new(),
        }
    }

    /// Adds a permission.
    #[must_use]
    pub fn with(mut self, permission: Permission) -> Admitted {
        self.permissions.push(permission);
        self
    }

    /// The actor of what the client does, as records name it.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The SHA-256 of the credential, in hexadecimal digits.
    ///
    /// A resumption handle counts only under the credential that brought it.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The scope of names that the client chooses, such as those of its sessions.
    ///
    /// Two tokens of one name have one scope, so a token can be replaced. A client whose name is
    /// not verified has the scope of its credential.
    ///
    /// ```
    /// use recount::session::Actor;
    /// use recount_gateway::Admitted;
    /// let of = |name: &str, token: &str| Admitted::new(Actor::token(name), token).scope();
    /// assert_eq!(of("shop", "rct_1"), of("shop", "rct_2"));
    /// assert_ne!(of("shop", "rct_1"), of("desk", "rct_1"));
    /// ```
    #[must_use]
    pub fn scope(&self) -> String {
        match self.actor.authenticated_by {
            Authentication::Token | Authentication::Embedder | Authentication::OsUser => {
                let issuer = self.actor.issuer().unwrap_or_default();
                format!("name:{issuer}:{}", self.actor.name)
            }
            Authentication::None => format!("credential:{}", self.fingerprint),
        }
    }

    /// The scope of the names of sessions of this agent with these labels.
    ///
    /// Tokens of one name that ask for other labels have scopes of their own, so that the names of
    /// one tenant do not lead to the sessions of another. Labels that no permission asks for do not
    /// count: they may change between connections.
    pub(crate) fn scope_of(&self, agent: &str, labels: &BTreeMap<String, String>) -> String {
        let covering = self
            .permissions
            .iter()
            .filter(|it| it.covers(agent, labels));
        let asked = covering
            .map(|it| &it.labels)
            .min_by_key(|it| (it.len(), *it));
        serde_json::json!([self.scope(), agent, asked]).to_string()
    }

    /// True if the client may open and continue a session of this agent with these labels. With a
    /// model, true if it may do so with this model.
    #[must_use]
    pub fn may_use(
        &self,
        agent: &str,
        labels: &BTreeMap<String, String>,
        model: Option<&str>,
    ) -> bool {
        let mut permissions = self.permissions.iter();
        permissions
            .any(|it| it.covers(agent, labels) && model.is_none_or(|model| it.covers_model(model)))
    }

    /// True if the client may run calls of this tool in a session of this agent.
    #[must_use]
    pub fn may_run(&self, agent: &str, labels: &BTreeMap<String, String>, tool: &str) -> bool {
        let mut permissions = self.permissions.iter();
        permissions.any(|it| it.covers(agent, labels) && it.tools.covers(tool))
    }
}

/// The agents, models, labels and tools that a client may use together.
///
/// ```
/// use recount::session::Actor;
/// use recount_gateway::{Admitted, Permission};
/// let live = Permission::any().of_agent("support").of_model("gemini-3.8-live");
/// let shop = Admitted::new(Actor::token("shop"), "rct_1").with(live);
/// let may = |model| shop.may_use("support", &Default::default(), Some(model));
/// assert!(may("models/gemini-3.8-live") && may("publishers/google/models/gemini-3.8-live"));
/// assert!(!may("models/gemini-3.8-pro"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// The agents.
    pub agents: Allowed,
    /// The models, without the collections in front of their names.
    pub models: Allowed,
    /// The labels that a session must have, all of them.
    pub labels: BTreeMap<String, String>,
    /// The tools whose calls the client may run.
    pub tools: Allowed,
}

impl Permission {
    /// The permission for everything.
    #[must_use]
    pub fn any() -> Permission {
        Permission::default()
    }

    /// The permission with this agent only, or beside the agents that were given before.
    #[must_use]
    pub fn of_agent(mut self, agent: impl Into<String>) -> Permission {
        self.agents = self.agents.and(agent.into());
        self
    }

    /// The permission with this model only, or beside the models that were given before.
    #[must_use]
    pub fn of_model(mut self, model: impl Into<String>) -> Permission {
        self.models = self.models.and(model.into());
        self
    }

    fn covers(&self, agent: &str, labels: &BTreeMap<String, String>) -> bool {
        let has = |(name, value): (&String, &String)| labels.get(name) == Some(value);
        self.agents.covers(agent) && self.labels.iter().all(has)
    }

    fn covers_model(&self, model: &str) -> bool {
        // The vendors write `models/NAME`, and more collections in front of it.
        let name = model.rsplit('/').next().unwrap_or(model);
        self.models.covers(name)
    }
}

/// Names that are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// Every name.
    #[default]
    Any,
    /// Only these names.
    Only(BTreeSet<String>),
}

impl Allowed {
    /// True if the name is allowed.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Only(names) => names.contains(name),
        }
    }

    fn and(self, name: String) -> Allowed {
        let mut names = match self {
            Allowed::Any => BTreeSet::new(),
            Allowed::Only(names) => names,
        };
        names.insert(name);
        Allowed::Only(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_do_not_mix() {
        let support = Permission::any().of_agent("support").of_model("live");
        let billing = Permission::any().of_agent("billing").of_model("pro");
        let client = Admitted::new(Actor::token("shop"), "rct_1");
        let client = client.with(support).with(billing);
        let none = BTreeMap::new();
        assert!(client.may_use("support", &none, Some("models/live")));
        assert!(!client.may_use("support", &none, Some("models/pro")));
        assert!(client.may_use("billing", &none, None));
        assert!(!client.may_use("orders", &none, None));
    }

    #[test]
    fn unverified_client_has_scope_of_its_credential() {
        let of = |credential| {
            AnyCredential
                .admit(Some(credential), None)
                .map(|it| it.scope())
        };
        assert_eq!(of("key-1"), of("key-1"));
        assert_ne!(of("key-1"), of("key-2"));
        assert!(of("key-1").is_ok_and(|it| !it.contains("key-1")));
    }

    #[test]
    fn session_needs_all_labels_of_a_permission() {
        let mut acme = Permission::any();
        acme.labels.insert("tenant".to_owned(), "acme".to_owned());
        let client = Admitted::new(Actor::token("shop"), "rct_1").with(acme);
        let labels = |value: &str| BTreeMap::from([("tenant".to_owned(), value.to_owned())]);
        assert!(client.may_use("support", &labels("acme"), None));
        assert!(!client.may_use("support", &labels("other"), None));
        assert!(!client.may_run("support", &BTreeMap::new(), "refund"));
    }
}
