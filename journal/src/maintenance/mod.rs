//! The work on a journal that is not its daily one: verifying, copying, repairing, compacting.

pub mod backup;
pub(crate) mod compact;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod repair;
pub mod verify;
