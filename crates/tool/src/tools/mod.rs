//! Tools with their policies: one tool, sets of tools, `T`, and agents as tools.
//!
//! Nothing here enforces an approval or a time limit; `PolicyTool::run` runs one call. Read
//! `policy_tool`, `toolset`, then `t`. A set may hold an agent, and an agent has a set of its own,
//! so these three modules depend on each other.

mod following;
mod implemented;
pub(super) mod mistake;
pub(super) mod policy_tool;
pub(super) mod predicate;
pub(super) mod t;
mod t_policies;
pub(super) mod text_agent;
pub(super) mod toolset;
