//! The texts for the model: the outcome of a run, and the history of a conversation.
//!
//! It sends nothing and records nothing. `outcomes` is about one run, `story` about the
//! conversation.

pub(super) mod outcomes;
pub(super) mod recorded_response;
pub(super) mod story;
