//! Policies: the rules of tools and of the conversation, as data that is stored and hashed.
//!
//! Policies know no session and decide nothing; the reducers apply them. Read `tool_policy`, then
//! `policy` (all policies of an agent) and `condition`. `stored_policy` is the stored form.
//! `approvers` has the rule of who may approve, `on_expiry` what a missing answer means.

pub(super) mod approvers;
pub(super) mod condition;
pub(super) mod gate_terms;
pub(super) mod hooks;
mod on_expiry;
pub(super) mod on_settled;
pub(super) mod phase;
pub mod policy;
pub(super) mod policy_changes;
pub(super) mod progress;
pub mod response;
mod stored_policy;
mod tool_policy;
