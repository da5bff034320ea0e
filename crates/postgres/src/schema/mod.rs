//! The tables of a journal: `versions` makes them, and brings older ones up to date.

mod versions;

pub(crate) use versions::{bring_up_to_date, check};
