//! The tree of RFC 6962 over the leaf hashes of records: its root, and proofs about it.
//!
//! The tree of a journal has all records in the order of the log. Two facts have short proofs: that
//! a record is leaf number *n* of a tree with this root, and that a tree is the beginning of a
//! later one. A reader needs SHA-256 to check them, and nothing of the journal.
//!
//! ```
//! use recount_journal::Hash;
//! use recount_journal::tree::{Frontier, inclusion, node_of, verify_inclusion};
//!
//! let leaves: Vec<Hash> = (0..7).map(|n: u8| Hash::of_line(&[n])).collect();
//! let frontier: Frontier = leaves.iter().copied().collect();
//! let mut subtree = |first: u64, count: u64| Ok::<_, ()>(node_of(&leaves, first, count));
//! let path = inclusion(4, 7, &mut |first, count| subtree(first, count).map(|it| it.unwrap()))?;
//! assert!(verify_inclusion(leaves[4], 4, (7, frontier.root()), &path).is_ok());
//! assert!(verify_inclusion(leaves[5], 4, (7, frontier.root()), &path).is_err());
//! # Ok::<(), ()>(())
//! ```
//!
//! Read `frontier` first (the root of a tree that grows), then `proof`.

mod frontier;
mod proof;

pub use frontier::Frontier;
pub use proof::{Disproof, consistency, inclusion, node_of, verify_consistency, verify_inclusion};
