//! Answers, results and commands from outside, for sessions with and without a task.
//!
//! It starts no run of a tool. Read `operation`, then `desk` for a session without a task, and
//! `desk_turn`, in which an engine chooses between task and desk. `clients` parses the messages of
//! ADK clients; `following` asks tools for the results of their paused calls; `pending` lists open
//! requests, and `leaves` standing leaves; `call_end` reads the outcome of an ended call; `pausing`
//! is the stop switch; `claims` lets clients run calls; `elsewhere` sends operations to the process
//! that owns the session; `receipt` says what the record of an operation says; `erasing` deletes
//! keys and records nothing in a session.

mod answering;
pub(super) mod answering_many;
pub(super) mod call_end;
mod cancelling;
pub(super) mod claims;
mod clients;
pub(super) mod closing;
pub(in crate::engine) mod desk;
mod desk_turn;
mod elsewhere;
mod erasing;
mod following;
mod leaves;
pub(super) mod operation;
mod pausing;
mod pending;
mod receipt;
mod reconciling;
pub(super) mod responding;
