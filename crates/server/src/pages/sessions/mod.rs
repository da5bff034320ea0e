//! The pages of sessions: their list, one of them with its timeline, and one of its records.
//!
//! Read `list` first, then `history`, the records of a session as the pages read them. `session` is
//! the page of one, with `summary`, `picture` and `events` as its parts; `record` is the page of a
//! record; `acts` are the changes that the page of a session offers, `checks` its verification.

mod acts;
mod checks;
mod events;
mod history;
mod list;
mod picture;
mod record;
mod routes;
mod session;
mod summary;

pub(super) use list::filter_field;
pub(super) use routes::routes;
