//! The address of a journal in a database.
//!
//! `journal_address` is the type, `parsing` reads it from a text, and `encryption` is its TLS.

mod encryption;
mod journal_address;
mod parsing;

pub use journal_address::{Address, NotAnAddress};
