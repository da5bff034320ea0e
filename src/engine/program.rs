//! The name of this program on record.

/// The program and version as the journal names it.
#[doc(hidden)]
pub const PROGRAM: &str = concat!("recount ", env!("CARGO_PKG_VERSION"));
