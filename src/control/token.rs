//! The two secrets by which an operator and a service authenticate each other. Each start of the
//! service creates new ones, in a file that only its user can read.

use std::fmt;
use std::hint::black_box;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The scheme of the token in the `Authorization` header.
const SCHEME: &str = "Bearer ";

/// The number of hex digits of a secret.
const DIGITS: usize = 64;

/// A random secret in hex digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
struct Secret(String);

impl Secret {
    /// Creates a secret from two random UUIDs, which have 244 random bits.
    fn random() -> Secret {
        let halves = [Uuid::new_v4(), Uuid::new_v4()];
        Secret(halves.iter().map(|it| it.simple().to_string()).collect())
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Secret, &'static str> {
        let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit());
        if text.len() == DIGITS && is_hex {
            Ok(Secret(text))
        } else {
            // The rejected text may still be a secret, so the error omits it.
            Err("expected secrets of 64 hex digits, found another text")
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// The secret that an operator shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Token(Secret);

impl Token {
    pub(super) fn random() -> Token {
        Token(Secret::random())
    }

    /// The value for a header.
    pub(super) fn shown(&self) -> String {
        format!("{SCHEME}{}", self.0.0)
    }

    /// True if a header contains this token.
    pub(super) fn is_shown_by(&self, header: &[u8]) -> bool {
        let shown = header.strip_prefix(SCHEME.as_bytes());
        shown.is_some_and(|shown| is_same(self.0.0.as_bytes(), shown))
    }
}

/// A secret that the service never sends. The service proves that it knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Proof(Secret);

impl Proof {
    pub(super) fn random() -> Proof {
        Proof(Secret::random())
    }

    /// Returns the proof for a connection with this `Sec-WebSocket-Key`, which each connection
    /// chooses anew.
    ///
    /// A proof for one key yields none for another. Extending a hash requires its padding in the
    /// key, which a key of 24 Base64 characters cannot contain.
    pub(super) fn shown_for(&self, key: &[u8]) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0.0.as_bytes());
        hash.update(b" ");
        hash.update(key);
        let hex = |byte: u8| format!("{byte:02x}");
        hash.finalize().iter().copied().map(hex).collect()
    }

    /// True if `shown` is the proof for this key.
    pub(super) fn is_shown_by(&self, shown: &[u8], key: &[u8]) -> bool {
        is_same(self.shown_for(key).as_bytes(), shown)
    }
}

/// Compares in constant time, so the duration does not reveal the length of a matching prefix.
fn is_same(expected: &[u8], shown: &[u8]) -> bool {
    let pairs = expected.iter().zip(shown);
    let differing = pairs.fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
    shown.len() == expected.len() && differing == 0
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::random();
        let shown = token.shown();
        assert_eq!(shown.len(), "Bearer ".len() + 64);
        assert!(token.is_shown_by(shown.as_bytes()));
        let mut altered = shown.clone().into_bytes();
        *altered.last_mut().unwrap() ^= 1;
        assert!(!token.is_shown_by(&altered));
        let longer = format!("{shown}0");
        for other in [
            &shown[..shown.len() - 1],
            &longer,
            &shown[7..],
            "Bearer ",
            "",
            &Token::random().shown(),
        ] {
            assert!(!token.is_shown_by(other.as_bytes()), "{other:?}");
        }
        assert_eq!(format!("{token:?}"), "Token(hidden)");
    }

    #[test]
    fn proof_fits_one_connection_and_hides_secret() {
        let proof = Proof::random();
        let shown = proof.shown_for(b"one");
        assert!(proof.is_shown_by(shown.as_bytes(), b"one"));
        assert!(!proof.is_shown_by(shown.as_bytes(), b"other"));
        assert!(!Proof::random().is_shown_by(shown.as_bytes(), b"one"));
        assert!(!shown.contains(&proof.0.0));
    }

    #[test]
    fn malformed_secret_is_not_in_the_error() {
        let cut = format!("\"{}\"", &Token::random().0.0[1..]);
        let refused = serde_json::from_str::<Token>(&cut).unwrap_err();
        assert!(refused.to_string().starts_with("expected secrets"));
    }
}
