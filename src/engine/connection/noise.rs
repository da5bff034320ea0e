//! Messages that a service repeats on one connection and that change nothing.

use crate::session::{Observation, Speaker};

/// The messages of one connection that changed nothing.
#[derive(Debug, Default)]
pub(in crate::engine) struct Noise {
    pub(in crate::engine) count: u32,
    /// True if the turn was interrupted and has no content since. It stays open until its end.
    pub(in crate::engine) is_interrupted: bool,
}

/// True for content of the model: text or a call.
pub(in crate::engine) fn is_of_model(observation: &Observation) -> bool {
    let is_of_user = matches!(
        observation,
        Observation::TranscriptReceived(it) if it.speaker == Speaker::User
    );
    says(observation) && !is_of_user
}

/// True for content of a turn.
pub(in crate::engine) fn says(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::FunctionCallReceived(_)
    )
}
