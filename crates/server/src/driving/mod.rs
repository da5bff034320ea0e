//! Sessions that programs drive: the handles that the service holds, and places for requests that
//! wait.
//!
//! Read `held`, then `places`; `wakes` has the records after which a waiting request looks again.

mod held;
mod places;
mod wakes;

pub(crate) use held::{HeldSessions, NewCall};
pub(crate) use places::{Place, Places};
pub(crate) use wakes::{
    changes_operations, changes_pending, concerns, ends_a_call, may_be_claimable, wake_after,
};
