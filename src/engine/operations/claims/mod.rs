//! Calls that clients run: `claiming` is what they may ask for, and `claim` how a call is found for
//! them.

mod claim;
pub(in crate::engine) mod claiming;
