//! The texts for the model: the outcome of a run, and the history of a conversation.
//!
//! It sends nothing and records nothing. `outcomes` is about one run, `history` about the
//! conversation.

pub(super) mod history;
pub(super) mod outcomes;
pub(super) mod recorded_response;
