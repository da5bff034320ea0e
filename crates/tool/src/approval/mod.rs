//! Approvals: in-process providers, and the check of answers against their request.
//!
//! The session decides whether an approver is asked. Read `confirmation`, then `answering`.

pub(super) mod answer_members;
pub(super) mod answering;
pub(super) mod confirmation;
