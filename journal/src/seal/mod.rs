//! Sealing: bodies, objects and texts that only a session's key can open, and the stores of keys.
//!
//! Everything is sealed with XChaCha20-Poly1305 under a key of its session, and bound to its place:
//! sealed bytes that were moved do not open. Keys are stored outside the journal, wrapped by a
//! master key. The journal stores and hashes sealed bytes like any others.

// Read `cipher` and `keys` first, then `body`, `object`, and the key stores `file_keys` and
// `memory_keys`.

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
