//! The settings for the JWTs of an issuer, and the checks of a token.

use std::fmt;
use std::time::Duration;

use recount::session::{Actor, Identity, Timestamp};

use super::algorithm::JwtAlgorithm;
use super::cache::{AGE_MAX, KeyCache};
use super::compact::Compact;
use super::keys::KeySet;
use super::source::{KeySource, KeySourceError};
use crate::access::mapping::{self, RoleMapping, UnfitIssuer};
use crate::access::principal::Principal;

/// The default difference of clocks that is allowed.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The default time within which keys are fetched once at most.
const REFETCH_AFTER: Duration = Duration::from_secs(30);

/// The JWTs of one issuer as bearer tokens.
///
/// A token must be signed by a key of the issuer with one of the algorithms, name the issuer and
/// the audience, and have `exp` and `sub`. The person on record is the subject with the issuer.
///
/// ```
/// use recount_server::{Access, Grant, Jwt, KeyUrl, Role, RoleMapping};
/// let keys = KeyUrl::parse("https://login.example/jwks")?;
/// let approver = Grant::everywhere(Role::Approver).with_label("tenant", "acme");
/// let jwt = Jwt::new("https://login.example", "recount", keys)?
///     .roles_claim("/realm_access/roles")
///     .roles(RoleMapping::new().with("acme-support", approver));
/// let access = Access::none().with_jwt(jwt);
/// # let _ = access;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Jwt {
    issuer: String,
    audience: String,
    algorithms: Vec<JwtAlgorithm>,
    clock_skew: Duration,
    roles_claim: String,
    groups_claim: String,
    roles: RoleMapping,
    keys: KeyCache,
}

/// The fault of a token. The log and the metrics have it, the response does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Fault {
    #[error("it is malformed")]
    Malformed,
    #[error("its type is that of another kind of token")]
    Type,
    #[error("its algorithm is not allowed")]
    Algorithm,
    #[error("it has another issuer")]
    Issuer,
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired, or has no expiry")]
    Expired,
    #[error("it is not valid yet")]
    NotYetValid,
    #[error("its subject cannot be recorded")]
    Subject,
    #[error("it has too many roles or groups, or too long ones")]
    Values,
    #[error("no key of the issuer has signed it")]
    Signature,
    #[error("the keys of the issuer are not there")]
    NoKeys,
}

impl Fault {
    /// The word for the fault in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Fault::Malformed => "malformed",
            Fault::Type => "type",
            Fault::Algorithm => "algorithm",
            Fault::Issuer => "issuer",
            Fault::Audience => "audience",
            Fault::Expired => "expired",
            Fault::NotYetValid => "not_yet_valid",
            Fault::Subject => "subject",
            Fault::Values => "values",
            Fault::Signature => "signature",
            Fault::NoKeys => "no_keys",
        }
    }
}

impl Jwt {
    /// The longest difference of clocks that is allowed: 10 minutes. RFC 7519 advises a few
    /// minutes, because an expired token is valid for so long.
    pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(10 * 60);

    /// The longest time within which keys are fetched once at most: 15 minutes. It is the age from
    /// which keys are fetched anew, so that a removed key ends.
    pub const REFETCH_AFTER_MAX: Duration = AGE_MAX;

    /// The JWTs of this issuer for this audience, as `iss` and `aud` must have them.
    ///
    /// # Errors
    /// If the issuer is one of the service's own.
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        keys: impl KeySource,
    ) -> Result<Jwt, UnfitIssuer> {
        let issuer = issuer.into();
        mapping::check_issuer(&issuer)?;
        Ok(Jwt {
            issuer,
            audience: audience.into(),
            algorithms: JwtAlgorithm::ALL.to_vec(),
            clock_skew: CLOCK_SKEW,
            roles_claim: "roles".to_owned(),
            groups_claim: "groups".to_owned(),
            roles: RoleMapping::new(),
            keys: KeyCache::new(keys, REFETCH_AFTER),
        })
    }

    /// Sets the only algorithms that are allowed. Defaults to all of [`JwtAlgorithm`].
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = JwtAlgorithm>) -> Jwt {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets the difference between the clocks of the issuer and of this machine that is allowed.
    /// Defaults to 60 s. A longer one than [`CLOCK_SKEW_MAX`](Jwt::CLOCK_SKEW_MAX) counts as that.
    #[must_use]
    pub fn clock_skew(mut self, skew: Duration) -> Jwt {
        self.clock_skew = skew.min(Jwt::CLOCK_SKEW_MAX);
        self
    }

    /// Sets the time within which the keys are fetched once at most, whatever tokens come. Defaults
    /// to 30 s. A longer one than [`REFETCH_AFTER_MAX`](Jwt::REFETCH_AFTER_MAX) counts as that.
    #[must_use]
    pub fn refetch_after(mut self, time: Duration) -> Jwt {
        self.keys = self.keys.refetch_after(time.min(Jwt::REFETCH_AFTER_MAX));
        self
    }

    /// Fetches the keys of the issuer before the first token. `now` is the time by the clock of the
    /// [`Access`](crate::Access).
    ///
    /// # Errors
    /// If the keys cannot be fetched.
    pub async fn fetch_keys(&self, now: Timestamp) -> Result<(), KeySourceError> {
        self.keys.fill(now).await
    }

    /// Sets the claim whose values [`roles`](Jwt::roles) maps, and which are the person's roles for
    /// `approvers` of a tool. A name that begins with `/` is a JSON pointer, such as
    /// `/realm_access/roles`. Defaults to `roles`.
    #[must_use]
    pub fn roles_claim(mut self, claim: impl Into<String>) -> Jwt {
        self.roles_claim = claim.into();
        self
    }

    /// Sets the claim with the groups of the person, as `approvers` of a tool name them. Defaults
    /// to `groups`.
    #[must_use]
    pub fn groups_claim(mut self, claim: impl Into<String>) -> Jwt {
        self.groups_claim = claim.into();
        self
    }

    /// Sets the grants of the values. Without them, a token opens no session.
    #[must_use]
    pub fn roles(mut self, roles: RoleMapping) -> Jwt {
        self.roles = roles;
        self
    }

    /// True if the bearer token says that it is a JWT of this issuer. That is not verified.
    pub(super) fn is_named_by(&self, token: &str) -> bool {
        let token = Compact::parse(token);
        token.is_ok_and(|it| it.text("iss") == Some(&self.issuer))
    }

    /// The fault of a token that no known issuer has made.
    pub(super) fn fault_of_foreign(token: &str) -> Fault {
        Compact::parse(token).err().unwrap_or(Fault::Issuer)
    }

    /// The principal of a token.
    pub(super) async fn recognise(&self, token: &str, now: Timestamp) -> Result<Principal, Fault> {
        let token = Compact::parse(token)?;
        let allowed = self.algorithms.iter();
        let mut named = allowed.filter(|it| it.as_str() == token.header.alg);
        let algorithm = *named.next().ok_or(Fault::Algorithm)?;
        // Before the keys, so that no other token makes the service fetch them.
        self.check_claims(&token, now)?;
        let id = token.header.kid.as_deref();
        let keys = self.keys.for_token(id, algorithm, now).await;
        let keys = keys.ok_or(Fault::NoKeys)?;
        let is_signed = |keys: &KeySet| {
            let mut fitting = keys.fitting(id, algorithm);
            fitting.any(|it| it.verifies(algorithm, token.message, &token.signature))
        };
        if !is_signed(&keys) {
            let newer = self.keys.newer(&keys, now).await;
            newer.filter(|it| is_signed(it)).ok_or(Fault::Signature)?;
        }
        self.principal(&token)
    }

    fn check_claims(&self, token: &Compact<'_>, now: Timestamp) -> Result<(), Fault> {
        if token.text("iss") != Some(&self.issuer) {
            return Err(Fault::Issuer);
        }
        if !token.texts("aud").contains(&self.audience.as_str()) {
            return Err(Fault::Audience);
        }
        // A float has the microseconds of the next 200 years.
        let (now, skew) = (now.0 as f64 / 1e6, self.clock_skew.as_secs_f64());
        let expires = token.seconds("exp")?.ok_or(Fault::Expired)?;
        if now >= expires + skew {
            return Err(Fault::Expired);
        }
        match token.seconds("nbf")? {
            Some(begins) if now + skew < begins => Err(Fault::NotYetValid),
            Some(_) | None => Ok(()),
        }
    }

    fn principal(&self, token: &Compact<'_>) -> Result<Principal, Fault> {
        let subject = token.text("sub").ok_or(Fault::Subject)?;
        // `ada` and `ada ` would look like one person and count as two.
        if !mapping::is_fit(subject) || subject.trim() != subject {
            return Err(Fault::Subject);
        }
        let values = |claim: &str| mapping::values(token.texts(claim)).ok_or(Fault::Values);
        let mut identity = Identity::of(self.issuer.clone());
        identity.roles = values(&self.roles_claim)?;
        identity.groups = values(&self.groups_claim)?;
        let grants = self.roles.grants(&identity.roles);
        let actor = Actor::token(subject).with_identity(identity);
        Ok(Principal::new(actor, grants))
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Jwt");
        shown.field("issuer", &self.issuer);
        shown.field("audience", &self.audience);
        shown.finish_non_exhaustive()
    }
}
