//! The card of a call: what it asks, what it would do, the answers that a person can give, and what
//! became of it. Notifications lead here.
//!
//! Read `loaded` first, the values; then `show`, the page, with its parts `status`, `facts`,
//! `arguments` and `answers`. `decide` takes the answers, `typed` keeps those that were
//! refused, `edit` changes the arguments.

mod answers;
mod arguments;
mod decide;
mod edit;
mod facts;
mod loaded;
mod show;
mod status;
mod typed;

pub(crate) use decide::{answer, reconcile, respond, revoke};
pub(crate) use edit::{change, form};
pub(crate) use show::show;
