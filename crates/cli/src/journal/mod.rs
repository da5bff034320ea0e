//! Access to a journal for a command: opened here, or through the service that has it open.
//!
//! This room decides nothing about a session and prints nothing of one.
//!
//! Read `opening` first, then `exported`, an export that is read in place of a journal. `keys` and
//! `unknown_kinds` are the options of most commands; then `source`, a journal or its service, and
//! `ids`, the session or request that an id names. `os_user` is the user of the command line,
//! `verdict` the text about a verified journal.

pub(crate) mod exported;
pub(crate) mod ids;
pub(crate) mod keys;
pub(crate) mod opening;
pub(crate) mod os_user;
mod source;
pub(crate) mod unknown_kinds;
pub(crate) mod verdict;

pub(crate) use keys::Keys;
pub(crate) use opening::access_path;
pub(crate) use source::{PATIENCE, Source};
pub(crate) use unknown_kinds::UnknownKinds;
