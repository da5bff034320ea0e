//! Tools with their policies: one tool, sets of tools, the short constructors `T`, and agents as
//! tools.
//!
//! Nothing here enforces an approval or a time limit; `PolicyTool::run` runs one call. Read
//! `policy_tool`, `toolset`, then `t`. A tool may be an agent, an agent has a set of tools, and a
//! set holds tools. So `policy_tool`, `text_agent` and `toolset` depend on each other.
//!
//! A new kind of tool is a file in `kinds/`, a variant of `policy_tool::Body`, and a constructor in
//! `t`.

mod client_run;
mod implementation_check;
pub(super) mod mistake;
mod paused_calls;
pub(super) mod policy_tool;
pub(super) mod predicate;
pub(super) mod t;
mod t_approvals;
mod t_policies;
pub(super) mod text_agent;
pub(super) mod tool_changes;
pub(super) mod toolset;
