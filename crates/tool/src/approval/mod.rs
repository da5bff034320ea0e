//! Approvals: a provider in the same process, and answers held against their question.
//!
//! Whether a person is asked, the session decides. Read `confirmation`, then `answering`.

pub(super) mod answer_members;
pub(super) mod answering;
pub(super) mod confirmation;
