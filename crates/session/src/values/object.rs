//! Content-addressed objects: their hashes, and the bytes that are hashed.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

pub use recount_text::json::canonical_json;

/// The SHA-256 of an object's bytes, which identifies it. Displayed as 64 lower-case hex digits.
///
/// ```
/// use recount_session::object::ObjectHash;
///
/// let hash = ObjectHash::of(b"");
/// assert!(hash.to_string().starts_with("e3b0c442"));
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// ```
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectHash([u8; 32]);

impl ObjectHash {
    /// Hashes the bytes of an object.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Wraps a hash that was computed elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hex digits. Kept fast because decisions name hashes, so a replay formats many.
    fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        digits
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

const fn digit(value: u8) -> u8 {
    if value < 10 {
        b'0' + value
    } else {
        b'a' + value - 10
    }
}

fn text(digits: &[u8; 64]) -> &str {
    // Digits are ASCII.
    str::from_utf8(digits).unwrap_or_default()
}

impl fmt::Display for ObjectHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(text(&self.digits()))
    }
}

impl fmt::Debug for ObjectHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectHash({self})")
    }
}

impl FromStr for ObjectHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseHashError {
            found: text.chars().take(80).collect(),
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| refused())?;
        // All digits are converted before the check, so that the compiler can vectorize the
        // conversion. Every recorded verdict that is parsed names hashes.
        let values = digits.map(value);
        if values.iter().any(|value| *value > 15) {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(values.as_chunks().0) {
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

/// The value of a hex digit, or more than 15 for any other byte. Upper case is rejected because a
/// hash has one spelling.
const fn value(digit: u8) -> u8 {
    let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    if number <= 9 {
        number
    } else if letter <= 5 {
        letter + 10
    } else {
        u8::MAX
    }
}

impl Serialize for ObjectHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text(&self.digits()))
    }
}

impl<'de> Deserialize<'de> for ObjectHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Parses the digits without copying them.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = ObjectHash;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 lower-case hex digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ObjectHash, E> {
        text.parse().map_err(E::custom)
    }
}

/// The error for a text that is not an object hash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseHashError {
    /// The text that was found, at most 80 characters of it.
    pub found: String,
}

impl fmt::Display for ParseHashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected 64 lower-case hex digits, found {:?}",
            self.found
        )
    }
}

impl std::error::Error for ParseHashError {}

/// The stored bytes of an object that is a type of this crate.
pub(crate) fn object_bytes(object: &impl Serialize) -> Vec<u8> {
    match serde_json::to_value(object) {
        Ok(value) => canonical_json(&value),
        Err(error) => {
            unreachable!("stored objects have text keys only, so they always serialise: {error}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_one_spelling() {
        let text = "0123456789abcdef".repeat(4);
        assert_eq!(
            text.parse::<ObjectHash>().map(|hash| hash.to_string()),
            Ok(text.clone())
        );
        for wrong in [
            text.to_uppercase(),
            text.replace('0', "g"),
            format!("{text}0"),
            "é".repeat(32),
            String::new(),
        ] {
            assert!(wrong.parse::<ObjectHash>().is_err(), "{wrong}");
        }
        let no_digit = |it: &char| !matches!(it, '0'..='9' | 'a'..='f');
        for other in (0..128_u8).map(char::from).filter(no_digit) {
            let wrong = text.replace('0', &other.to_string());
            assert!(wrong.parse::<ObjectHash>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_bytes_of_a_hash_are_those_that_it_was_made_of() {
        let bytes: [u8; 32] = std::array::from_fn(|at| at as u8);
        assert_eq!(ObjectHash::from_bytes(bytes).as_bytes(), &bytes);
    }
}
