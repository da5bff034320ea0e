//! Language models behind agents: what one is asked, and what it replies.
//!
//! It knows no tool but its declaration. Read `llm`.

#[cfg(feature = "gemini-http")]
pub(super) mod gemini;
pub(super) mod llm;
pub(super) mod scripted_llm;
