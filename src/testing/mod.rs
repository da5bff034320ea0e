//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step, [`given()`] asks what one more observation leads to. Nothing here
//! knows how a decision is made.

#[cfg(feature = "testing")]
mod assertions;
#[cfg(feature = "testing")]
mod clock;
#[cfg(feature = "testing")]
mod crash;
#[cfg(feature = "testing")]
mod frames;
#[cfg(feature = "testing")]
mod journals;
#[cfg(feature = "testing")]
mod life;
#[cfg(feature = "testing")]
mod scripted_model;

#[cfg(feature = "testing")]
pub use crate::fixture::{Fixture, Recording};
#[cfg(feature = "testing")]
pub use crate::play::{Played, Told};
#[cfg(feature = "testing")]
pub use assertions::{OnRecord, replayed};
#[cfg(feature = "testing")]
pub use clock::ManualClock;
#[cfg(feature = "testing")]
pub use crash::{Crash, CrashPoint, CrashingConnector, CrashingTool};
#[cfg(feature = "testing")]
pub use frames::any_frame;
#[cfg(feature = "testing")]
pub use journals::{CrashingJournal, FailingJournal, StuckJournal, SurvivingJournal};
#[cfg(feature = "testing")]
pub use life::Life;
pub use recount_session::testing::*;
#[cfg(feature = "testing")]
pub use scripted_model::ScriptedModel;
