//! One event as one sentence, the same in every command.

use super::decision::decided;
use super::names::Names;
use super::{call, claim, conversation, person, session};
use crate::text::one_line;
use crate::tone::Tone;
use recount::session::{Event, Observation};

/// The sentence about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence, on one line.
    pub text: String,
    /// The kind of the sentence, which decides on its colour.
    pub tone: Tone,
}

/// Returns the sentence about an event.
pub fn sentence(event: &Event, names: &Names) -> Sentence {
    let (text, tone) = match event {
        Event::Observed(observation) => observed(observation, names),
        Event::Decided(decision) => decided(decision, names),
    };
    Sentence {
        text: one_line(&text).into_owned(),
        tone,
    }
}

fn observed(observation: &Observation, names: &Names) -> (String, Tone) {
    match observation {
        Observation::SessionOpened(it) => session::session_opened(it),
        Observation::RunnerAttached(it) => session::runner_attached(it),
        Observation::CatalogChanged(it) => session::catalog_changed(it),
        Observation::RunnerDetached(it) => session::runner_detached(it),
        Observation::RunnerDraining(it) => session::runner_draining(it),
        Observation::Connected(it) => session::connected(it),
        Observation::SwitchPlanned(_) => (
            "will change to another connection, once no call is in flight".to_owned(),
            Tone::Quiet,
        ),
        Observation::ReconnectScheduled(it) => session::reconnect_scheduled(it),
        Observation::ConnectFailed(it) => session::connect_failed(it),
        Observation::ReconnectsExhausted(it) => session::reconnects_exhausted(it),
        Observation::HistorySent(it) => conversation::history_sent(it),
        Observation::Disconnected(it) => session::disconnected(it),
        Observation::GoAwayReceived(it) => session::go_away_received(it),
        Observation::ResumptionHandleReceived(it) => session::resumption_handle_received(it),
        Observation::FunctionCallReceived(it) => call::function_call_received(it),
        Observation::HookAnswered(it) => call::hook_answered(it, names),
        Observation::CallCancellationReceived(it) => call::call_cancellation_received(it),
        Observation::ToolReturned(it) => call::tool_returned(it, names),
        Observation::ToolYielded(it) => call::tool_yielded(it, names),
        Observation::ToolEventEmitted(it) => call::tool_event_emitted(it, names),
        Observation::StateChanged(it) => call::state_changed(it, names),
        Observation::InstructionSent(_) => (
            "instruction of the phase sent to the model".to_owned(),
            Tone::Quiet,
        ),
        Observation::ToolAsked(it) => call::tool_asked(it, names),
        Observation::LlmAsked(it) => call::llm_asked(it, names),
        Observation::LlmReplied(it) => call::llm_replied(it, names),
        Observation::ToolPaused(it) => call::tool_paused(it, names),
        Observation::ConfirmationAnswered(it) => person::confirmation_answered(it, names),
        Observation::ApprovalGiven(it) => person::approval_given(it, names),
        Observation::AnswerRefused(it) => person::answer_refused(it, names),
        Observation::LeaveRevoked(it) => person::leave_revoked(it, names),
        Observation::ResponseSupplied(it) => person::response_supplied(it, names),
        Observation::CallClaimed(it) => claim::call_claimed(it, names),
        Observation::LeaseRenewed(it) => claim::lease_renewed(it, names),
        Observation::ClaimEnded(it) => claim::claim_ended(it, names),
        Observation::OutcomeFound(it) => person::outcome_found(it, names),
        Observation::ResponsesSent(it) => conversation::responses_sent(it, names),
        Observation::DeadlinePassed(it) => call::deadline_passed(it, names),
        Observation::ModelOutputReceived(it) => (format!("“{}”", it.text), Tone::Speech),
        Observation::TranscriptReceived(it) => conversation::transcript_received(it),
        Observation::UserTextSent(it) => (format!("“{}”", it.text), Tone::Speech),
        Observation::TurnCompleted(it) => conversation::turn_completed(it),
        Observation::TurnInterrupted(_) => ("turn interrupted".to_owned(), Tone::Quiet),
        Observation::MediaCounted(it) => conversation::media_counted(it),
        Observation::UsageReported(it) => {
            (format!("token usage {}", it.usage.as_str()), Tone::Quiet)
        }
        Observation::FrameRejected(it) => session::frame_rejected(it),
        Observation::OperatorCancelled(it) => person::operator_cancelled(it, names),
        Observation::SessionClosed(it) => session::session_closed(it),
        Observation::Paused(it) => person::paused(it),
        Observation::Unpaused(it) => person::unpaused(it),
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
