//! Who is behind an observation, what it proves, and what must be known to fold it.

use super::actor::{Actor, ActorKind};
use super::id::Seq;
use super::object::ObjectHash;
use super::observation::{Deadline, Observation, Speaker, TranscriptReceived};

impl Observation {
    /// The kind of party that did it.
    pub fn actor(&self) -> ActorKind {
        match self {
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::ResponsesSent(_)
            | Observation::FrameRejected(_) => ActorKind::Engine,
            Observation::GoAwayReceived(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::FunctionCallReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::UsageReported(_) => ActorKind::Model,
            Observation::TranscriptReceived(TranscriptReceived {
                speaker: Speaker::Model,
                ..
            }) => ActorKind::Model,
            Observation::TranscriptReceived(TranscriptReceived {
                speaker: Speaker::User,
                ..
            })
            | Observation::UserTextSent(_) => ActorKind::User,
            Observation::ToolReturned(_) | Observation::ToolPaused(_) => ActorKind::Tool,
            Observation::ConfirmationAnswered(_)
            | Observation::AnswerRefused(_)
            | Observation::ResponseSupplied(_)
            | Observation::OperatorCancelled(_)
            | Observation::SessionClosed(_) => ActorKind::Person,
            Observation::DeadlinePassed(_) => ActorKind::Clock,
        }
    }

    /// The named party behind it, where there is one.
    pub fn by(&self) -> Option<&Actor> {
        match self {
            Observation::ConfirmationAnswered(it) => Some(&it.by),
            Observation::AnswerRefused(it) => Some(&it.by),
            Observation::ResponseSupplied(it) => Some(&it.by),
            Observation::OperatorCancelled(it) => Some(&it.by),
            Observation::SessionClosed(it) => Some(&it.by),
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::FunctionCallReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ToolReturned(_)
            | Observation::ToolPaused(_)
            | Observation::ResponsesSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::UserTextSent(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_) => None,
        }
    }

    /// The connection on which the server showed that it is alive, where this is such an observation.
    ///
    /// Traffic after a send proves that what was sent arrived.
    pub(super) fn heard_on(&self) -> Option<Seq> {
        match self {
            Observation::GoAwayReceived(it) => Some(it.epoch),
            Observation::ResumptionHandleReceived(it) => Some(it.epoch),
            Observation::FunctionCallReceived(it) => Some(it.epoch),
            Observation::CallCancellationReceived(it) => Some(it.epoch),
            Observation::ModelOutputReceived(it) => Some(it.epoch),
            Observation::TranscriptReceived(it) => Some(it.epoch),
            Observation::TurnCompleted(it) => Some(it.epoch),
            Observation::TurnInterrupted(it) => Some(it.epoch),
            Observation::UsageReported(it) => Some(it.epoch),
            Observation::FrameRejected(it) => Some(it.epoch),
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::ToolReturned(_)
            | Observation::ToolPaused(_)
            | Observation::ConfirmationAnswered(_)
            | Observation::AnswerRefused(_)
            | Observation::ResponseSupplied(_)
            | Observation::ResponsesSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::UserTextSent(_)
            | Observation::OperatorCancelled(_)
            | Observation::SessionClosed(_) => None,
        }
    }

    /// The record that this one is about.
    pub(super) fn refers_to(&self) -> Option<Seq> {
        match self {
            Observation::ToolReturned(it) => Some(it.call),
            Observation::ToolPaused(it) => Some(it.call),
            Observation::ConfirmationAnswered(it) => Some(it.request),
            Observation::AnswerRefused(it) => Some(it.request),
            Observation::ResponseSupplied(it) => Some(it.call),
            Observation::ResponsesSent(it) => it.responses.first().copied(),
            Observation::DeadlinePassed(it) => Some(match it.deadline {
                Deadline::Run { call, .. } => call,
                Deadline::Confirmation { request, .. } => request,
            }),
            Observation::OperatorCancelled(it) => Some(it.call),
            Observation::Disconnected(it) => Some(it.epoch),
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::Connected(_)
            | Observation::GoAwayReceived(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::FunctionCallReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::UserTextSent(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_)
            | Observation::SessionClosed(_) => None,
        }
    }

    /// The objects that must be at hand before this can be folded.
    pub fn objects(&self) -> Vec<ObjectHash> {
        if let Observation::RunnerAttached(it) = self {
            vec![it.catalog, it.policies]
        } else {
            Vec::new()
        }
    }
}
