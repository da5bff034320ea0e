//! The laws that hold of every history, however it came about: generated, or read from a journal.

pub(crate) mod agents;
pub(crate) mod answers;
pub(crate) mod dialling;
pub(crate) mod ends;
pub(crate) mod fold;
pub(crate) mod gate_verdicts;
pub(crate) mod in_place;
pub(crate) mod leave;
pub(crate) mod recording;
pub(crate) mod repeat;
pub(crate) mod supplies;

/// The outcome of a law on one history: fine, or what speaks against it.
pub(crate) type Verdict = Result<(), String>;
