//! The fold of facts to lanes: a lane a call, with its states and its events.

use std::collections::{BTreeMap, BTreeSet};

use recount::session::{
    CallStarted, ConfirmationAnswered, Deadline, Decision, Event, Fact, FunctionCallReceived,
    Observation, Outcome, ResponseIssued, ResponsesSent, Route, Seq, Start, ToolReturned, Verdict,
};

use super::model::{Index, Lane, MarkKind, State, Stretch};

/// The lanes of a session, folded from its facts.
#[derive(Debug, Default)]
pub(super) struct Calls {
    lanes: BTreeMap<Seq, Folded>,
    /// The call of each decision about a call, such as a request or a response.
    about: BTreeMap<Seq, Seq>,
    /// The records by which clients claimed calls.
    claims: BTreeSet<Seq>,
}

/// A lane, and what the fold must know beside it.
#[derive(Debug)]
struct Folded {
    lane: Lane,
    wire_id: Option<String>,
    key: Option<String>,
    /// The number of the current start.
    attempt: u32,
    /// True if a client runs the current start.
    at_client: bool,
    /// True if the run waits for the answer to its own question.
    in_place: bool,
}

impl Calls {
    /// Applies the next fact. Returns true if it belongs to a call.
    pub(super) fn apply(&mut self, at: Index, fact: &Fact) -> bool {
        match &fact.event {
            Event::Observed(observation) => self.observed(at, fact.seq, observation),
            Event::Decided(decision) => self.decided(at, fact.seq, decision),
        }
    }

    /// The lanes in the order of their calls.
    ///
    /// A call that was delivered again is a call on record without any event of its own. It becomes
    /// a mark in the lane of the first delivery.
    pub(super) fn lanes(self) -> Vec<Lane> {
        let mut lanes: Vec<Folded> = Vec::with_capacity(self.lanes.len());
        let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
        for folded in self.lanes.into_values() {
            let ids = [
                folded.wire_id.as_ref().map(|id| format!("id {id}")),
                folded.key.as_ref().map(|key| format!("key {key}")),
            ];
            let is_bare = folded.lane.marks.len() == 1;
            let found = ids.iter().flatten().find_map(|id| by_id.get(id)).copied();
            let same = |it: &&mut Folded| is_bare && it.lane.name == folded.lane.name;
            let first = found.and_then(|at| lanes.get_mut(at)).filter(same);
            if let Some(first) = first {
                first.lane.mark(folded.lane.received, MarkKind::Other);
                continue;
            }
            by_id.extend(ids.into_iter().flatten().map(|id| (id, lanes.len())));
            lanes.push(folded);
        }
        lanes.into_iter().map(|it| it.lane).collect()
    }

    fn lane(&mut self, call: Seq) -> Option<&mut Folded> {
        self.lanes.get_mut(&call)
    }

    /// The call that a record is, or is about.
    fn call_of(&self, record: Seq) -> Option<Seq> {
        match self.lanes.contains_key(&record) {
            true => Some(record),
            false => self.about.get(&record).copied(),
        }
    }

    fn decided(&mut self, at: Index, seq: Seq, decision: &Decision) -> bool {
        if let Decision::DeliveryChosen(it) = decision {
            let call = self.about.get(&it.response).copied();
            let lane = call.and_then(|it| self.lane(it));
            let Some(folded) = lane else { return false };
            folded.lane.mark(at, MarkKind::Late);
            return true;
        }
        let Some(call) = decision.call() else {
            return false;
        };
        self.about.insert(seq, call);
        let is_claim = |started: &CallStarted| self.claims.contains(&started.runner);
        let at_client = matches!(decision, Decision::CallStarted(it) if is_claim(it));
        let Some(folded) = self.lane(call) else {
            return false;
        };
        let lane = &mut folded.lane;
        let (state, kind) = match decision {
            Decision::PolicyDecided(it) => match it.verdict {
                Verdict::Allowed | Verdict::Ask | Verdict::AskProgram => {
                    (Some(State::Judged), MarkKind::Judged)
                }
                Verdict::Refused => (None, MarkKind::Judged),
            },
            Decision::GateWaived(_) | Decision::LeaveUsed(_) | Decision::ResultReused(_) => {
                (None, MarkKind::Judged)
            }
            Decision::ConfirmationRequested(_) | Decision::ConfirmationReopened(_) => {
                (Some(State::Waiting), MarkKind::Asked)
            }
            Decision::ConfirmationExpired(_) | Decision::ConfirmationWithdrawn(_) => {
                (Some(State::Judged), MarkKind::Answered)
            }
            Decision::CallReady(_) => (Some(State::Judged), MarkKind::Judged),
            Decision::CallStarted(it) => {
                folded.attempt = it.attempt;
                folded.at_client = at_client;
                folded.in_place = false;
                (Some(State::Running), MarkKind::Started)
            }
            Decision::BackgroundSpawned(_) => (None, MarkKind::Other),
            Decision::RetryScheduled(_) => (Some(State::Judged), MarkKind::Other),
            Decision::CallCancelled(_) => {
                lane.outcome = Some(Outcome::Withdrawn);
                lane.leave(at);
                (None, MarkKind::Cancelled)
            }
            Decision::ResponseIssued(it) => {
                answered(lane, at, it);
                (None, MarkKind::Response)
            }
            Decision::OutcomeReconciled(_) => (None, MarkKind::Response),
            // They name no call, which is seen above.
            Decision::DeliveryChosen(_) | Decision::PhaseEntered(_) => (None, MarkKind::Other),
        };
        lane.mark(at, kind);
        if let Some(state) = state.filter(|_| lane.outcome.is_none()) {
            lane.enter(state, at);
        }
        true
    }

    fn observed(&mut self, at: Index, seq: Seq, observation: &Observation) -> bool {
        match observation {
            Observation::FunctionCallReceived(it) => {
                self.lanes.insert(seq, received(at, seq, it));
                true
            }
            Observation::ResponsesSent(it) => self.sent(at, it),
            Observation::CallCancellationReceived(it) => self.taken_back(at, &it.ids),
            Observation::ConfirmationAnswered(it) => self.confirmed(at, it),
            Observation::ToolReturned(it) => self.returned(at, it),
            Observation::DeadlinePassed(it) => self.overdue(at, it.deadline),
            Observation::RunnerDetached(it) => {
                self.cut_off(at, &it.not_begun);
                false
            }
            Observation::RunnerAttached(it) => {
                if !it.goes_on {
                    self.cut_off(at, &[]);
                }
                false
            }
            Observation::Paused(it) => {
                for start in &it.not_begun {
                    self.enter(start.call, State::Judged, at, MarkKind::Pause);
                }
                false
            }
            Observation::CallClaimed(it) => {
                self.claims.insert(seq);
                self.mark(it.call, at, MarkKind::Other)
            }
            Observation::ClaimEnded(it) => {
                let state = match it.not_begun {
                    true => State::Judged,
                    false => State::InDoubt,
                };
                self.enter(it.call, state, at, MarkKind::Other)
            }
            Observation::ToolPaused(it) => self.enter(it.call, State::Paused, at, MarkKind::Other),
            Observation::ToolAsked(it) => {
                if let Some(folded) = self.lane(it.call) {
                    folded.in_place = it.in_place;
                }
                self.mark(it.call, at, MarkKind::Asked)
            }
            // An agent's model replied with calls; their results come later.
            Observation::LlmReplied(it) => self.enter(it.call, State::Paused, at, MarkKind::Other),
            Observation::LlmAsked(it) => self.enter(it.call, State::Running, at, MarkKind::Other),
            Observation::ResponseSupplied(it) => match it.will_continue {
                true => self.mark(it.call, at, MarkKind::Returned),
                false => self.enter(it.call, State::Judged, at, MarkKind::Returned),
            },
            Observation::OutcomeFound(it) => {
                // Found before the end, it ends the call; found later, it ends the doubt.
                self.enter(it.call, State::Judged, at, MarkKind::Returned);
                let ended = self.lane(it.call).filter(|it| it.lane.outcome.is_some());
                if let Some(folded) = ended {
                    folded.lane.leave(at);
                }
                true
            }
            Observation::OperatorCancelled(it) => self.mark(it.call, at, MarkKind::Cancelled),
            Observation::ApprovalGiven(_) => self.mark_about(at, observation, MarkKind::Answered),
            Observation::HookAnswered(_) => self.mark_about(at, observation, MarkKind::Judged),
            Observation::AnswerRefused(_)
            | Observation::ToolYielded(_)
            | Observation::ToolEventEmitted(_)
            | Observation::StateChanged(_)
            | Observation::LeaseRenewed(_) => self.mark_about(at, observation, MarkKind::Other),
            Observation::SessionOpened(_)
            | Observation::RunnerDraining(_)
            | Observation::CatalogChanged(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::LeaveRevoked(_)
            | Observation::InstructionSent(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::UserTextSent(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_)
            | Observation::SessionClosed(_)
            | Observation::Unpaused(_) => false,
        }
    }

    fn mark_about(&mut self, at: Index, observation: &Observation, kind: MarkKind) -> bool {
        let call = observation.about().and_then(|it| self.call_of(it));
        call.is_some_and(|call| self.mark(call, at, kind))
    }

    fn mark(&mut self, call: Seq, at: Index, kind: MarkKind) -> bool {
        let Some(folded) = self.lane(call) else {
            return false;
        };
        folded.lane.mark(at, kind);
        true
    }

    /// Marks the event and begins the state, unless the call has ended.
    fn enter(&mut self, call: Seq, state: State, at: Index, kind: MarkKind) -> bool {
        let Some(folded) = self.lane(call) else {
            return false;
        };
        folded.lane.mark(at, kind);
        if folded.lane.outcome.is_none() {
            folded.lane.enter(state, at);
        }
        true
    }

    fn confirmed(&mut self, at: Index, it: &ConfirmationAnswered) -> bool {
        let Some(call) = self.call_of(it.request) else {
            return false;
        };
        let runs = self.lane(call).is_some_and(|it| it.in_place);
        let state = if runs { State::Running } else { State::Judged };
        self.enter(call, state, at, MarkKind::Answered)
    }

    fn returned(&mut self, at: Index, it: &ToolReturned) -> bool {
        let Some(folded) = self.lane(it.call) else {
            return false;
        };
        if folded.lane.outcome.is_some() || folded.attempt != it.attempt {
            folded.lane.mark(at, MarkKind::Late);
        } else {
            folded.lane.mark(at, MarkKind::Returned);
            folded.lane.enter(State::Judged, at);
        }
        true
    }

    fn overdue(&mut self, at: Index, deadline: Deadline) -> bool {
        match deadline {
            Deadline::Run { call, .. } => self.enter(call, State::Judged, at, MarkKind::Other),
            Deadline::Lease { call, .. } => self.enter(call, State::InDoubt, at, MarkKind::Other),
            Deadline::Retry { call, .. }
            | Deadline::Confirmation { call, .. }
            | Deadline::Acknowledgement { call } => self.mark(call, at, MarkKind::Other),
        }
    }

    fn sent(&mut self, at: Index, it: &ResponsesSent) -> bool {
        let mut is_of_call = false;
        for response in &it.responses {
            let call = self.about.get(response).copied();
            if let Some(folded) = call.and_then(|it| self.lane(it)) {
                if folded.lane.state() == Some(State::Late) {
                    folded.lane.leave(at);
                }
                folded.lane.mark(at, MarkKind::Sent);
                is_of_call = true;
            }
        }
        is_of_call
    }

    /// Marks the open calls that the model cancels.
    fn taken_back(&mut self, at: Index, ids: &[String]) -> bool {
        let mut is_of_call = false;
        let open = self.lanes.values_mut();
        for folded in open.filter(|it| it.lane.outcome.is_none()) {
            if folded.wire_id.as_ref().is_some_and(|id| ids.contains(id)) {
                folded.lane.mark(at, MarkKind::Cancelled);
                is_of_call = true;
            }
        }
        is_of_call
    }

    /// Ends the runs of a process that is gone.
    fn cut_off(&mut self, at: Index, not_begun: &[Start]) {
        for (call, folded) in &mut self.lanes {
            let state = folded.lane.state();
            let waits_in_run = folded.in_place && state == Some(State::Waiting);
            let runs = state == Some(State::Running) || waits_in_run;
            if !runs || folded.at_client || folded.lane.outcome.is_some() {
                continue;
            }
            folded.in_place = false;
            let is_taken_back = not_begun.iter().any(|it| it.call == *call);
            let next = match is_taken_back {
                true => State::Judged,
                false => State::InDoubt,
            };
            folded.lane.enter(next, at);
        }
    }
}

fn received(at: Index, seq: Seq, it: &FunctionCallReceived) -> Folded {
    let mut lane = Lane {
        call: seq,
        name: it.name.clone().unwrap_or_default(),
        is_nested: it.parent.is_some(),
        received: at,
        stretches: Vec::new(),
        marks: Vec::new(),
        outcome: None,
    };
    lane.mark(at, MarkKind::Received);
    lane.enter(State::Received, at);
    Folded {
        lane,
        wire_id: it.id.clone(),
        key: it.key.clone(),
        attempt: 0,
        at_client: false,
        in_place: false,
    }
}

/// Ends the call, unless the response is news of an open one.
fn answered(lane: &mut Lane, at: Index, it: &ResponseIssued) {
    if it.outcome == Outcome::Interim {
        return;
    }
    lane.outcome = Some(it.outcome);
    lane.leave(at);
    let is_late = match it.route {
        Route::ToolResponse { .. } | Route::Caller | Route::Parent | Route::Notify => false,
        Route::Conversation { .. } | Route::Parked | Route::Connect => true,
    };
    let tail = match (it.outcome, is_late) {
        (Outcome::Unknown, _) => State::InDoubt,
        (_, true) => State::Late,
        (_, false) => return,
    };
    lane.stretches.push(Stretch {
        state: tail,
        from: at,
        to: None,
    });
}
