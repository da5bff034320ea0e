//! Checkpoints: the size and the root of a tree at one time.
//!
//! The format is that of <https://c2sp.org/tlog-checkpoint>.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recount_journal::Hash;

use crate::note::Note;

/// The size and the root of the tree of a journal: the text that keys sign.
///
/// ```text
/// example.com/journal
/// 42
/// CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    /// The name of the journal: one line, for example `example.com/journal`.
    pub origin: String,
    /// The number of records.
    pub size: u64,
    /// The tree hash over the leaf hashes of these records, in the order of the log.
    pub root: Hash,
    /// Further lines, whose sense others define.
    pub extensions: Vec<String>,
}

/// A text is no checkpoint.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected a checkpoint, {what}")]
pub struct NotACheckpoint {
    /// The fault.
    pub what: &'static str,
}

impl Checkpoint {
    /// A checkpoint without further lines.
    ///
    /// # Errors
    /// [`NotACheckpoint`] if the origin is empty or no single line.
    pub fn new(origin: &str, size: u64, root: Hash) -> Result<Self, NotACheckpoint> {
        if origin.is_empty() || origin.chars().any(char::is_control) {
            return Err(NotACheckpoint {
                what: "its origin is empty or has a control character",
            });
        }
        Ok(Self {
            origin: origin.to_owned(),
            size,
            root,
            extensions: Vec::new(),
        })
    }

    /// Reads the text of a note. It does not check its signatures.
    ///
    /// # Errors
    /// [`NotACheckpoint`].
    pub fn of(note: &Note) -> Result<Self, NotACheckpoint> {
        note.text().parse()
    }

    /// The size and the root, as the checks of proofs take them.
    pub fn tree(&self) -> (u64, Hash) {
        (self.size, self.root)
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = BASE64_STANDARD.encode(self.root.as_bytes());
        writeln!(f, "{}\n{}\n{root}", self.origin, self.size)?;
        let mut further = self.extensions.iter();
        further.try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl FromStr for Checkpoint {
    type Err = NotACheckpoint;

    fn from_str(text: &str) -> Result<Self, NotACheckpoint> {
        let fault = |what| NotACheckpoint { what };
        let lines = text
            .strip_suffix('\n')
            .ok_or(fault("its last line has no line end"))?;
        let mut lines = lines.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(fault("it has fewer than three lines"));
        };
        let number = decimal(size).ok_or(fault("its size is not a decimal number"))?;
        let root = hash(root).ok_or(fault("its root is not the Base64 of 32 bytes"))?;
        let mut read = Self::new(origin, number, root)?;
        for line in lines {
            if line.is_empty() {
                return Err(fault("it has an empty line"));
            }
            read.extensions.push(line.to_owned());
        }
        Ok(read)
    }
}

/// Reads a decimal number without a sign and without leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Reads the Base64 of a hash.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    Some(Hash::from_bytes(bytes.try_into().ok()?))
}

/// The path of a file about a checkpoint. Names are in the order of their numbers.
pub(crate) fn path_in(directory: &Path, size: u64, ending: &str) -> PathBuf {
    directory.join(format!("{size:020}.{ending}"))
}
