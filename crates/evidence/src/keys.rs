//! The Ed25519 keys of notes, and their text forms.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::signature::{NoteSignature, is_key_name};

/// The byte for Ed25519 in the id and the text of a key.
const ED25519: u8 = 1;

/// The beginning of the text of a private key.
const PRIVATE: &str = "PRIVATE+KEY+";

/// A key that checks signatures.
///
/// ```text
/// example.com/journal+fab5f2ab+AV59xySBZAHzyR/3aXlWXXQ8kCQAqhEdYfoGK+W/PdJj
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PublicKey {
    name: String,
    id: u32,
    key: VerifyingKey,
}

/// A key that signs. Neither `Debug` nor an error shows its bytes.
///
/// The text of the file of a key is `PRIVATE+KEY+` and then as that of a public key, with the seed
/// in its place. `note` of Go's standard tools reads and writes the same text.
pub struct PrivateKey {
    name: String,
    // Two hundred bytes of tables.
    key: Box<SigningKey>,
}

/// A text is no key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAKey {
    /// The name is no name of a key.
    #[error("expected a name without spaces, plus signs and control characters, found {found:?}")]
    Name {
        /// The name.
        found: String,
    },
    /// The text has another form.
    #[error("expected {expected}, {what}")]
    Text {
        /// The expected form.
        expected: &'static str,
        /// The fault.
        what: &'static str,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness: {0}")]
    NoRandomness(getrandom::Error),
}

const PUBLIC_FORM: &str = "a public key, NAME+ID+KEY";
const PRIVATE_FORM: &str = "a private key, PRIVATE+KEY+NAME+ID+KEY";

impl PublicKey {
    fn new(name: String, key: VerifyingKey) -> Self {
        let mut hash = Sha256::new();
        hash.update(name.as_bytes());
        hash.update([b'\n', ED25519]);
        hash.update(key.as_bytes());
        let [a, b, c, d, ..] = <[u8; 32]>::from(hash.finalize());
        let id = u32::from_be_bytes([a, b, c, d]);
        Self { name, id, key }
    }

    /// The name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the key, which depends on its name and its bytes.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The 32 bytes of the key.
    pub fn bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    pub(crate) fn has_signed(&self, text: &str, signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        // The strict check: others accept keys of small order, for which one signature fits many
        // texts.
        signature.is_ok_and(|it| self.key.verify_strict(text.as_bytes(), &it).is_ok())
    }
}

impl PrivateKey {
    /// A new key from the randomness of the system.
    ///
    /// # Errors
    /// [`NotAKey::Name`] and [`NotAKey::NoRandomness`].
    pub fn generate(name: &str) -> Result<Self, NotAKey> {
        named(name)?;
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(NotAKey::NoRandomness)?;
        Ok(Self {
            name: name.to_owned(),
            key: Box::new(SigningKey::from_bytes(&seed)),
        })
    }

    /// The key with which others check the signatures of this one.
    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.name.clone(), self.key.verifying_key())
    }

    /// The text for the file of the key. It is a secret.
    pub fn to_secret_text(&self) -> Zeroizing<String> {
        let id = self.public().id;
        let seed = Zeroizing::new([&[ED25519], &self.key.as_bytes()[..]].concat());
        let seed = Zeroizing::new(BASE64_STANDARD.encode(&*seed));
        Zeroizing::new(format!("{PRIVATE}{}+{id:08x}+{}\n", self.name, *seed))
    }

    pub(crate) fn sign(&self, text: &str) -> NoteSignature {
        NoteSignature {
            name: self.name.clone(),
            id: self.public().id,
            bytes: self.key.sign(text.as_bytes()).to_vec(),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("PrivateKey");
        out.field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[ED25519], &self.key.as_bytes()[..]].concat();
        let key = BASE64_STANDARD.encode(bytes);
        write!(f, "{}+{:08x}+{key}", self.name, self.id)
    }
}

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let fault = |what| NotAKey::Text {
            expected: PUBLIC_FORM,
            what,
        };
        let (name, id, bytes) = parts(text, PUBLIC_FORM)?;
        let key = VerifyingKey::from_bytes(&bytes).ok();
        let key = key.ok_or_else(|| fault("its bytes are no Ed25519 key"))?;
        let read = Self::new(name, key);
        match read.id == id {
            true => Ok(read),
            false => Err(fault("its id is that of another key")),
        }
    }
}

impl FromStr for PrivateKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let fault = |what| NotAKey::Text {
            expected: PRIVATE_FORM,
            what,
        };
        let rest = text
            .trim_end()
            .strip_prefix(PRIVATE)
            .ok_or_else(|| fault("it has another beginning"))?;
        let (name, id, seed) = parts(rest, PRIVATE_FORM)?;
        let read = Self {
            name,
            key: Box::new(SigningKey::from_bytes(&seed)),
        };
        match read.public().id == id {
            true => Ok(read),
            false => Err(fault("its id is that of another key")),
        }
    }
}

/// The name, the id and the 32 bytes in the text of a key.
fn parts(
    text: &str,
    expected: &'static str,
) -> Result<(String, u32, Zeroizing<[u8; 32]>), NotAKey> {
    let fault = |what| NotAKey::Text { expected, what };
    // Base64 may contain plus signs, a name may not.
    let mut parts = text.trim().splitn(3, '+');
    let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(fault("it has too few parts"));
    };
    named(name)?;
    let id = (id.len() == 8).then(|| u32::from_str_radix(id, 16).ok());
    let id = id
        .flatten()
        .ok_or_else(|| fault("its id is not of eight hex digits"))?;
    let bytes = BASE64_STANDARD.decode(key).map(Zeroizing::new);
    let bytes = bytes.map_err(|_| fault("its key is not Base64"))?;
    let key = match bytes.split_first() {
        Some((&ED25519, key)) => <[u8; 32]>::try_from(key).ok(),
        Some(_) | None => None,
    };
    let key = key.ok_or_else(|| fault("its key is not an Ed25519 key of 32 bytes"))?;
    Ok((name.to_owned(), id, Zeroizing::new(key)))
}

fn named(name: &str) -> Result<(), NotAKey> {
    let found = || name.chars().take(80).collect();
    match is_key_name(name) {
        true => Ok(()),
        false => Err(NotAKey::Name { found: found() }),
    }
}
