//! The test kit of an engine: a model from a script, a clock under control, crashes at any point.
//!
//! This module needs the feature `testing`. It uses only the public API of the engine. Read
//! `scripted_model` first.

mod assertions;
mod clock;
mod crash;
mod frames;
mod journals;
mod life;
mod scripted_model;
mod unreachable_journal;

pub use crate::fixture::{Fixture, Recording};
pub use crate::play::{Played, Told};
pub use assertions::{OnRecord, replayed};
pub use clock::ManualClock;
pub use crash::{Crash, CrashPoint, CrashingConnector, CrashingTool};
pub use frames::any_frame;
pub use journals::{CrashingJournal, FailingJournal, StuckJournal, SurvivingJournal};
pub use life::Life;
pub use scripted_model::ScriptedModel;
pub use unreachable_journal::UnreachableJournal;
