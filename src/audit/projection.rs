//! A projection of one session to the rows of its calls.
//!
//! The projection also folds the session. From the folded session it reads which records are new
//! calls, the permission and arguments of each run, and the phase of each open call.

use std::collections::BTreeMap;

use super::audited_call::{
    AuditedCall, Cancellation, End, Held, LeaveUse, PolicyVerdict, ProgramWord, Reconciliation,
    Run, Waiver,
};
use super::catalog_note::CatalogNote;
use super::question::{QuestionEnd, RefusedAnswer};
use super::verdict::Verdict;
use super::window::{Window, is_final};
use crate::session::{
    Actor, Catalog, Deadline, Decision, Event, Fact, Finding, FunctionCallReceived, Gates, Hook,
    HookAnswered, Leave, ObjectHash, Observation, Outcome, OutcomeFound, Phase, Seq, Session,
    SessionOpened, Start, evolve,
};

/// The calls of a session, up to the last applied fact.
pub(super) struct CallProjection {
    /// The folded session. It must have the objects that a fact names before the fact is applied.
    pub(super) session: Session,
    sealed: bool,
    opened: Option<SessionOpened>,
    pub(super) calls: BTreeMap<Seq, AuditedCall>,
    /// The calls that are kept.
    pub(super) window: Window,
    /// The changes of the session's tools while it lived.
    pub(super) catalogs: Vec<CatalogNote>,
    /// The call of each confirmation request.
    pub(super) questions: BTreeMap<Seq, Seq>,
}

impl CallProjection {
    /// Creates an empty projection.
    pub(super) fn new(session: Session, sealed: bool, window: Window) -> CallProjection {
        CallProjection {
            session,
            sealed,
            opened: None,
            calls: BTreeMap::new(),
            window,
            catalogs: Vec::new(),
            questions: BTreeMap::new(),
        }
    }

    /// Applies the next fact, whose record has this hash.
    pub(super) fn apply(mut self, fact: &Fact, hash: ObjectHash) -> CallProjection {
        // An observation begins a batch, so what is held now was held at the end of the last one.
        if let Event::Observed(_) = &fact.event {
            self.note_held();
        }
        let before = self.session.terms.catalog.clone();
        self.session = evolve(self.session, fact);
        match &fact.event {
            Event::Observed(observation) => self.observed(observation, fact, hash, &before),
            Event::Decided(decision) => self.decided(decision, fact),
        }
        self
    }

    /// True if no further record changes the kept calls.
    pub(super) fn is_final(&self) -> bool {
        self.window.is_full() && self.calls.values().all(is_final)
    }

    /// Returns the rows, in the order of the calls.
    pub(super) fn rows(mut self) -> impl Iterator<Item = AuditedCall> {
        self.note_held();
        let CallProjection { session, calls, .. } = self;
        calls.into_values().map(move |mut call| {
            let open = session.calls.get(&call.seq);
            call.waits_as = open.map(|it| it.phase.name());
            call.verdict = Verdict::of(&call);
            let questions = &call.questions;
            let is_program = |request| {
                let question = questions.iter().find(|it| it.seq == request);
                question.is_some_and(|it| it.by.as_ref().is_some_and(Actor::is_program))
            };
            let confirmed = |run: &Run| match run.leave {
                Leave::Approved(request) => !is_program(request),
                // Only a person gives a leave.
                Leave::Standing(_) => true,
                Leave::NotGated | Leave::Waived | Leave::Unanswered(_) => false,
            };
            call.ran_without_confirmation = !call.runs.iter().all(confirmed);
            call
        })
    }

    fn observed(
        &mut self,
        observation: &Observation,
        fact: &Fact,
        hash: ObjectHash,
        before: &Catalog,
    ) {
        match observation {
            Observation::SessionOpened(it) => self.opened = Some(it.clone()),
            Observation::FunctionCallReceived(it) => self.received(it, fact, hash),
            Observation::HookAnswered(it) => self.hook_answered(it, fact),
            Observation::ToolReturned(it) => {
                self.run_ended(it.call, it.attempt, fact);
                if let Some(call) = self.calls.get_mut(&it.call).filter(|it| it.ended.is_none()) {
                    call.error_kind = it.error_kind.clone();
                }
            }
            Observation::ToolPaused(it) => self.run_ended(it.call, it.attempt, fact),
            // The reply itself is recorded elsewhere. A run that waits for its own calls has ended.
            Observation::LlmReplied(it) => {
                if it.calls() > 0 {
                    self.run_ended(it.call, it.attempt, fact);
                }
            }
            Observation::ToolAsked(it) if !it.in_place => {
                self.run_ended(it.call, it.attempt, fact);
            }
            Observation::DeadlinePassed(it) => match it.deadline {
                Deadline::Run { call, attempt } => self.run_ended(call, attempt, fact),
                // The end of a lease that was renewed meanwhile ends no run.
                Deadline::Lease { call, attempt } if !self.runs(call, attempt) => {
                    self.run_ended(call, attempt, fact);
                }
                Deadline::Lease { .. } => {}
                Deadline::Confirmation { .. }
                | Deadline::Retry { .. }
                | Deadline::Acknowledgement { .. } => {}
            },
            // It was the end of another claim, so the run continues.
            Observation::ClaimEnded(it) if self.runs(it.call, it.attempt) => {}
            Observation::ClaimEnded(it) if !it.not_begun => {
                self.run_ended(it.call, it.attempt, fact);
            }
            // The client did not begin, so nothing ran.
            Observation::ClaimEnded(it) => {
                if let Some(call) = self.calls.get_mut(&it.call) {
                    let given_back =
                        |run: &Run| run.attempt == it.attempt && run.ended_at.is_none();
                    call.runs.retain(|run| !given_back(run));
                }
            }
            Observation::RunnerDetached(it) => self.not_begun(&it.not_begun),
            Observation::Paused(it) => self.not_begun(&it.not_begun),
            Observation::ConfirmationAnswered(it) => self.answered(it, fact),
            Observation::ApprovalGiven(it) => self.approved(it, fact),
            Observation::AnswerRefused(it) => {
                if let Some(question) = self.question(it.request) {
                    question.refused.push(RefusedAnswer {
                        at: fact.at,
                        refusal: it.refusal.clone(),
                        by: it.by.clone(),
                        last_recorded: it.last_recorded,
                    });
                }
            }
            Observation::ResponseSupplied(it) if !it.will_continue => {
                if let Some(call) = self.calls.get_mut(&it.call) {
                    call.supplied_by = Some(it.by.clone());
                }
            }
            Observation::OutcomeFound(it) => self.outcome_found(it, fact),
            Observation::OperatorCancelled(it) => {
                if let Some(call) = self.calls.get_mut(&it.call) {
                    call.cancelled = Some(Cancellation {
                        at: fact.at,
                        by: Some(it.by.clone()),
                        reason: it.reason.clone(),
                    });
                }
            }
            Observation::CatalogChanged(_) => {
                let session = &self.session;
                let note = CatalogNote::of(session.id, fact, before, &session.terms.catalog);
                self.catalogs.push(note);
            }
            Observation::RunnerAttached(_)
            | Observation::Unpaused(_)
            | Observation::RunnerDraining(_)
            | Observation::CallClaimed(_)
            | Observation::LeaseRenewed(_)
            | Observation::LeaveRevoked(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::CallCancellationReceived(_)
            | Observation::LlmAsked(_)
            | Observation::ToolYielded(_)
            | Observation::ToolAsked(_)
            | Observation::ToolEventEmitted(_)
            | Observation::StateChanged(_)
            | Observation::ResponseSupplied(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::UserTextSent(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_)
            | Observation::SessionClosed(_) => {}
        }
    }

    fn hook_answered(&mut self, it: &HookAnswered, fact: &Fact) {
        let says = match it.hook {
            Hook::OnToolCall => it.response.is_some() || it.failure.is_some(),
            Hook::ConfirmWhen => true,
            // This hook changes the response to the model, but decides nothing about the call.
            Hook::BeforeToolResponse => false,
        };
        if let Some(call) = self.calls.get_mut(&it.call).filter(|_| says) {
            call.program.push(ProgramWord {
                seq: fact.seq,
                at: fact.at,
                hook: it.hook,
                answered: it.response.is_some(),
                gated: it.gated,
                failure: it.failure.clone(),
                by: it.by.clone(),
            });
        }
    }

    fn outcome_found(&mut self, it: &OutcomeFound, fact: &Fact) {
        if let Some(call) = self.calls.get_mut(&it.call) {
            // The late result of a client ends the call itself.
            if call.ended.is_none() {
                call.supplied_by = Some(it.by.clone());
                return;
            }
            call.reconciled = Some(Reconciliation {
                seq: fact.seq,
                at: fact.at,
                found: it.found.found_as(),
                reason: match &it.found {
                    Finding::Done(_) => None,
                    Finding::Failed(reason) => Some(reason.clone()),
                },
                by: it.by.clone(),
            });
        }
    }

    fn decided(&mut self, decision: &Decision, fact: &Fact) {
        let Fact { seq, at, .. } = *fact;
        let about = decision.call();
        let Some(call) = about.and_then(|it| self.calls.get_mut(&it)) else {
            return;
        };
        match decision {
            Decision::PolicyDecided(it) => {
                call.gates = self.session.terms.gates.clone();
                call.policy = Some(PolicyVerdict {
                    seq,
                    verdict: it.verdict,
                    rule: it.rule,
                    reason: it.reason.clone(),
                    policies: it.policies,
                    inputs: it.inputs.clone(),
                });
            }
            Decision::GateWaived(it) => {
                call.waived = Some(Waiver {
                    seq,
                    reason: it.reason.clone(),
                    unanswered: it.unanswered,
                });
            }
            Decision::LeaveUsed(it) => {
                let leave = self.session.leaves.get(&it.leave);
                call.leave = Some(LeaveUse {
                    seq,
                    given: it.leave,
                    by: leave.map(|it| it.by.clone()).unwrap_or_default(),
                    nth: it.nth,
                    count: it.count,
                    until: it.until_us,
                });
            }
            Decision::ConfirmationRequested(it) => self.asked(it, fact),
            Decision::ConfirmationReopened(it) => {
                if let Some(question) = self.question(it.request) {
                    question.ends(QuestionEnd::Superseded, seq, at);
                    question.superseded_by = Some(seq);
                }
                self.asked(&it.question, fact);
            }
            Decision::ConfirmationExpired(it) => {
                if let Some(question) = self.question(it.request) {
                    question.ends(QuestionEnd::of_expiry(it.goes_on), seq, at);
                }
            }
            Decision::ConfirmationWithdrawn(it) => {
                if let Some(question) = self.question(it.request)
                    && question.ends(QuestionEnd::Withdrawn, seq, at)
                {
                    question.reason = Some(it.reason.in_words().to_owned());
                }
            }
            Decision::CallStarted(it) => {
                let open = self.session.calls.get(&it.call);
                if let Some(Phase::Running { leave, .. }) = open.map(|it| &it.phase) {
                    call.runs.push(Run {
                        seq,
                        attempt: it.attempt,
                        leave: *leave,
                        request: match leave {
                            Leave::Approved(request) | Leave::Unanswered(request) => Some(*request),
                            Leave::NotGated | Leave::Waived | Leave::Standing(_) => None,
                        },
                        claimed_by: open.and_then(|it| Some(it.held_claim()?.by.clone())),
                        started_at: at,
                        ended_at: None,
                    });
                }
            }
            Decision::ResultReused(it) => call.reused = Some(it.of),
            Decision::CallCancelled(it) => {
                call.ended = Some(End {
                    seq,
                    at,
                    outcome: Outcome::Withdrawn,
                    of: None,
                });
                let reason = Some(it.reason.in_words().to_owned());
                let by = None;
                call.cancelled
                    .get_or_insert(Cancellation { at, by, reason });
            }
            Decision::ResponseIssued(it) if it.outcome != Outcome::Interim => {
                call.ended = Some(End {
                    seq,
                    at,
                    outcome: it.outcome,
                    of: it.of,
                });
            }
            Decision::ResponseIssued(_)
            | Decision::CallReady(_)
            | Decision::BackgroundSpawned(_)
            | Decision::RetryScheduled(_)
            | Decision::OutcomeReconciled(_)
            | Decision::DeliveryChosen(_)
            | Decision::PhaseEntered(_) => {}
        }
    }

    /// Notes the pauses that hold calls which could start otherwise.
    fn note_held(&mut self) {
        if self.session.pauses.is_empty() {
            return;
        }
        for (seq, open) in self.session.calls.iter() {
            let may_start = matches!(
                open.phase,
                Phase::Ready { .. } | Phase::InDoubt { .. } | Phase::AwaitingCalls { open: 0, .. }
            );
            let Some(call) = self.calls.get_mut(seq).filter(|_| may_start) else {
                continue;
            };
            let pauses = self.session.pauses.iter();
            for pause in pauses.filter(|it| self.session.is_covered(&it.scope, open)) {
                if call.held.iter().all(|it| it.seq != pause.at) {
                    call.held.push(Held {
                        seq: pause.at,
                        scope: pause.scope.clone(),
                        by: pause.by.clone(),
                        reason: pause.reason.clone(),
                    });
                }
            }
        }
    }

    /// Removes starts on record that never happened. The next start uses the attempt number.
    ///
    /// A runner takes back only its own newest start: a client's run continues.
    fn not_begun(&mut self, starts: &[Start]) {
        for start in starts {
            let open = self.session.calls.get(&start.call);
            let taken_back = open.is_some_and(|it| it.attempts < start.attempt);
            if let Some(call) = self.calls.get_mut(&start.call).filter(|_| taken_back) {
                call.runs.retain(|run| run.attempt != start.attempt);
            }
        }
    }

    /// True if this start of the call runs, as the folded session has it.
    fn runs(&self, call: Seq, started: u32) -> bool {
        let phase = self.session.calls.get(&call).map(|it| &it.phase);
        matches!(phase, Some(Phase::Running { attempt, .. }) if *attempt == started)
    }

    fn received(&mut self, it: &FunctionCallReceived, fact: &Fact, hash: ObjectHash) {
        // A redelivery is recorded, but is not another call.
        if !self.session.calls.contains_key(&fact.seq) || !self.window.takes(fact.seq, it) {
            return;
        }
        let session = self.session.id;
        let opened = self.opened.as_ref();
        let malformed = it.malformed_args.as_ref().map(|it| it.problem.clone());
        let call = AuditedCall {
            session,
            agent: opened.map(|it| it.agent.clone()).unwrap_or_default(),
            external_id: opened.and_then(|it| it.external_id.clone()),
            labels: opened.map(|it| it.labels.clone()).unwrap_or_default(),
            on_behalf_of: opened.and_then(|it| it.on_behalf_of.clone()),
            sealed: self.sealed,
            seq: fact.seq,
            id: session.call_id(fact.seq),
            hash,
            wire_id: it.id.clone(),
            called_at: fact.at,
            called_by: it.by.clone(),
            key: it.key.clone(),
            parent: it.parent,
            tool: it.name.clone().unwrap_or_default(),
            args: it.args.clone(),
            malformed_args: it.malformed_args.as_ref().map(|it| it.text.clone()),
            sealed_args: it.sealed_args.clone(),
            flaw: malformed.or_else(|| it.invalid_args.clone()),
            edited_args: None,
            verdict: Verdict::Undecided,
            policy: None,
            gates: Gates::enforced(),
            waived: None,
            leave: None,
            program: Vec::new(),
            questions: Vec::new(),
            runs: Vec::new(),
            ran_without_confirmation: false,
            reused: None,
            error_kind: None,
            supplied_by: None,
            cancelled: None,
            ended: None,
            waits_as: None,
            reconciled: None,
            held: Vec::new(),
        };
        self.calls.insert(fact.seq, call);
    }

    /// Sets the end of a run that reported its end or reached its deadline. Later reports change
    /// nothing.
    fn run_ended(&mut self, call: Seq, attempt: u32, fact: &Fact) {
        let runs = self.calls.get_mut(&call).map(|it| &mut it.runs);
        let run = runs.and_then(|it| it.iter_mut().find(|it| it.attempt == attempt));
        if let Some(run) = run.filter(|it| it.ended_at.is_none()) {
            run.ended_at = Some(fact.at);
        }
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "projected_verdicts_tests.rs"]
mod projected_verdicts_tests;

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
#[path = "claimed_tests.rs"]
mod claimed_tests;

#[cfg(test)]
#[path = "held_tests.rs"]
mod held_tests;

#[cfg(test)]
#[path = "forged_tests.rs"]
mod forged_tests;
