//! The engine by its promises, from a dispatcher alone to sessions that outlive their processes.
//!
//! All tests are one program, because linking the library dominates the build time of each program.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "../support/child_process/mod.rs"]
mod child_process;
#[path = "../support/demo_session/mod.rs"]
mod demo_session;
#[path = "../support/door.rs"]
mod door;
#[path = "../support/lawful_journal.rs"]
mod journal;
#[path = "../../crates/session/tests/lawful/mod.rs"]
mod lawful;
#[path = "../support/nothing_left/mod.rs"]
mod nothing_left;
#[path = "../support/outliving/mod.rs"]
mod outliving;
#[path = "../support/schema/mod.rs"]
mod schema;
#[path = "../support/store/mod.rs"]
mod store;
#[path = "../support/surviving/mod.rs"]
mod surviving;

mod adk_cards;
mod adk_traces;
mod agents;
mod approvals;
mod approvals_service;
mod claims;
mod client_messages;
mod debt_story;
mod deploy;
mod digits;
mod dispatcher;
mod entrances;
mod faults;
mod fixtures;
mod full_disks;
mod gemini_http;
mod keyed_calls;
mod kill_points;
mod killed_while_asking;
mod killed_while_held;
mod live_builder;
mod moved_journals;
mod newer_programs;
mod policies_changed;
mod policy_pairs;
mod program_calls;
mod ready_made_tools;
mod reconnect;
mod relayed;
mod restart;
mod seeds;
mod sessions;
mod simulator;
mod tools_changed;
mod typed_tools;
mod unasked_payloads;
mod wire;
mod write_ahead;
