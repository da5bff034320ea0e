//! Language models behind agents: their requests and replies.
//!
//! These modules know a tool only by its declaration. Read `llm`.

#[cfg(feature = "gemini-http")]
pub(super) mod gemini;
pub(super) mod llm;
pub(super) mod scripted_llm;
