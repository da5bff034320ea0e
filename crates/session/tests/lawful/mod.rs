//! Laws for every history, whether generated or read from a journal.

pub(crate) mod acknowledging;
pub(crate) mod agents;
pub(crate) mod answers;
pub(crate) mod asking;
pub(crate) mod claims;
pub(crate) mod dialling;
pub(crate) mod ends;
pub(crate) mod fold;
pub(crate) mod gate_verdicts;
pub(crate) mod in_place;
pub(crate) mod later;
pub(crate) mod leave;
pub(crate) mod pauses;
pub(crate) mod quorum;
pub(crate) mod recording;
pub(crate) mod repeat;
pub(crate) mod standing;
pub(crate) mod supplies;
pub(crate) mod unanswered;

/// The result of a law for one history: `Ok`, or the violation.
pub(crate) type Verdict = Result<(), String>;
