//! The conversation with a Gemini Live service.
//!
//! [`wire`] is its language, as pure values. Nothing in `live` knows what a call means or whether it may run.

pub mod wire;
