//! Sealing: bodies, objects and single texts that only a session's key opens, and where that key is
//! kept.
//!
//! Everything is sealed with XChaCha20-Poly1305 under a key of its session, and bound to its place:
//! what was moved to another place does not open. Keys stand outside the journal, wrapped by a
//! master key. Nothing here changes what the journal stores or hashes: it keeps sealed bytes like
//! any others.

// The source starts with the cipher and the keys of sessions; on them stand the sealed body, object
// and text. The stores of keys, in files and in memory, come last.

mod body;
mod cipher;
mod error;
mod file_keys;
mod guard;
mod keys;
mod master;
mod memory_keys;
mod object;

pub use body::{SealedBody, line};
pub use error::Error;
pub use file_keys::FileKeyStore;
pub use keys::{KeyStore, SessionKey};
pub use master::MasterKey;
pub use memory_keys::MemoryKeyStore;
pub use object::is_sealed as is_sealed_object;
