//! Evidence about a journal that a reader can check without this program.
//!
//! All records of a journal are leaves of one tree, in the order of the log. A [`Checkpoint`] is
//! the size and the root of that tree at one time, as text that keys have signed. A [`LogProof`]
//! shows that a record is a leaf of the tree of a checkpoint. Both are formats of C2SP, which other
//! programs read.
//!
//! ```
//! use recount_evidence::{Checkpoint, Note, PrivateKey};
//! use recount_journal::tree::Frontier;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = PrivateKey::generate("example.com/journal")?;
//! let tree = Frontier::default();
//! let checkpoint = Checkpoint::new("example.com/journal", tree.size(), tree.root())?;
//! let mut note = Note::new(checkpoint.to_string())?;
//! note.sign(&key)?;
//!
//! let read: Note = note.to_string().parse()?;
//! assert_eq!(read.signed_by(&[key.public()])?, ["example.com/journal"]);
//! assert_eq!(Checkpoint::of(&read)?, checkpoint);
//! # Ok(()) }
//! ```
//!
//! Read `note` with `signature` and `keys` first, then `checkpoint` and `log_proof` (the two
//! formats), `leaves` and `kept_tree` (the tree of a journal, kept beside it), `recorded` (what is
//! on record) and `following` (checkpoints behind a journal), with `signer` and `status`. `anchor`
//! and `anchoring` hand checkpoints over to places elsewhere, and `time_stamp` reads the answers of
//! authorities.

mod anchor;
mod anchoring;
#[cfg(feature = "http")]
mod authority;
mod checkpoint;
mod following;
mod kept_tree;
mod keys;
mod leaves;
mod log_proof;
mod note;
mod program;
mod recorded;
mod signature;
mod signer;
mod status;
mod time_stamp;

pub use anchor::{Anchor, AnchorError};
pub use anchoring::Anchoring;
pub use checkpoint::{Checkpoint, NotACheckpoint};
pub use following::{Checkpoints, Following};
pub use kept_tree::KeptTree;
pub use keys::{NotAKey, PrivateKey, PublicKey};
pub use leaves::Leaves;
pub use log_proof::{LogProof, NotAProof, Unproven};
pub use note::{Note, Unsigned};
pub use program::ProgramError;
pub use recorded::{
    CHECKPOINT_SIGNED, CHECKPOINT_TIME_STAMPED, Recorded, SignedCheckpoint, TimeStampOnRecord,
    on_record,
};
pub use signature::{NotANote, NoteSignature};
pub use signer::{SignError, Signer};
pub use status::{AnchorStatus, EvidenceStatus, LastCheckpoint, StatusBoard};
pub use time_stamp::{NotATimeStamp, TimeStamp, TimeStampRequest};
