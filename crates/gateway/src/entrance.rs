//! The entrance of a gateway: the credentials of a client, and what they allow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use recount::session::{Actor, Authentication};
use sha2::{Digest, Sha256};

/// A check of the credentials of clients.
///
/// ```
/// use std::net::IpAddr;
/// use async_trait::async_trait;
/// use recount::session::Actor;
/// use recount_gateway::{Admitted, Entrance, Permission, Refused};
///
/// /// One client with one password.
/// struct OnlyAda;
///
/// #[async_trait]
/// impl Entrance for OnlyAda {
///     async fn admit(
///         &self,
///         credential: Option<&str>,
///         _: Option<IpAddr>,
///     ) -> Result<Admitted, Refused> {
///         match credential {
///             Some("open sesame") => Ok(Admitted::new(Actor::embedder("ada"), "open sesame")
///                 .with(Permission::any().of_agent("support"))),
///             Some(_) | None => Err(Refused::Unauthenticated),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Entrance: Send + Sync {
    /// Returns the client with this credential, as the header or the query of its request has it.
    /// `peer` is the address of the client, by which failures are counted.
    ///
    /// # Errors
    /// The refusal. It never contains the credential.
    async fn admit(
        &self,
        credential: Option<&str>,
        peer: Option<IpAddr>,
    ) -> Result<Admitted, Refused>;

    /// True while the credential is valid. A connection whose credential is revoked ends.
    ///
    /// It is asked every 30 s, and must not block: messages of the connection wait for it.
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

#[async_trait]
impl Entrance for AnyCredential {
    async fn admit(
        &self,
        credential: Option<&str>,
        _: Option<IpAddr>,
    ) -> Result<Admitted, Refused> {
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
    /// The credential cannot be checked now, for example because its issuer does not respond.
    #[error("the token cannot be checked now: {what}")]
    Unchecked {
        /// The reason.
        what: String,
    },
}

/// A client that is admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    actor: Actor,
    fingerprint: String,
    kept: Option<Kept>,
    permissions: Vec<Permission>,
}

/// A credential that is kept. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
struct Kept(Arc<str>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(..)")
    }
}

impl Admitted {
    /// A client with this credential. Without a permission, it may do nothing.
    #[must_use]
    pub fn new(actor: Actor, credential: &str) -> Admitted {
        Admitted::of(actor, &Sha256::digest(credential.as_bytes()))
    }

    /// A client whose credential is renewed from time to time, such as a JWT. Its resumption
    /// handles count under every credential of the same name and issuer.
    ///
    /// ```
    /// use recount::session::{Actor, Identity};
    /// use recount_gateway::Admitted;
    /// let of = |name: &str| {
    ///     let actor = Actor::token(name).with_identity(Identity::of("https://login.example"));
    ///     Admitted::renewable(actor).fingerprint().to_owned()
    /// };
    /// assert_eq!(of("shop"), of("shop"));
    /// assert_ne!(of("shop"), of("desk"));
    /// ```
    #[must_use]
    pub fn renewable(actor: Actor) -> Admitted {
        let scope = name_of(&actor);
        // Hashed twice, so that it is the hash of no text that a client could send.
        let digest = Sha256::digest(Sha256::digest(scope.as_bytes()));
        Admitted::of(actor, &digest)
    }

    fn of(actor: Actor, digest: &[u8]) -> Admitted {
        Admitted {
            actor,
            fingerprint: digest.iter().map(|it| format!("{it:02x}")).collect(),
            kept: None,
            permissions: Vec::new(),
        }
    }

    /// Keeps the credential in memory, for [`Entrance::is_valid`] while the connection lasts.
    ///
    /// ```
    /// use recount::session::Actor;
    /// use recount_gateway::Admitted;
    /// let shop = Admitted::new(Actor::token("shop"), "rct_1").keeping("rct_1");
    /// assert_eq!(shop.credential(), Some("rct_1"));
    /// assert!(!format!("{shop:?}").contains("rct_1"));
    /// ```
    #[must_use]
    pub fn keeping(mut self, credential: &str) -> Admitted {
        self.kept = Some(Kept(credential.into()));
        self
    }

    /// The credential, if it is kept.
    #[must_use]
    pub fn credential(&self) -> Option<&str> {
        self.kept.as_ref().map(|it| &*it.0)
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
                name_of(&self.actor)
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

/// The scope of a verified name.
fn name_of(actor: &Actor) -> String {
    let issuer = actor.issuer().unwrap_or_default();
    format!("name:{issuer}:{}", actor.name)
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

    #[tokio::test]
    async fn unverified_client_has_scope_of_its_credential() {
        let of = async |credential| {
            let admitted = AnyCredential.admit(Some(credential), None).await;
            admitted.map(|it| it.scope())
        };
        assert_eq!(of("key-1").await, of("key-1").await);
        assert_ne!(of("key-1").await, of("key-2").await);
        assert!(of("key-1").await.is_ok_and(|it| !it.contains("key-1")));
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
