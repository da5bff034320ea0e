//! The master key: 32 bytes that wrap the keys of all sessions.

use std::fmt;
use std::path::Path;

use uuid::Uuid;
use zeroize::Zeroizing;

use super::cipher::Cipher;
use super::keys::{SessionKey, sealed_bytes, sealed_text};
use super::{Error, keys};
use crate::files::private::read_given;

/// The maximum length of a file with a master key, in bytes: 64 digits and white space around them.
const FILE_BYTES_MAX: u64 = 4 << 10;

const KEY_PLACE: &[u8] = b"recount/v1/key\0";
const CHECK_PLACE: &[u8] = b"recount/v1/check\0";

/// A key that wraps the keys of sessions. A copy of the key store without it opens nothing.
///
/// ```
/// use recount_journal::seal::{MasterKey, SessionKey};
/// use uuid::Uuid;
///
/// let master = MasterKey::from_text(&"0f".repeat(32))?;
/// let key = SessionKey::generate(Uuid::from_u128(7))?;
/// let wrapped = master.wrap(&key)?;
/// let sealed = key.seal_text("a", "b")?;
/// assert_eq!(*master.unwrap(Uuid::from_u128(7), &wrapped)?.open_text("a", &sealed)?, "b");
/// # Ok::<(), recount_journal::seal::Error>(())
/// ```
#[derive(Clone)]
pub struct MasterKey(Cipher);

impl MasterKey {
    /// Creates a master key from its bytes.
    pub fn from_bytes(secret: Zeroizing<[u8; 32]>) -> Self {
        Self(Cipher::new(secret))
    }

    /// Reads 64 hex digits, as `openssl rand -hex 32` prints them. White space around them is
    /// ignored.
    ///
    /// # Errors
    /// [`Error::NotAMasterKey`].
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let digits = text.trim();
        let refused = || Error::NotAMasterKey { bytes: text.len() };
        if digits.len() != 64 {
            return Err(refused());
        }
        let mut secret = Zeroizing::new([0; 32]);
        for (byte, pair) in secret.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            for digit in pair {
                let value = char::from(*digit).to_digit(16).ok_or_else(refused)?;
                *byte = *byte << 4 | u8::try_from(value).map_err(|_| refused())?;
            }
        }
        Ok(Self::from_bytes(secret))
    }

    /// Reads a file of 64 hex digits or of 32 bytes.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::NotAMasterKey`].
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let doing = || format!("read the master key in {}", path.display());
        let content = Zeroizing::new(read_given(path, FILE_BYTES_MAX).map_err(Error::io(doing()))?);
        if let Ok(secret) = <[u8; 32]>::try_from(content.as_slice()) {
            return Ok(Self::from_bytes(Zeroizing::new(secret)));
        }
        let bytes = content.len();
        let text = str::from_utf8(&content).map_err(|_| Error::NotAMasterKey { bytes })?;
        Self::from_text(text)
    }

    /// Wraps the key of a session for a key store.
    ///
    /// # Errors
    /// None for a key of 32 bytes.
    pub fn wrap(&self, key: &SessionKey) -> Result<String, Error> {
        let wrapped = self.0.seal(&key_place(key.session()), key.cipher.secret());
        Ok(sealed_text(&wrapped.ok_or(key.malformed(KEY))?))
    }

    /// Unwraps the key of a session that [`wrap`](Self::wrap) wrapped.
    ///
    /// # Errors
    /// [`Error::Malformed`]; [`Error::DoesNotOpen`] if it was wrapped by another master key or for
    /// another session.
    pub fn unwrap(&self, session: Uuid, wrapped: &str) -> Result<SessionKey, Error> {
        let malformed = || Error::Malformed { session, what: KEY };
        let bytes = sealed_bytes(wrapped.trim_end()).ok_or_else(malformed)?;
        let opened = self.0.open(&key_place(session), &bytes);
        let opened = opened.ok_or(Error::DoesNotOpen { session, what: KEY })?;
        let secret = <[u8; 32]>::try_from(opened.as_slice()).map_err(|_| malformed())?;
        Ok(SessionKey::from_bytes(session, Zeroizing::new(secret)))
    }

    /// Creates the check by which a store recognises this key.
    pub(super) fn check(&self, store: Uuid) -> String {
        let place = [CHECK_PLACE, store.as_bytes()].concat();
        keys::sealed_text(&self.0.seal(&place, b"").unwrap_or_default())
    }

    /// True if this key created the check of a store.
    pub(super) fn made(&self, store: Uuid, check: &str) -> bool {
        let place = [CHECK_PLACE, store.as_bytes()].concat();
        sealed_bytes(check).is_some_and(|bytes| self.0.open(&place, &bytes).is_some())
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey").finish_non_exhaustive()
    }
}

fn key_place(session: Uuid) -> Vec<u8> {
    [KEY_PLACE, session.as_bytes()].concat()
}

const KEY: &str = "the key";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn wrapped_key_opens_for_its_session_and_master_key() {
        let master = |byte| MasterKey::from_bytes(Zeroizing::new([byte; 32]));
        let session = Uuid::from_u128(7);
        let wrapped = master(1)
            .wrap(&SessionKey::generate(session).unwrap())
            .unwrap();
        assert!(master(1).unwrap(session, &wrapped).is_ok());
        let others = [
            master(2).unwrap(session, &wrapped),
            master(1).unwrap(Uuid::from_u128(8), &wrapped),
        ];
        for other in others {
            assert!(matches!(other, Err(Error::DoesNotOpen { .. })));
        }
    }

    #[test]
    fn master_key_is_32_bytes_or_64_hidden_digits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master");
        let store = Uuid::from_u128(1);
        let check = MasterKey::from_bytes(Zeroizing::new([0xAB; 32])).check(store);
        for content in [
            vec![0xAB; 32],
            b"aB".repeat(32),
            [b"ab".repeat(32), b"\n".to_vec()].concat(),
        ] {
            fs::write(&path, content).unwrap();
            assert!(MasterKey::from_file(&path).unwrap().made(store, &check));
        }
        for content in [
            vec![0xAB; 31],
            b"ab".repeat(31),
            b"zz".repeat(32),
            vec![0xFF; 64],
        ] {
            fs::write(&path, &content).unwrap();
            let refused = MasterKey::from_file(&path).unwrap_err();
            assert!(matches!(refused, Error::NotAMasterKey { .. }));
            assert!(!refused.to_string().contains("zz"), "{refused}");
        }
    }
}
