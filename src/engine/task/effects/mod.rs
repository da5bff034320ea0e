//! Effects that are owed: begun here, and what comes of them put on record.
//!
//! Read `performing`, then `run_tool` and `outcomes`; every other file is one kind of effect.

mod asking;
mod callers;
mod extractors;
mod hooks;
mod outcomes;
mod performing;
mod progress;
mod run_of_agent;
mod run_tool;
mod text_agents;
mod verdicts;
