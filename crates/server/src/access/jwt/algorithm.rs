//! The algorithms of signatures.

use std::fmt;
use std::str::FromStr;

/// An algorithm with which an issuer signs JWTs. All are asymmetric: `none` and `HS256` have no
/// variant, so no setting can admit them.
///
/// ```
/// use recount_server::JwtAlgorithm;
/// assert_eq!("ES256".parse(), Ok(JwtAlgorithm::Es256));
/// assert!("HS256".parse::<JwtAlgorithm>().is_err());
/// assert!("none".parse::<JwtAlgorithm>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JwtAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// EdDSA on Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    /// All algorithms.
    pub const ALL: [JwtAlgorithm; 9] = [
        JwtAlgorithm::Rs256,
        JwtAlgorithm::Rs384,
        JwtAlgorithm::Rs512,
        JwtAlgorithm::Ps256,
        JwtAlgorithm::Ps384,
        JwtAlgorithm::Ps512,
        JwtAlgorithm::Es256,
        JwtAlgorithm::Es384,
        JwtAlgorithm::EdDsa,
    ];

    /// The name in the header of a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            JwtAlgorithm::Rs256 => "RS256",
            JwtAlgorithm::Rs384 => "RS384",
            JwtAlgorithm::Rs512 => "RS512",
            JwtAlgorithm::Ps256 => "PS256",
            JwtAlgorithm::Ps384 => "PS384",
            JwtAlgorithm::Ps512 => "PS512",
            JwtAlgorithm::Es256 => "ES256",
            JwtAlgorithm::Es384 => "ES384",
            JwtAlgorithm::EdDsa => "EdDSA",
        }
    }
}

impl fmt::Display for JwtAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no algorithm with which JWTs may be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA, found {found:?}"
)]
pub struct NotAnAlgorithm {
    found: String,
}

impl FromStr for JwtAlgorithm {
    type Err = NotAnAlgorithm;

    fn from_str(text: &str) -> Result<JwtAlgorithm, NotAnAlgorithm> {
        let mut all = JwtAlgorithm::ALL.into_iter();
        let named = all.find(|it| it.as_str() == text);
        named.ok_or_else(|| NotAnAlgorithm {
            found: text.to_owned(),
        })
    }
}
