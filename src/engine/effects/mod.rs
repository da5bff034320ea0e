//! Effects in flight, and the context of a tool's run.
//!
//! It does not know which effects are owed; the session returns them. Read `performer`, then
//! `slots`, `start_guard` and `session_of_run`; `text_agents` is the run of a text agent.

pub(super) mod agent_secrets;
pub(super) mod beginning;
pub(super) mod given;
pub(super) mod performer;
pub(super) mod progress_reporter;
pub(super) mod run_of_agent;
pub(super) mod session_of_run;
pub(super) mod slots;
pub(super) mod start_guard;
pub(super) mod text_agents;
pub(super) mod yields;
