//! Calls that clients run: `claiming` is what they may ask for, and `claim` how a call is found for
//! them, in the list of offers. `at_owner` claims a call of a session that another process owns.

mod at_owner;
mod claim;
pub(in crate::engine) mod claiming;
