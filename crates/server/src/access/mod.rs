//! Access: who sends a request, and what it may do.
//!
//! Read `role` and `principal`, then `entrance`, which has every way to prove a sender: `tokens`
//! (and their `token_file`), `jwt`, the `proxy` in front of the service, `logins` of browsers, and
//! the seam `authenticator`. `mapping` has the grants for what other parties vouch for. `peer` is
//! the other end of a connection, `rates` the limits over time. `site` refuses requests of other
//! sites. `admission` is the middleware that applies all of it, and `proof` is the check that a
//! long response repeats.

mod admission;
mod authenticator;
mod entrance;
#[cfg(feature = "jwt")]
mod jwt;
mod logins;
mod mapping;
mod peer;
mod principal;
mod proof;
mod proxy;
mod rates;
mod role;
mod secret;
mod site;
mod token_file;
mod tokens;

pub(crate) use admission::{authenticate, check_site};
pub use authenticator::{Authenticator, bearer};
pub use entrance::Access;
pub(crate) use entrance::Admitted;
#[cfg(feature = "jwt")]
pub use jwt::{
    Jwt, JwtAlgorithm, KeyFile, KeySource, KeySourceError, KeyUrl, NotAnAlgorithm, UnfitKeyUrl,
};
pub use mapping::{RoleMapping, UnfitIssuer};
pub use peer::Peer;
pub use principal::Principal;
pub(crate) use principal::Who;
pub(crate) use proof::{Credentials, Proof};
pub use proxy::{ProxyHeaders, UnfitProxy};
pub use rates::Rates;
pub use role::{AgentScope, Grant, NotARole, Role};
pub use secret::{NoRandomness, Secret};
pub use site::NotAUrl;
pub use tokens::{NewToken, TokenError, TokenInfo, TokenStore};
