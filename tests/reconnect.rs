//! Connections end, sessions do not: whatever becomes of a connection, nothing runs twice and nothing stays untold.
//!
//! What the model was told is read off what the scripted model received. Every journal written here is held against the
//! laws, and replays.
#![cfg(feature = "testing")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "reconnect/doors.rs"]
mod doors;
#[path = "lawful/journal.rs"]
mod journal;
mod lawful;
mod nothing_left;
#[path = "reconnect/stage.rs"]
mod stage;

#[path = "reconnect/calls.rs"]
mod calls;
#[path = "reconnect/ends_of_sessions.rs"]
mod ends_of_sessions;
#[path = "reconnect/going_away.rs"]
mod going_away;
#[path = "reconnect/handles.rs"]
mod handles;
#[path = "reconnect/histories.rs"]
mod histories;
#[path = "reconnect/losses.rs"]
mod losses;
#[path = "reconnect/settled.rs"]
mod settled;
