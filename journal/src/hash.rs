//! The hash of the journal, SHA-256, and its text form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 value, shown and serialised as 64 lower-case hex digits.
///
/// ```
/// use recount_journal::Hash;
/// let address = Hash::of_object(b"{}");
/// assert_eq!(address.to_string().parse(), Ok(address));
/// ```
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The predecessor hash of the first record of a stream.
    pub const ZERO: Self = Self([0; 32]);

    /// Wraps 32 raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The leaf hash of a record: `SHA-256(0x00 ‖ line)`, as in RFC 6962.
    pub fn of_line(line: &[u8]) -> Self {
        Self(
            Sha256::new()
                .chain_update([0])
                .chain_update(line)
                .finalize()
                .into(),
        )
    }

    /// The address of an object: `SHA-256(bytes)`.
    pub fn of_object(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of an inner node of a tree: `SHA-256(0x01 ‖ left ‖ right)`, as in RFC 6962.
    pub(crate) fn of_node(left: Self, right: Self) -> Self {
        Self(
            Sha256::new()
                .chain_update([1])
                .chain_update(left.0)
                .chain_update(right.0)
                .finalize()
                .into(),
        )
    }

    /// Writes the text form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text());
    }

    fn text(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            if let [high, low] = pair {
                *high = digit(byte >> 4);
                *low = digit(byte & 15);
            }
        }
        text
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn digit(value: u8) -> u8 {
    if value < 10 {
        b'0' + value
    } else {
        b'a' + value - 10
    }
}

/// The error for a text that is not 64 lower-case hex digits.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a hash is 64 lower-case hex digits, not {found:?}")]
pub struct NotAHash {
    /// The rejected text, cut to 80 characters.
    pub found: String,
}

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let refused = || NotAHash {
            found: text.chars().take(80).collect(),
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| refused())?;
        // One pass over all digits, which the compiler vectorises: every record that is read has a
        // hash.
        let mut values = [0; 64];
        for (value, digit) in values.iter_mut().zip(digits) {
            *value = value_of(*digit);
        }
        if values.iter().fold(0, |all, value| all | value) & NO_DIGIT != 0 {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(values.as_chunks().0) {
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

const NO_DIGIT: u8 = 0xf0;

fn value_of(digit: u8) -> u8 {
    let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    let letter = if letter < 6 { letter + 10 } else { NO_DIGIT };
    if number < 10 { number } else { letter }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_text_is_read() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Hash::of_object(b"").to_string(), text);
        assert_eq!(text.parse::<Hash>().unwrap(), Hash::of_object(b""));
        assert!(text.to_uppercase().parse::<Hash>().is_err());
        assert!("e3".parse::<Hash>().is_err());
    }
}
