//! The commands that care for a journal as a whole: copies, exports, verification, repair.
//!
//! This room knows records, objects and hashes. What a session means it does not know.
//!
//! Read `backup` with `restore` and `export` with `import` first, then `verify`, `repair` and
//! `compact`.

pub(super) mod backup;
pub(super) mod compact;
pub(super) mod export;
pub(super) mod import;
pub(super) mod repair;
pub(super) mod restore;
pub(super) mod verify;
