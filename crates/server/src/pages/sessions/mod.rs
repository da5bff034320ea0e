//! The pages of sessions: their list, one of them with its timeline, and one of its records.
//!
//! Read `list` first, then `history`, the records of a session as the pages read them. `session` is
//! the page of one, with `summary`, `picture` and `events` as its parts; `record` is the page of a
//! record; `acts` are the changes that the page of a session offers.

pub(super) mod acts;
mod events;
mod history;
pub(super) mod list;
mod picture;
pub(super) mod record;
pub(super) mod session;
mod summary;
