//! The secrets of sinks, which no log may show.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::HeaderValue;
use sha2::Sha256;

/// The beginning of a secret.
const PREFIX: &str = "whsec_";

/// The allowed lengths of a key, in bytes, by Standard Webhooks.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that signs the messages of a webhook, such as `whsec_…` with 24 to 64 bytes in
/// Base64.
///
/// Several secrets with white space between them give a signature each. So a receiver can have
/// either of them while one replaces the other.
///
/// ```
/// use recount_notify::SigningSecret;
/// let secret: SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// assert_eq!(format!("{secret:?}"), "SigningSecret(…)");
/// # Ok::<(), recount_notify::UnfitSecret>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret {
    /// The keys, at least one.
    keys: Vec<Vec<u8>>,
}

/// A token that a sink expects in the header `Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer(pub(super) HeaderValue);

/// The text is no secret. The message does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct UnfitSecret {
    expected: &'static str,
}

impl SigningSecret {
    /// The signatures of a text, one of each key, in Base64.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> impl Iterator<Item = String> {
        // A key of any length is valid for HMAC.
        let macs = self.keys.iter();
        let macs = macs.filter_map(|key| Hmac::<Sha256>::new_from_slice(key).ok());
        macs.map(|mut mac| {
            parts.iter().for_each(|it| mac.update(it));
            STANDARD.encode(mac.finalize().into_bytes())
        })
    }
}

/// Reads one key.
fn key(text: &str) -> Option<Vec<u8>> {
    let key = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
    Some(key).filter(|it| KEY_BYTES.contains(&it.len()))
}

impl FromStr for SigningSecret {
    type Err = UnfitSecret;

    fn from_str(text: &str) -> Result<SigningSecret, UnfitSecret> {
        let unfit = UnfitSecret {
            expected: "whsec_ and 24 to 64 bytes in Base64, or several with spaces between them",
        };
        let keys: Option<Vec<Vec<u8>>> = text.split_whitespace().map(key).collect();
        let keys = keys.filter(|it| !it.is_empty()).ok_or(unfit)?;
        Ok(SigningSecret { keys })
    }
}

impl FromStr for Bearer {
    type Err = UnfitSecret;

    fn from_str(text: &str) -> Result<Bearer, UnfitSecret> {
        let unfit = UnfitSecret {
            expected: "a token of visible ASCII characters",
        };
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(unfit);
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| unfit)?;
        value.set_sensitive(true);
        Ok(Bearer(value))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_read_and_never_shown() {
        let text = format!(" whsec_{}\n", STANDARD.encode([7; 32]));
        let secret: SigningSecret = text.parse().unwrap();
        assert_eq!(secret.keys, [[7; 32]]);
        assert!(!format!("{secret:?}").contains('7'));
        let short = format!("whsec_{}", STANDARD.encode([7; 23]));
        let one_is_wrong = format!("{text} s3cret");
        for text in ["", "s3cret", "whsec_s3cret!", &short, &one_is_wrong] {
            let error = text.parse::<SigningSecret>().unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let token: Bearer = "tk_s3cret".parse().unwrap();
        assert!(!format!("{token:?} {:?}", token.0).contains("s3cret"));
        assert!("a b".parse::<Bearer>().is_err() && "".parse::<Bearer>().is_err());
    }
}
