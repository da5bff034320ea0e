//! Signed notes: text, and under it one line for each signature.
//!
//! The format is that of <https://c2sp.org/signed-note>.

use std::fmt;
use std::str::FromStr;

use crate::keys::{PrivateKey, PublicKey};
use crate::signature::{NotANote, NoteSignature, is_key_name};

/// The maximum number of signatures of a note.
const SIGNATURES_MAX: usize = 64;

/// The maximum length of a note, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// A text and the signatures of keys over it.
///
/// ```text
/// example.com/journal
/// 42
/// CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
///
/// — example.com/journal Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGz…
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// A note is not signed as it should be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsigned {
    /// No signature is of a known key.
    #[error("expected a signature of a known key, found {found}")]
    Unknown {
        /// The names and ids of the keys that signed, or "none".
        found: String,
    },
    /// The signature of a known key is not over this text.
    #[error("the signature of {name} is not over this text")]
    Forged {
        /// The name of the key.
        name: String,
    },
}

impl Note {
    /// A note without signatures.
    ///
    /// # Errors
    /// [`NotANote`] if the text does not end with a line end, or has control characters.
    pub fn new(text: String) -> Result<Self, NotANote> {
        let fault = |what| Err(NotANote { what });
        if !text.ends_with('\n') {
            return fault("its text does not end with a line end");
        }
        if text.chars().any(|c| c < ' ' && c != '\n') {
            return fault("its text has a control character");
        }
        if text.len() > BYTES_MAX {
            return fault("it is longer than a mebibyte");
        }
        Ok(Self {
            text,
            signatures: Vec::new(),
        })
    }

    /// The signed text, with its last line end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, in their order.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Adds the signature of a key.
    ///
    /// # Errors
    /// As [`add`](Note::add).
    pub fn sign(&mut self, key: &PrivateKey) -> Result<(), NotANote> {
        self.add(key.sign(&self.text))
    }

    /// Adds a signature that was made elsewhere, for example by a signer command.
    ///
    /// # Errors
    /// [`NotANote`] if the note has too many signatures, or the name of the key is no name.
    pub fn add(&mut self, signature: NoteSignature) -> Result<(), NotANote> {
        if self.signatures.len() >= SIGNATURES_MAX {
            return Err(NotANote {
                what: "it has more than 64 signatures",
            });
        }
        if !is_key_name(&signature.name) {
            return Err(NotANote {
                what: "the name of a key is empty, or has a space or a plus sign",
            });
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// Checks the signatures of known keys, and returns the names of those that signed. Signatures
    /// of other keys are ignored.
    ///
    /// # Errors
    /// [`Unsigned::Forged`] if one of them is not over this text, [`Unsigned::Unknown`] if no
    /// signature is of a known key.
    pub fn signed_by(&self, known: &[PublicKey]) -> Result<Vec<String>, Unsigned> {
        let mut names = Vec::new();
        for signature in &self.signatures {
            let is_of = |key: &&PublicKey| key.name() == signature.name && key.id() == signature.id;
            let Some(key) = known.iter().find(is_of) else {
                continue;
            };
            if !key.has_signed(&self.text, &signature.bytes) {
                let name = signature.name.clone();
                return Err(Unsigned::Forged { name });
            }
            if !names.contains(&signature.name) {
                names.push(signature.name.clone());
            }
        }
        if !names.is_empty() {
            return Ok(names);
        }
        let signers = self.signatures.iter();
        let found: Vec<_> = signers
            .map(|it| format!("{}+{:08x}", it.name, it.id))
            .collect();
        Err(Unsigned::Unknown {
            found: match found.is_empty() {
                true => "none".to_owned(),
                false => found.join(", "),
            },
        })
    }
}

impl FromStr for Note {
    type Err = NotANote;

    fn from_str(note: &str) -> Result<Self, NotANote> {
        let fault = |what| NotANote { what };
        if note.len() > BYTES_MAX {
            return Err(fault("it is longer than a mebibyte"));
        }
        // The text may have empty lines, so the last one separates it.
        let at = note.rfind("\n\n").ok_or(fault("it has no empty line"))?;
        let (text, signatures) = note.split_at(at + 1);
        let signatures = signatures.strip_prefix('\n').unwrap_or_default();
        let lines = signatures
            .strip_suffix('\n')
            .ok_or(fault("its last line has no line end"))?;
        let mut read = Self::new(text.to_owned())?;
        for line in lines.split('\n') {
            read.add(line.parse()?)?;
        }
        Ok(read)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures
            .iter()
            .try_for_each(|it| writeln!(f, "{it}"))
    }
}
