//! Signed notes: text, and under it one line for each signature.
//!
//! The format is that of <https://c2sp.org/signed-note>.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::keys::{PrivateKey, PublicKey};

/// The maximum number of signatures of a note.
const SIGNATURES_MAX: usize = 64;

/// The maximum length of a note, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// The beginning of a signature's line: an em dash and a space.
const DASH: &str = "\u{2014} ";

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

/// One signature of a note.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// The id of the key, which depends on its name and its bytes.
    pub id: u32,
    /// The signature itself.
    pub bytes: Vec<u8>,
}

/// A text is no signed note.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected a signed note, {what}")]
pub struct NotANote {
    /// The fault.
    pub what: &'static str,
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

impl FromStr for NoteSignature {
    type Err = NotANote;

    /// Reads a signature's line, without its line end.
    fn from_str(line: &str) -> Result<Self, NotANote> {
        let fault = |what| NotANote { what };
        let rest = line
            .strip_prefix(DASH)
            .ok_or(fault("a line of a signature does not begin with a dash"))?;
        let (name, signature) = rest
            .split_once(' ')
            .ok_or(fault("a line of a signature has no name"))?;
        let bytes = BASE64_STANDARD
            .decode(signature)
            .map_err(|_| fault("a signature is not Base64"))?;
        let (id, bytes) = bytes
            .split_first_chunk()
            .filter(|(_, bytes)| !bytes.is_empty())
            .ok_or(fault("a signature is too short"))?;
        Ok(Self {
            name: name.to_owned(),
            id: u32::from_be_bytes(*id),
            bytes: bytes.to_vec(),
        })
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.id.to_be_bytes()[..], &self.bytes].concat();
        write!(f, "{DASH}{} {}", self.name, BASE64_STANDARD.encode(bytes))
    }
}

/// True for the name of a key: not empty, and without spaces, plus signs and control characters.
pub(crate) fn is_key_name(name: &str) -> bool {
    let fits = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
    !name.is_empty() && name.chars().all(fits)
}
