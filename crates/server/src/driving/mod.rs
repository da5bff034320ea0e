//! Sessions that programs drive: the handles that the service holds, and places for requests that
//! wait.
//!
//! Read `held`, then `places`; `wakes` has the records after which a waiting request looks again,
//! and `pending_watch` the changes of what waits for an answer.

mod held;
mod pending_watch;
mod places;
mod wakes;

pub(crate) use held::{HeldSessions, NewCall};
pub(crate) use pending_watch::{Changed, PendingChanges, PendingWatch};
pub(crate) use places::{Place, Places};
pub(crate) use wakes::{changes_operations, concerns, ends_a_call, may_be_claimable, wake_after};
