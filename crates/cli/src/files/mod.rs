//! The files that commands read and write, other than journals.
//!
//! This room recognizes a journal only by the entries of its directory. No command writes there.
//!
//! Read `destination` first, then `whole_file`. `given_json` reads arguments of the command line,
//! `policies` files of policies. `compression` reads and writes
//! gzip and zstd.

mod compression;
pub(crate) mod destination;
mod given_json;
pub(crate) mod policies;
mod whole_file;

pub(crate) use compression::{Compressing, Compression, Decompressed};
pub(crate) use destination::Force;
pub(crate) use given_json::given_json;
pub(crate) use whole_file::WholeFile;
