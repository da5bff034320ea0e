//! Gemini's generateContent over HTTPS.
//!
//! Read `gemini_llm`; `wire` has the messages.

pub(crate) mod gemini_llm;
mod wire;
