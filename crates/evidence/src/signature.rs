//! The lines of signatures under a note.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The beginning of a signature's line: an em dash and a space.
const DASH: &str = "\u{2014} ";

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
