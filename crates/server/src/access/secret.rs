//! Secrets: 256 random bits as text, and their hashes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The number of random bytes of a secret.
const RANDOM_BYTES: usize = 32;

/// A secret that is shown once. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Generates a secret: the prefix and 256 random bits in base64url.
    pub(super) fn generate(prefix: &str) -> Result<Secret, NoRandomness> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| NoRandomness::of(&error))?;
        Ok(Secret(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The text of the secret, to be shown once or sent over a connection.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares with a given text in constant time.
    pub(crate) fn fits(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The operating system gave no random bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandomness(String);

impl NoRandomness {
    pub(super) fn of(error: &getrandom::Error) -> NoRandomness {
        NoRandomness(error.to_string())
    }
}

/// The SHA-256 of a secret. Secrets have 256 random bits, so the hash needs no salt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SecretHash([u8; 32]);

impl SecretHash {
    pub(super) fn of(secret: &str) -> SecretHash {
        SecretHash(Sha256::digest(secret.as_bytes()).into())
    }

    /// Compares in constant time.
    pub(super) fn matches(&self, other: &SecretHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

impl Serialize for SecretHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&hex)
    }
}

impl<'de> Deserialize<'de> for SecretHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SecretHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        hash_of_hex(&text)
            .ok_or_else(|| serde::de::Error::custom("expected a SHA-256 as 64 hexadecimal digits"))
    }
}

fn hash_of_hex(text: &str) -> Option<SecretHash> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|it| u8::try_from(it).ok()))
        .collect();
    let bytes: Vec<u8> = digits?
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect();
    let has_all_digits = text.len() == 64;
    let bytes = bytes.try_into().ok().filter(|_| has_all_digits)?;
    Some(SecretHash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_has_256_random_bits_and_no_debug() {
        let (one, other) = (
            Secret::generate("rct_").unwrap(),
            Secret::generate("rct_").unwrap(),
        );
        assert_ne!(one, other);
        let random = one.expose().strip_prefix("rct_").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(random).unwrap().len(), RANDOM_BYTES);
        let parts = |it: &Secret| {
            let random = it.expose().strip_prefix("rct_").unwrap();
            let bytes = URL_SAFE_NO_PAD.decode(random).unwrap();
            bytes.chunks(8).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        for (one, other) in parts(&one).iter().zip(parts(&other)) {
            assert_ne!(*one, other, "a part is not random");
        }
        assert_eq!(format!("{one:?}"), "Secret(..)");
    }

    #[test]
    fn hash_survives_its_text() {
        let hash = SecretHash::of("rct_x");
        let text = serde_json::to_string(&hash).unwrap();
        let read: SecretHash = serde_json::from_str(&text).unwrap();
        assert!(read.matches(&hash));
        assert!(!read.matches(&SecretHash::of("rct_y")));
        assert_eq!(format!("{hash:?}"), "SecretHash(..)");
        let (mut other, last) = (hash, RANDOM_BYTES - 1);
        other.0[last] ^= 1;
        assert!(!other.matches(&hash), "the last byte counts");
        for text in [
            r#""00""#.to_owned(),
            text.replacen('"', "\"0", 1),
            text.replacen('"', "\"x", 1),
        ] {
            assert!(serde_json::from_str::<SecretHash>(&text).is_err(), "{text}");
        }
    }
}
