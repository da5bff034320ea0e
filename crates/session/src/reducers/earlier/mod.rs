//! Earlier calls: their results used again, their repeats, and how many there may be.
//!
//! It knows no order of checks: the dispatcher has that. Read `cache`, then `repeats` and `limits`.

pub(crate) mod cache;
pub(crate) mod limits;
pub(crate) mod repeats;
