//! The name of this program in the journal.

/// The program name and version, as recorded.
#[doc(hidden)]
pub const PROGRAM: &str = concat!("recount ", env!("CARGO_PKG_VERSION"));
