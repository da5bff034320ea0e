//! JWTs as bearer tokens (RFC 7519), signed with keys of an issuer (RFC 7517).
//!
//! Only asymmetric algorithms exist here, so that no public key can be taken for a secret and no
//! token can be unsigned. The signatures are verified by `ring`, which the connections of TLS use,
//! too. Crates for JWTs read the system's clock, or need a provider for the whole process.
//!
//! Read `verifier` first: the settings, and the checks in their order. `compact` splits a token,
//! `algorithm` and `keys` verify it, `cache` has the keys and fetches them anew, `source` and `url`
//! are where they come from.

mod algorithm;
mod cache;
mod compact;
mod keys;
mod source;
mod url;
mod verifier;

pub use algorithm::{JwtAlgorithm, NotAnAlgorithm};
pub use source::{KeyFile, KeySource, KeySourceError};
pub use url::{KeyUrl, UnfitKeyUrl};
pub(super) use verifier::Fault;
pub use verifier::Jwt;
