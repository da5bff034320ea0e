//! Definitions of tools, as a server lists them and as they are offered.
//!
//! These modules know neither a connection nor a call. Read `definition`, then `naming` and
//! `repaired`.

pub(super) mod definition;
mod naming;
mod repaired;
