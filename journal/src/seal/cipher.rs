//! XChaCha20-Poly1305 with a nonce derived from key, place and content.
//!
//! ```text
//! cipher key = HMAC-SHA256(secret, "recount seal v1 cipher")
//! nonce key  = HMAC-SHA256(secret, "recount seal v1 nonce")
//! nonce      = first 24 bytes of
//!              HMAC-SHA256(nonce key, length of place(8, big-endian) ‖ place ‖ content)
//! sealed     = nonce(24) ‖ ciphertext ‖ tag(16), the place being the associated data
//! ```
//!
//! One content at one place has exactly one sealed form. The equality of two contents at one place
//! is visible, and nothing else. No nonce is used for two contents, and a session that runs again
//! with the same inputs has the same bytes.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 24;

/// A secret of 32 bytes, with the keys derived from it.
#[derive(Clone)]
pub(super) struct Cipher {
    secret: Zeroizing<[u8; 32]>,
    aead: XChaCha20Poly1305,
    nonces: Zeroizing<[u8; 32]>,
}

impl Cipher {
    pub(super) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        let key = derive(&secret, b"recount seal v1 cipher");
        Self {
            aead: XChaCha20Poly1305::new((&*key).into()),
            nonces: derive(&secret, b"recount seal v1 nonce"),
            secret,
        }
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Seals `content` for `place`. `None` only for content over 256 GiB, the limit of the cipher.
    pub(super) fn seal(&self, place: &[u8], content: &[u8]) -> Option<Vec<u8>> {
        let nonce = self.nonce(place, content);
        let payload = Payload {
            msg: content,
            aad: place,
        };
        let sealed = self.aead.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for `place`. `None` if it was altered, or sealed with another key or
    /// for another place.
    pub(super) fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: place,
        };
        let content = self.aead.decrypt(&XNonce::from(*nonce), payload).ok()?;
        Some(Zeroizing::new(content))
    }

    fn nonce(&self, place: &[u8], content: &[u8]) -> [u8; NONCE_BYTES] {
        let length = u64::try_from(place.len()).unwrap_or(u64::MAX);
        let whole = keyed(&self.nonces, &[&length.to_be_bytes(), place, content]);
        let mut nonce = [0; NONCE_BYTES];
        for (to, from) in nonce.iter_mut().zip(whole.iter()) {
            *to = *from;
        }
        nonce
    }
}

/// Computes HMAC-SHA256 over the concatenated parts.
pub(super) fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    // The key is shorter than a block of the hash, so padding with zeros is its prepared form.
    let mut mac = Hmac::<Sha256>::new(&padded(key));
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}

pub(super) fn derive(secret: &[u8; 32], label: &[u8]) -> Zeroizing<[u8; 32]> {
    keyed(secret, &[label])
}

fn padded(key: &[u8; 32]) -> hmac::digest::Key<Hmac<Sha256>> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    block
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        let pairs = digits.chunks_exact(2);
        pairs
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8))
            .collect()
    }

    /// The test vector of draft-irtf-cfrg-xchacha-03, appendix A.3.1.
    #[test]
    fn cipher_matches_draft_test_vector() {
        let content = b"Ladies and Gentlemen of the class of '99: If I could offer you \
            only one tip for the future, sunscreen would be it.";
        let place = bytes("50515253c0c1c2c3c4c5c6c7");
        let key: [u8; 32] = (0x80..=0x9f).collect::<Vec<u8>>().try_into().unwrap();
        let nonce: [u8; 24] = (0x40..=0x57).collect::<Vec<u8>>().try_into().unwrap();
        let sealed = bytes(
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa644\
             0bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e\
             3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7\
             987947deafd8780acf49",
        );
        let cipher = Cipher {
            aead: XChaCha20Poly1305::new(&key.into()),
            nonces: Zeroizing::new([0; 32]),
            secret: Zeroizing::new([0; 32]),
        };
        let whole = [nonce.as_slice(), &sealed].concat();
        assert_eq!(cipher.open(&place, &whole).unwrap().as_slice(), content);
        let payload = Payload {
            msg: content,
            aad: &place,
        };
        assert_eq!(cipher.aead.encrypt(&nonce.into(), payload).unwrap(), sealed);
    }

    /// Computed with Python's hmac and a second implementation of the cipher. The sealed form must
    /// never change.
    #[test]
    fn sealed_form_is_pinned() {
        let cipher = Cipher::new(Zeroizing::new([7; 32]));
        let sealed = cipher.seal(b"place", b"content").unwrap();
        assert_eq!(sealed, bytes(PINNED));
        assert_eq!(sealed.len(), NONCE_BYTES + 7 + 16);
    }

    const PINNED: &str = "dbca6cd91dfa3ec749d114ce958b642e68c64c6c940583b16131157b1f341a3f\
                          557b89a032a98061fd3ed91b6b4f1a";
}
