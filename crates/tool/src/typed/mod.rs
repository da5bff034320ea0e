//! Arguments read as a Rust type, number for number, and held against what the type can keep.
//!
//! It knows no tool. Read `reader`, then `digits`. `found` has the words for what does not fit.

mod decimal;
pub(super) mod digits;
pub(super) mod float_places;
pub(super) mod found;
pub(super) mod misfit;
pub(super) mod reader;
