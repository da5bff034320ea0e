//! The code of gemini-adk-rs's chapters on tools compiles after a change of its imports, and keeps
//! its promises.
//!
//! The list in `blocks` names every block of the two chapters with its test. The text of a block is
//! unchanged; the items that it relies on are defined above it.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a JSON value without the key reads as null, and a test that meets the impossible \
    must stop"
)]

mod background;
mod blocks;
mod connecting;
#[expect(clippy::collapsible_if, reason = "the blocks are left as they are")]
mod hooks;
mod kinds;
#[expect(
    clippy::needless_question_mark,
    reason = "the blocks are left as they are"
)]
mod policies;
mod registration;
mod stage;
