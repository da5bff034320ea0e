//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step, [`given()`] asks what one more observation
//! leads to. Nothing here knows how a decision is made.

mod given;
mod history;
#[cfg(feature = "proptest")]
mod strategies;
mod toolbox;
mod world_words;

pub use crate::story::Story;
pub use given::{Given, When, given};
pub use history::{History, history};
#[cfg(feature = "proptest")]
pub use strategies::histories;
pub use toolbox::{Toolbox, toolbox};
pub use world_words::{answer_to, called_by, written};
