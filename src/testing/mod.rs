//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step, [`given()`] asks what one more observation leads to. Nothing here
//! knows how a decision is made.

#[cfg(feature = "testing")]
mod clock;
mod given;
mod history;
#[cfg(feature = "testing")]
mod scripted_model;
mod toolbox;

#[cfg(feature = "testing")]
pub use clock::ManualClock;
pub use given::{Given, When, given};
pub use history::{History, answer_to, history};
#[cfg(feature = "testing")]
pub use scripted_model::ScriptedModel;
pub use toolbox::{Toolbox, toolbox};
