//! Access to a journal for a command: opened here, or through the service that has it open.
//!
//! This room decides nothing about a session and prints nothing of one.
//!
//! Read `location` and `opening` first, then `exported`, an export that is read in place of a
//! journal, and `database`, a journal in PostgreSQL. `keys` and `unknown_kinds` are the options of
//! most commands; then `source`, a journal or its service, and `ids`, the session or request that
//! an id names. `os_user` is the user of the command line. `verified` verifies, and `verdict` is
//! the text about it.

#[cfg(feature = "postgres")]
mod database;
#[cfg(not(feature = "postgres"))]
#[path = "no_database.rs"]
mod database;
pub(crate) mod exported;
pub(crate) mod ids;
pub(crate) mod keys;
pub(crate) mod location;
pub(crate) mod opening;
pub(crate) mod os_user;
mod source;
pub(crate) mod unknown_kinds;
pub(crate) mod verdict;
pub(crate) mod verified;

pub(crate) use database::Database;
#[cfg(feature = "serve")]
pub(crate) use database::NodeSettings;
pub(crate) use keys::Keys;
pub(crate) use location::Location;
pub(crate) use opening::access_path;
pub(crate) use source::{PATIENCE, RETRY_OPEN, Source};
pub(crate) use unknown_kinds::UnknownKinds;
