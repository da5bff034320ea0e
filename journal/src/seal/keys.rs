//! The key of a session, and the trait of key stores.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::Error;
use super::cipher::{Cipher, derive, keyed};
use crate::BoxFuture;

/// The prefix of every sealed text.
pub(super) const TEXT_VERSION: &str = "v1.";

const TEXT_PLACE: &[u8] = b"recount/v1/text\0";

/// A store for the key of each session, and for small texts sealed under it.
///
/// It is outside the journal, so that a copy of the journal alone opens nothing. A store gets only
/// sealed texts. [`FileKeyStore`](super::FileKeyStore) is an implementation. A service with a vault
/// can implement this trait for it.
pub trait KeyStore: Send + Sync + 'static {
    /// Returns the key of a session, if it has one.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or the stored key was altered.
    fn key(&self, session: Uuid) -> BoxFuture<'_, Result<Option<SessionKey>, Error>>;

    /// Returns true if the session has a key, whether or not the key can be used.
    ///
    /// By default the key is read. A store may find this out with less work.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn has_key(&self, session: Uuid) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move {
            match self.key(session).await {
                Ok(key) => Ok(key.is_some()),
                Err(Error::DoesNotOpen { .. } | Error::Malformed { .. }) => Ok(true),
                Err(error) => Err(error),
            }
        })
    }

    /// Returns the key of a session, and creates it if needed. It is durable before it is returned.
    ///
    /// # Errors
    /// Fails if the store cannot be written or the system has no random bytes.
    fn create_key(&self, session: Uuid) -> BoxFuture<'_, Result<SessionKey, Error>>;

    /// Stores a sealed text under a name of the session, and replaces the previous one.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn keep<'a>(
        &'a self,
        session: Uuid,
        name: &'static str,
        sealed: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Returns the text under a name of the session.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn kept(
        &self,
        session: Uuid,
        name: &'static str,
    ) -> BoxFuture<'_, Result<Option<String>, Error>>;

    /// Removes the text under a name of the session.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn discard(&self, session: Uuid, name: &'static str) -> BoxFuture<'_, Result<(), Error>>;

    /// Removes the key of a session for good, with all texts of the session. The removal is durable
    /// before this returns. A session without a key is no error.
    ///
    /// Fails if the store cannot be written.
    fn erase(&self, session: Uuid) -> BoxFuture<'_, Result<(), Error>>;
}

/// The key that seals a session's bodies, objects and texts.
///
/// ```
/// use recount_journal::seal::SessionKey;
/// use uuid::Uuid;
///
/// let key = SessionKey::generate(Uuid::from_u128(7))?;
/// let sealed = key.seal_text("args/pay/card", "4111")?;
/// assert!(sealed.starts_with("v1.") && !sealed.contains("4111"));
/// assert_eq!(*key.open_text("args/pay/card", &sealed)?, "4111");
/// // It opens at its own place only.
/// assert!(key.open_text("args/pay/iban", &sealed).is_err());
/// # Ok::<(), recount_journal::seal::Error>(())
/// ```
#[derive(Clone)]
pub struct SessionKey {
    session: Uuid,
    pub(super) cipher: Cipher,
}

impl SessionKey {
    /// Creates a key from the system's random bytes.
    ///
    /// # Errors
    /// [`Error::NoEntropy`].
    pub fn generate(session: Uuid) -> Result<Self, Error> {
        let mut secret = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *secret).map_err(|error| Error::NoEntropy {
            cause: error.to_string(),
        })?;
        Ok(Self::from_bytes(session, secret))
    }

    /// Creates a key from its bytes.
    pub fn from_bytes(session: Uuid, secret: Zeroizing<[u8; 32]>) -> Self {
        Self {
            session,
            cipher: Cipher::new(secret),
        }
    }

    /// The session of the key.
    pub fn session(&self) -> Uuid {
        self.session
    }

    /// Seals a text for a place of the session, as `v1.` and URL-safe Base64. One text at one place
    /// has one sealed form.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a text over 256 GiB, the limit of the cipher.
    pub fn seal_text(&self, place: &str, text: &str) -> Result<String, Error> {
        let sealed = self
            .cipher
            .seal(&self.text_place(place), text.as_bytes())
            .ok_or(self.malformed(TEXT))?;
        Ok(format!("{TEXT_VERSION}{}", BASE64.encode(sealed)))
    }

    /// Opens a text that [`seal_text`](Self::seal_text) sealed for this place.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::DoesNotOpen`].
    pub fn open_text(&self, place: &str, sealed: &str) -> Result<Zeroizing<String>, Error> {
        let bytes = sealed_bytes(sealed).ok_or(self.malformed(TEXT))?;
        let content = self.cipher.open(&self.text_place(place), &bytes);
        let content = content.ok_or(self.does_not_open(TEXT))?;
        let text = str::from_utf8(&content).map_err(|_| self.malformed(TEXT))?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Derives a pseudonym from a name. It distinguishes the parties of a session, and reveals
    /// nothing without the key.
    pub fn reference(&self, name: &str) -> Uuid {
        let key = derive(self.cipher.secret(), b"recount seal v1 reference");
        let whole = keyed(&key, &[name.as_bytes()]);
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(whole.iter()) {
            *to = *from;
        }
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    fn text_place(&self, place: &str) -> Vec<u8> {
        [TEXT_PLACE, self.session.as_bytes(), place.as_bytes()].concat()
    }

    pub(super) fn malformed(&self, what: &'static str) -> Error {
        let session = self.session;
        Error::Malformed { session, what }
    }

    pub(super) fn does_not_open(&self, what: &'static str) -> Error {
        let session = self.session;
        Error::DoesNotOpen { session, what }
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionKey")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Decodes `v1.` and Base64.
pub(super) fn sealed_bytes(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.strip_prefix(TEXT_VERSION)?).ok()
}

pub(super) fn sealed_text(bytes: &[u8]) -> String {
    format!("{TEXT_VERSION}{}", BASE64.encode(bytes))
}

const TEXT: &str = "a text";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn key(session: u128, byte: u8) -> SessionKey {
        SessionKey::from_bytes(Uuid::from_u128(session), Zeroizing::new([byte; 32]))
    }

    #[test]
    fn sealed_form_depends_on_key_place_and_text() {
        let sealed = key(1, 1).seal_text("a", "secret").unwrap();
        assert_eq!(key(1, 1).seal_text("a", "secret").unwrap(), sealed);
        let others = [
            key(1, 1).seal_text("a", "secreT"),
            key(1, 1).seal_text("b", "secret"),
            key(2, 1).seal_text("a", "secret"),
            key(1, 2).seal_text("a", "secret"),
        ];
        for other in others {
            // Even the nonces differ.
            assert_ne!(other.unwrap().get(..34), sealed.get(..34));
        }
    }

    #[test]
    fn nothing_opens_elsewhere_or_altered() {
        let sealed = key(1, 1).seal_text("a", "secret").unwrap();
        assert_eq!(*key(1, 1).open_text("a", &sealed).unwrap(), "secret");
        for (key, place) in [(key(1, 1), "b"), (key(2, 1), "a"), (key(1, 2), "a")] {
            let refused = key.open_text(place, &sealed);
            assert!(matches!(refused, Err(Error::DoesNotOpen { .. })));
        }
        let bytes = sealed_bytes(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            *altered.get_mut(at).unwrap() ^= 1;
            let refused = key(1, 1).open_text("a", &sealed_text(&altered));
            assert!(matches!(refused, Err(Error::DoesNotOpen { .. })), "{at}");
        }
        for malformed in ["", "v1", "v1.%", "v2.AAAA", &sealed[1..]] {
            let refused = key(1, 1).open_text("a", malformed);
            assert!(
                matches!(refused, Err(Error::Malformed { .. })),
                "{malformed}"
            );
        }
    }

    #[test]
    fn a_key_shows_nothing_of_itself() {
        let secret = Zeroizing::new([0xAB; 32]);
        let shown = format!("{:?}", SessionKey::from_bytes(Uuid::from_u128(7), secret));
        assert!(
            !shown.contains("171") && !shown.to_lowercase().contains("abab"),
            "{shown}"
        );
    }

    #[test]
    fn a_reference_needs_the_key() {
        let ada = key(1, 1).reference("ada");
        assert_eq!(ada, key(1, 1).reference("ada"));
        assert_ne!(ada, key(1, 1).reference("bob"));
        assert_ne!(ada, key(1, 2).reference("ada"));
    }
}
