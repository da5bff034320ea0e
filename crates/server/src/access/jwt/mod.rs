//! JWTs as bearer tokens (RFC 7519), signed with keys of an issuer (RFC 7517).
//!
//! Only asymmetric algorithms exist here, so that no public key can be taken for a secret and no
//! token can be unsigned. The signatures are verified by `ring`, which the connections of TLS use,
//! too. Crates for JWTs read the system's clock, or need a provider for the whole process.
//!
//! Read `verifier` first: the settings of an issuer, and the checks in their order. `compact`
//! splits a token, `algorithm` and `keys` verify it, `cache` has the keys and fetches them anew,
//! `source` and `url` are where they come from. `issuers` has all issuers of a service, and
//! `refusals` counts the refused tokens.

mod algorithm;
mod cache;
mod compact;
mod issuers;
mod keys;
mod refusals;
mod source;
mod url;
mod verifier;

pub use algorithm::{JwtAlgorithm, NotAnAlgorithm};
pub(super) use issuers::Jwts;
pub use source::{KeyFile, KeySource, KeySourceError};
pub use url::{KeyUrl, UnfitKeyUrl};
pub use verifier::Jwt;
