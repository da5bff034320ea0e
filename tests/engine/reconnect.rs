//! Connections end, sessions do not: after any end of a connection, nothing runs twice and every
//! outcome is delivered.
//!
//! The tests read what the scripted model received. Every journal written here satisfies the laws
//! and replays.

mod doors;
mod stage;

mod calls;
mod ends_of_sessions;
mod going_away;
mod handles;
mod histories;
mod losses;
mod malformed_parts;
mod order;
mod settled;
mod storms;
