//! Arguments read as a Rust type, number for number, without loss of digits.
//!
//! This module knows no tool. Read `reader`, then `digits`. `found` has the messages.

mod decimal;
pub(super) mod digits;
pub(super) mod float_places;
pub(super) mod found;
pub(super) mod misfit;
pub(super) mod reader;
