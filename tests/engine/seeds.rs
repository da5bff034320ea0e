//! The code of gemini-adk-rs's chapters on tools compiles here after changing imports only, and
//! keeps what it promises.
//!
//! Every block of the two chapters is in the list of `blocks` with the test that holds it. The text
//! of a block is left as it is; what it takes for granted stands above it.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a JSON value without the key reads as null, and a test that meets the impossible must stop"
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
