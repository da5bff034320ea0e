//! The catalogue: the sessions of the journal by agent, label, state, time and text.
//!
//! It is a cache outside the journal, filled as sessions are read, and complete after any restart.
//! Read `known`, then `filter` and `listing`; `asked` keeps the open requests.

mod asked;
mod filter;
mod known;
mod listing;

pub(crate) use filter::{Filter, State};
pub(crate) use known::{Catalogue, Known};
