//! Earlier calls: cached results, repeats, and limits.
//!
//! This module does not know the order of the checks; the dispatcher does. Read `cache`, then
//! `repeats` and `limits`.

pub(crate) mod cache;
pub(crate) mod limits;
pub(crate) mod repeats;
