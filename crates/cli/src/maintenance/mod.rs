//! The commands for a whole journal: copies, exports, verification, repair.
//!
//! This room knows records, objects and hashes. Only `spans`, the other form of an export, knows
//! what sessions are.
//!
//! Read `backup` with `restore` and `export` with `import` first, then `verify` with `since` and
//! `proof` and `bundle`, `checkpoint` and `prove`, `repair` and `compact`.

mod backup;
mod bundle;
mod checkpoint;
mod compact;
mod export;
mod import;
mod proof;
mod prove;
mod repair;
mod restore;
mod since;
mod spans;
mod verify;

pub(crate) use backup::Backup;
pub(crate) use checkpoint::Checkpoint;
pub(crate) use compact::Compact;
pub(crate) use export::{Export, redaction};
pub(crate) use import::Import;
pub(crate) use prove::Prove;
pub(crate) use repair::Repair;
pub(crate) use restore::Restore;
pub(crate) use since::{checkpoint_in, known_keys, leaves};
pub(crate) use verify::Verify;
