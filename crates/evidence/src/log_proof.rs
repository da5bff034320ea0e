//! Proofs that a record is a leaf of the tree of a checkpoint.
//!
//! The format is that of <https://c2sp.org/tlog-proof>.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recount_journal::Hash;
use recount_journal::tree::{Disproof, verify_inclusion};

use crate::checkpoint::{Checkpoint, NotACheckpoint, decimal, hash};
use crate::keys::PublicKey;
use crate::note::{Note, Unsigned};
use crate::signature::NotANote;

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// A self-contained proof that a record is in the tree of a signed checkpoint.
///
/// ```text
/// c2sp.org/tlog-proof@v1
/// extra eyJ2IjoxLCJzZXNzaW9uIjoi…
/// index 41
/// gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
///
/// example.com/journal
/// 42
/// CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
///
/// — example.com/journal Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGz…
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogProof {
    /// The line of the record. Its leaf hash is what is proven.
    pub line: Vec<u8>,
    /// The index of the record in the log, from 0.
    pub index: u64,
    /// The hashes beside the way from the leaf to the root.
    pub path: Vec<Hash>,
    /// The signed checkpoint.
    pub checkpoint: Note,
}

/// A text is no proof.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAProof {
    /// The text has another form.
    #[error("expected a proof, {0}")]
    Text(&'static str),
    /// The last part is no signed note.
    #[error(transparent)]
    Note(#[from] NotANote),
}

/// A proof does not show what it should.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unproven {
    /// The note has no checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] NotACheckpoint),
    /// The checkpoint is not signed by a known key.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
    /// The record is not in the tree of the checkpoint.
    #[error(transparent)]
    Disproof(#[from] Disproof),
}

impl LogProof {
    /// Checks the proof against known keys, and returns its checkpoint.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn verify(&self, known: &[PublicKey]) -> Result<Checkpoint, Unproven> {
        self.checkpoint.signed_by(known)?;
        self.verify_unsigned()
    }

    /// Checks that the record is in the tree of the checkpoint, which may be a forgery.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn verify_unsigned(&self) -> Result<Checkpoint, Unproven> {
        let checkpoint = Checkpoint::of(&self.checkpoint)?;
        let leaf = Hash::of_line(&self.line);
        verify_inclusion(leaf, self.index, checkpoint.tree(), &self.path)?;
        Ok(checkpoint)
    }
}

impl fmt::Display for LogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        writeln!(f, "extra {}", BASE64_STANDARD.encode(&self.line))?;
        writeln!(f, "index {}", self.index)?;
        for hash in &self.path {
            writeln!(f, "{}", BASE64_STANDARD.encode(hash.as_bytes()))?;
        }
        write!(f, "\n{}", self.checkpoint)
    }
}

impl FromStr for LogProof {
    type Err = NotAProof;

    fn from_str(text: &str) -> Result<Self, NotAProof> {
        let fault = |what| NotAProof::Text(what);
        let (proof, note) = text
            .split_once("\n\n")
            .ok_or(fault("it has no empty line before its checkpoint"))?;
        let mut lines = proof.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(fault("its first line is not c2sp.org/tlog-proof@v1"));
        }
        let line = lines.next().and_then(|line| line.strip_prefix("extra "));
        let line = line.ok_or(fault("it has no record as its extra data"))?;
        let line = BASE64_STANDARD.decode(line);
        let index = lines.next().and_then(|line| line.strip_prefix("index "));
        let path: Option<Vec<Hash>> = lines.map(hash).collect();
        Ok(Self {
            line: line.map_err(|_| fault("its extra data is not Base64"))?,
            index: index
                .and_then(decimal)
                .ok_or(fault("it has no decimal index"))?,
            path: path.ok_or(fault("one of its hashes is not the Base64 of 32 bytes"))?,
            checkpoint: note.parse()?,
        })
    }
}
