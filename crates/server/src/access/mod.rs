//! Access: who sends a request, and what it may do.
//!
//! Read `role` and `principal`, then `entrance`, which has every way to prove a sender: `tokens`
//! (and their `token_file`), `logins` of browsers, and the seam `authenticator`. `site` refuses
//! requests of other sites. `admission` is the middleware that applies all of it, and `proof` is the
//! check that a long response repeats.

mod admission;
mod authenticator;
mod entrance;
mod logins;
mod principal;
mod proof;
mod role;
mod secret;
mod site;
mod token_file;
mod tokens;

pub(crate) use admission::{authenticate, check_site};
pub use authenticator::{Authenticator, bearer};
pub use entrance::Access;
pub(crate) use entrance::Admitted;
pub use principal::Principal;
pub(crate) use proof::{Credentials, Proof};
pub use role::{AgentScope, Grant, NotARole, Role};
pub use secret::{NoRandomness, Secret};
pub use site::NotAUrl;
pub use tokens::{NewToken, TokenError, TokenInfo, TokenStore};
