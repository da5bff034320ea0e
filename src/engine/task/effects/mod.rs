//! Owed effects: how each is started, and how its result is recorded.
//!
//! Read `performing`, then `run_tool` and `outcomes`. Each other file handles one kind of effect.

mod asking;
mod callers;
mod extractors;
mod hooks;
mod keyed_calls;
mod outcomes;
mod performing;
mod progress;
mod run_of_agent;
mod run_tool;
mod text_agents;
mod verdicts;
