//! The files that commands read and write, other than journals.
//!
//! This room knows no journal but by the entries of its directory, into which no command writes.
//!
//! Read `destination` first, then `whole_file`. `given_json` reads arguments of the command line.

pub(super) mod destination;
pub(super) mod given_json;
pub(super) mod whole_file;
