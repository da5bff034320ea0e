//! The fold of facts to the rows above the lanes: connections, turns, restarts, the session.

use recount::session::{Event, Fact, Observation, Seq, Speaker};

use super::model::{Band, Index, Mark, MarkKind};

/// The events of a session that belong to no call.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// The connections.
    pub(super) epochs: Vec<Band>,
    /// The turns of the conversation.
    pub(super) turns: Vec<Band>,
    /// Each start of another process, beside the first.
    pub(super) restarts: Vec<Index>,
    /// The words of the user and of the model.
    pub(super) words: Vec<Mark>,
    /// Every other event.
    pub(super) rest: Vec<Mark>,
    /// The connection that is open.
    epoch: Option<Seq>,
    was_attached: bool,
}

impl Surroundings {
    /// Applies the next fact. `is_of_call` is true if a lane has its mark.
    pub(super) fn apply(&mut self, at: Index, fact: &Fact, is_of_call: bool) {
        let kind = match &fact.event {
            Event::Observed(observation) => self.observed(at, fact.seq, observation),
            Event::Decided(_) => MarkKind::Other,
        };
        if is_of_call {
            return;
        }
        let mark = Mark { at, kind };
        match kind {
            MarkKind::User | MarkKind::Model | MarkKind::Turn => self.words.push(mark),
            MarkKind::Other
            | MarkKind::Judged
            | MarkKind::Connection
            | MarkKind::Runner
            | MarkKind::Started
            | MarkKind::Received
            | MarkKind::Returned
            | MarkKind::Asked
            | MarkKind::Answered
            | MarkKind::Sent
            | MarkKind::Response
            | MarkKind::Pause
            | MarkKind::Late
            | MarkKind::Cancelled
            | MarkKind::Closed => self.rest.push(mark),
        }
    }

    fn observed(&mut self, at: Index, seq: Seq, observation: &Observation) -> MarkKind {
        match observation {
            Observation::Connected(_) => {
                self.end_epoch(at, false);
                self.epoch = Some(seq);
                self.epochs.push(begun(at));
                MarkKind::Connection
            }
            Observation::Disconnected(it) => {
                if self.epoch == Some(it.epoch) {
                    // The process was gone before another one could record it.
                    let gone = it.is_of_gone_process();
                    let end = if gone { at.saturating_sub(1) } else { at };
                    self.end_epoch(end, !it.is_of_switch());
                }
                MarkKind::Connection
            }
            Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_) => MarkKind::Connection,
            Observation::RunnerAttached(it) => {
                if self.was_attached && !it.goes_on {
                    self.restarts.push(at);
                }
                self.was_attached = true;
                MarkKind::Runner
            }
            Observation::RunnerDetached(_) | Observation::RunnerDraining(_) => MarkKind::Runner,
            Observation::Paused(_) | Observation::Unpaused(_) => MarkKind::Pause,
            Observation::SessionClosed(_) => {
                self.end_epoch(at, false);
                self.end_turn(at, false);
                MarkKind::Closed
            }
            Observation::UserTextSent(_) => {
                self.in_turn(at);
                MarkKind::User
            }
            Observation::TranscriptReceived(it) => {
                self.in_turn(at);
                match it.speaker {
                    Speaker::User => MarkKind::User,
                    Speaker::Model => MarkKind::Model,
                }
            }
            Observation::ModelOutputReceived(_) => {
                self.in_turn(at);
                MarkKind::Model
            }
            Observation::FunctionCallReceived(it) => {
                // A call of a program or of an agent is no part of the conversation.
                if it.by.is_none() && it.parent.is_none() {
                    self.in_turn(at);
                }
                MarkKind::Other
            }
            Observation::TurnCompleted(_) => {
                self.end_turn(at, false);
                MarkKind::Turn
            }
            Observation::TurnInterrupted(_) => {
                self.end_turn(at, true);
                MarkKind::Turn
            }
            Observation::SessionOpened(_)
            | Observation::CatalogChanged(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::HookAnswered(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ToolReturned(_)
            | Observation::ToolYielded(_)
            | Observation::ToolPaused(_)
            | Observation::ToolAsked(_)
            | Observation::ToolEventEmitted(_)
            | Observation::CallClaimed(_)
            | Observation::LeaseRenewed(_)
            | Observation::ClaimEnded(_)
            | Observation::LlmAsked(_)
            | Observation::LlmReplied(_)
            | Observation::StateChanged(_)
            | Observation::ConfirmationAnswered(_)
            | Observation::ApprovalGiven(_)
            | Observation::AnswerRefused(_)
            | Observation::LeaveRevoked(_)
            | Observation::ResponseSupplied(_)
            | Observation::OutcomeFound(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_)
            | Observation::OperatorCancelled(_) => MarkKind::Other,
        }
    }

    fn end_epoch(&mut self, at: Index, is_cut: bool) {
        if self.epoch.take().is_some() {
            end(self.epochs.last_mut(), at, is_cut);
            // A turn does not outlive its connection.
            self.end_turn(at, true);
        }
    }

    fn in_turn(&mut self, at: Index) {
        if self.turns.last().is_none_or(|it| it.to.is_some()) {
            self.turns.push(begun(at));
        }
    }

    fn end_turn(&mut self, at: Index, is_cut: bool) {
        end(self.turns.last_mut(), at, is_cut);
    }
}

fn begun(at: Index) -> Band {
    Band {
        from: at,
        to: None,
        is_cut: false,
    }
}

fn end(band: Option<&mut Band>, at: Index, is_cut: bool) {
    if let Some(band) = band.filter(|it| it.to.is_none()) {
        band.to = Some(at.max(band.from));
        band.is_cut = is_cut;
    }
}
