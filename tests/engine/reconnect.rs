//! Connections end, sessions do not: whatever becomes of a connection, nothing runs twice and
//! nothing stays untold.
//!
//! What the model was told is read off what the scripted model received. Every journal written here
//! is held against the laws, and replays.

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
