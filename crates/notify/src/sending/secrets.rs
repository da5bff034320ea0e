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
/// ```
/// use recount_notify::SigningSecret;
/// let secret: SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// assert_eq!(format!("{secret:?}"), "SigningSecret(…)");
/// # Ok::<(), recount_notify::UnfitSecret>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

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
    /// The signature of a text, in Base64.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> String {
        // A key of any length is valid for HMAC.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        parts.iter().for_each(|it| mac.update(it));
        STANDARD.encode(mac.finalize().into_bytes())
    }
}

impl FromStr for SigningSecret {
    type Err = UnfitSecret;

    fn from_str(text: &str) -> Result<SigningSecret, UnfitSecret> {
        let unfit = UnfitSecret {
            expected: "whsec_ and 24 to 64 bytes in Base64",
        };
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(unfit)?;
        let key = STANDARD.decode(encoded).map_err(|_| unfit)?;
        match KEY_BYTES.contains(&key.len()) {
            true => Ok(SigningSecret(key)),
            false => Err(unfit),
        }
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
        assert_eq!(secret.0, [7; 32]);
        assert!(!format!("{secret:?}").contains('7'));
        let short = format!("whsec_{}", STANDARD.encode([7; 23]));
        for text in ["", "s3cret", "whsec_s3cret!", short.as_str()] {
            let error = text.parse::<SigningSecret>().unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let token: Bearer = "tk_s3cret".parse().unwrap();
        assert!(!format!("{token:?} {:?}", token.0).contains("s3cret"));
        assert!("a b".parse::<Bearer>().is_err() && "".parse::<Bearer>().is_err());
    }
}
