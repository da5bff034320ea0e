//! A kit for tests of sessions: named histories, and given-when-then assertions.
//!
//! [`history`] builds a session through the real step. [`given()`] tests the decisions after one
//! more observation. Nothing here knows the rules of decisions.

mod given;
mod history;
mod later_terms;
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
