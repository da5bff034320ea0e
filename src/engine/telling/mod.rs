//! The words for the model: of the outcome of a run, and of a conversation so far.
//!
//! It sends nothing and records nothing. `outcomes` is about one run, `story` about all of them.

pub(super) mod outcomes;
pub(super) mod recorded_response;
pub(super) mod story;
