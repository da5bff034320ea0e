//! Sealed objects. The address of an object is the hash of its sealed bytes.
//!
//! ```text
//! "RCSEAL\0\x01"(8)  nonce(24)  ciphertext  tag(16)
//! ```

use zeroize::Zeroizing;

use super::{Error, SessionKey};
use crate::Object;

const MAGIC: &[u8; 8] = b"RCSEAL\0\x01";
const OBJECT_PLACE: &[u8] = b"recount/v1/object\0";
const OBJECT: &str = "an object";

/// True if the bytes of an object are sealed.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl SessionKey {
    /// Seals an object of the session. One content has one sealed form, and so one address, within
    /// a session.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an object over 256 GiB, the limit of the cipher.
    pub fn seal_object(&self, content: &[u8]) -> Result<Object, Error> {
        let sealed = self
            .cipher
            .seal(&self.object_place(), content)
            .ok_or(self.malformed(OBJECT))?;
        Ok(Object::new([MAGIC.as_slice(), &sealed].concat()))
    }

    /// Opens a sealed object.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::DoesNotOpen`].
    pub fn open_object(&self, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let sealed = bytes.strip_prefix(MAGIC).ok_or(self.malformed(OBJECT))?;
        let content = self.cipher.open(&self.object_place(), sealed);
        content.ok_or(self.does_not_open(OBJECT))
    }

    fn object_place(&self) -> Vec<u8> {
        [OBJECT_PLACE, self.session().as_bytes()].concat()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::Hash;

    #[test]
    fn only_its_session_opens_an_object() {
        let key =
            |session| SessionKey::from_bytes(Uuid::from_u128(session), Zeroizing::new([7; 32]));
        let sealed = key(1).seal_object(b"content").unwrap();
        assert!(is_sealed(&sealed.bytes) && !is_sealed(b"content"));
        assert_eq!(sealed.hash, Hash::of_object(&sealed.bytes));
        assert_eq!(key(1).seal_object(b"content").unwrap(), sealed);
        assert_eq!(*key(1).open_object(&sealed.bytes).unwrap(), b"content");
        let refused = key(2).open_object(&sealed.bytes);
        assert!(matches!(refused, Err(Error::DoesNotOpen { .. })));
        let refused = key(1).open_object(b"content");
        assert!(matches!(refused, Err(Error::Malformed { .. })));
    }
}
