//! Identities from a trusted reverse proxy: headers that count on its own connections alone.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderName;
use axum::http::request::Parts;
use recount::session::{Actor, Identity};

use super::mapping::{self, RoleMapping, UnfitIssuer};
use super::peer::Peer;
use super::principal::Principal;

/// The headers in which a reverse proxy names the user that it has authenticated.
///
/// They are read on connections with the mark [`Peer::TrustedProxy`] alone. Elsewhere they are
/// ignored, and a first one is logged.
///
/// ```
/// use recount_server::{Grant, ProxyHeaders, Role, RoleMapping};
/// let headers = ProxyHeaders::new("x-forwarded-user", "sso")?
///     .groups_header("x-forwarded-groups")?
///     .roles(RoleMapping::new().with("finance", Grant::everywhere(Role::Approver)));
/// # let _ = headers;
/// # Ok::<(), recount_server::UnfitProxy>(())
/// ```
#[derive(Debug)]
pub struct ProxyHeaders {
    user: HeaderName,
    groups: Option<HeaderName>,
    issuer: String,
    roles: RoleMapping,
    /// True once a header from elsewhere was logged.
    warned: AtomicBool,
}

/// The description of a proxy is unfit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitProxy {
    /// The text is no name of a header.
    #[error("expected the name of a header, found {found:?}")]
    Header {
        /// The given text.
        found: String,
    },
    /// The issuer is unfit.
    #[error(transparent)]
    Issuer(#[from] UnfitIssuer),
}

impl ProxyHeaders {
    /// The header with the name of the user, and the issuer of these names. Records and
    /// `approvers` of a tool name a person as `issuer:name`.
    ///
    /// # Errors
    /// If the text is no name of a header, or if the issuer is one of the service's own.
    pub fn new(user: &str, issuer: impl Into<String>) -> Result<ProxyHeaders, UnfitProxy> {
        let issuer = issuer.into();
        mapping::check_issuer(&issuer)?;
        Ok(ProxyHeaders {
            user: header(user)?,
            groups: None,
            issuer,
            roles: RoleMapping::new(),
            warned: AtomicBool::new(false),
        })
    }

    /// Sets the header with the groups of the user, separated by commas.
    ///
    /// # Errors
    /// If the text is no name of a header.
    pub fn groups_header(mut self, groups: &str) -> Result<ProxyHeaders, UnfitProxy> {
        self.groups = Some(header(groups)?);
        Ok(self)
    }

    /// Sets the grants of the groups. Without them, a user sees no session.
    #[must_use]
    pub fn roles(mut self, roles: RoleMapping) -> ProxyHeaders {
        self.roles = roles;
        self
    }

    /// The principal that the headers name. `Ok(None)` without a header of the proxy, and on a
    /// connection of another client. `Err`: the headers are unfit.
    pub(super) fn recognise(&self, request: &Parts) -> Result<Option<Principal>, ()> {
        let mut users = request.headers.get_all(&self.user).iter();
        let (first, second) = (users.next(), users.next());
        let Some(user) = first else {
            return Ok(None);
        };
        if request.extensions.get::<Peer>() != Some(&Peer::TrustedProxy) {
            self.warn();
            return Ok(None);
        }
        // A proxy that adds its header to that of a client would let the client choose.
        if second.is_some() {
            return Err(());
        }
        let user = user.to_str().map_err(drop)?.trim();
        if !mapping::is_fit(user) {
            return Err(());
        }
        // Proxies pass on the name as it was typed, and directories take it in any case. So `Ada`
        // and `ada` would be two persons of a quorum.
        let user = user.to_ascii_lowercase();
        let groups = self.groups_of(request)?;
        let grants = self.roles.grants(&groups);
        let mut identity = Identity::of(self.issuer.clone());
        identity.groups = groups;
        let actor = Actor::token(user).with_identity(identity);
        Ok(Some(Principal::new(actor, grants)))
    }

    fn groups_of(&self, request: &Parts) -> Result<std::collections::BTreeSet<String>, ()> {
        let mut texts = Vec::new();
        if let Some(groups) = &self.groups {
            let mut given = request.headers.get_all(groups).iter();
            let (first, second) = (given.next(), given.next());
            // As for the user: groups that a client sends beside those of the proxy would count.
            if second.is_some() {
                return Err(());
            }
            if let Some(header) = first {
                texts.extend(header.to_str().map_err(drop)?.split(','));
            }
        }
        mapping::values(texts).ok_or(())
    }

    fn warn(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            let header = self.user.as_str();
            tracing::warn!(
                header,
                "a header of the proxy came from elsewhere and is ignored"
            );
        }
    }
}

fn header(text: &str) -> Result<HeaderName, UnfitProxy> {
    text.parse().map_err(|_| UnfitProxy::Header {
        found: text.to_owned(),
    })
}
