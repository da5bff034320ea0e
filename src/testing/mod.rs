//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step, [`given()`] asks what one more observation leads to. Nothing here
//! knows how a decision is made.

mod given;
mod history;
mod toolbox;

pub use given::{Given, When, given};
pub use history::{History, answer_to, history};
pub use toolbox::{Toolbox, toolbox};
