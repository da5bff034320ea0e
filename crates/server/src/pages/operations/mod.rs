//! The page of operators: what runs, what waits, what is in doubt, and the switches.
//!
//! It reads what `/v1` and `/metrics` read, for the sessions that the person may read, and each
//! switch calls the operation of its route. Read `work` first, the open work of the index, then
//! `show`, the order of the sections, and `switches`, the forms. `cells` has the links and names
//! that several sections show. Each other file is one section.

mod backlog;
mod cells;
mod checkpoints;
mod claims;
mod doubts;
mod erasures;
mod holds;
mod journal;
mod leaves;
mod pauses;
mod runners;
mod show;
mod sinks;
mod switches;
mod work;

pub(crate) use show::show;
pub(crate) use switches::{
    discard_letter, pause, retry_letter, retry_letters, revoke, unhold, unpause,
};
