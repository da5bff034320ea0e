//! Messages that a service repeats on one connection and that change nothing.

use crate::session::{Observation, Speaker};

/// The messages of one connection that changed nothing.
#[derive(Debug, Default)]
pub(super) struct Noise {
    pub(super) count: u32,
    /// True if the turn was interrupted and nothing was said since: it stays open until its end.
    pub(super) is_interrupted: bool,
}

/// True for what the model says, by words or by a call.
pub(super) fn is_of_model(observation: &Observation) -> bool {
    let is_of_user = matches!(
        observation,
        Observation::TranscriptReceived(it) if it.speaker == Speaker::User
    );
    says(observation) && !is_of_user
}

/// True for what is said in a turn.
pub(super) fn says(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::FunctionCallReceived(_)
    )
}
