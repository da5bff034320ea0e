//! The translation of recorded observations to the other world. Most stay the same. Some get the
//! seq of another question, some follow an earlier deadline, and some are dropped.

use std::sync::Arc;
use std::time::Duration;

use super::course::CallCourse;
use super::{Unknown, WhatIf};
use crate::session::{
    ApprovalGiven, Author, CallStarted, Command, ConfirmationAnswered, Deadline, DeadlinePassed,
    Decision, Event, ObjectHash, Observation, Phase, PolicySet, Rejection, RunnerDetached, Seq,
    Start, Timestamp, ToolConfirmation, admit_at,
};

impl WhatIf<'_> {
    /// Returns the observations of the other world for a recorded one: itself, another one, an
    /// additional one before it, or none.
    pub(super) fn translate(
        &mut self,
        seq: Seq,
        at: Timestamp,
        observation: Observation,
    ) -> Vec<(Seq, Observation)> {
        let mut heard = Vec::with_capacity(1);
        if let Some((call, _)) = reported(&observation)
            && self.has_timed_out(call, at)
            && let Some(attempt) = self.other.calls.get(&call).map(|it| it.attempts)
        {
            let deadline = Deadline::Run { call, attempt };
            heard.push((self.next_unrecorded(), passed(deadline, at)));
        }
        let observation = match observation {
            Observation::RunnerAttached(it) => {
                self.add_terms(it.catalog, it.policies);
                let not_begun = self.early();
                // A renewed attachment puts nothing in doubt.
                if !not_begun.is_empty() && !it.goes_on {
                    let reason = "the runs on record that stand for these begin later".to_owned();
                    let detached = RunnerDetached { reason, not_begun };
                    heard.push((self.next_unrecorded(), detached.into()));
                }
                it.into()
            }
            Observation::CatalogChanged(it) => {
                self.add_terms(it.catalog, it.policies);
                it.into()
            }
            Observation::RunnerDetached(mut it) => {
                for start in &it.not_begun {
                    if let Some(course) = self.courses.get_mut(&start.call) {
                        course.not_begun(*start);
                    }
                }
                it.not_begun.extend(self.early());
                it.into()
            }
            Observation::Paused(it) => {
                for start in &it.not_begun {
                    if let Some(course) = self.courses.get_mut(&start.call) {
                        course.not_begun(*start);
                    }
                }
                it.into()
            }
            Observation::FunctionCallReceived(it) => {
                // An agent that went another way might have made other calls, which are not
                // recorded.
                let agent = it.parent.filter(|agent| {
                    let course = self.courses.get(agent);
                    course.is_some_and(|course| !course.agrees())
                });
                if let Some(agent) = agent {
                    self.leave_open(seq, Unknown::DependsOn(agent));
                    return heard;
                }
                it.into()
            }
            Observation::ToolAsked(it) => {
                // A question of an earlier run stops none.
                let course = self.courses.get_mut(&it.call);
                if let Some(course) = course.filter(|course| course.runs_on_record(it.attempt)) {
                    course.asks_in_place(at, it.in_place);
                }
                it.into()
            }
            Observation::ConfirmationAnswered(it) => {
                match self.translate_answer(at, it, &mut heard) {
                    Some(it) => self.weighed(it),
                    None => return heard,
                }
            }
            Observation::ApprovalGiven(it) => match self.translate_approval(seq, it) {
                Some(it) => self.weighed(it.as_answer()),
                None => return heard,
            },
            Observation::DeadlinePassed(it) => match self.translate_deadline(it.deadline, at) {
                Some(deadline) => passed(deadline, it.due_us),
                None => return heard,
            },
            as_it_is @ (Observation::SessionOpened(_)
            | Observation::RunnerDraining(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::HookAnswered(_)
            | Observation::CallCancellationReceived(_)
            | Observation::LlmAsked(_)
            | Observation::LlmReplied(_)
            | Observation::ToolReturned(_)
            | Observation::ToolYielded(_)
            | Observation::ToolPaused(_)
            | Observation::ToolEventEmitted(_)
            | Observation::StateChanged(_)
            | Observation::AnswerRefused(_)
            | Observation::LeaveRevoked(_)
            | Observation::ResponseSupplied(_)
            | Observation::OutcomeFound(_)
            | Observation::CallClaimed(_)
            | Observation::LeaseRenewed(_)
            | Observation::ClaimEnded(_)
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
            | Observation::OperatorCancelled(_)
            | Observation::Unpaused(_)
            | Observation::SessionClosed(_)) => as_it_is,
        };
        heard.push((seq, observation));
        heard
    }

    /// Translates a recorded answer to the open question of the other world. `None` if that world
    /// has no such question.
    fn translate_answer(
        &mut self,
        at: Timestamp,
        mut it: ConfirmationAnswered,
        heard: &mut Vec<(Seq, Observation)>,
    ) -> Option<ConfirmationAnswered> {
        let call = self.requests.get(&it.request).copied()?;
        let course = self.courses.get_mut(&call)?;
        // The recorded session overlooks an answer to an old or answered question, and one that
        // does not decide its question.
        let asked = course.waits_for(it.request)?;
        if !asked.is_decided_by(&it) {
            return None;
        }
        course.open_request = None;
        course.continues(at);
        let Some(request) = self.question(call) else {
            if it.confirmed && (it.payload.is_some() || it.edited_args.is_some()) {
                self.leave_open(call, Unknown::WithoutAnswer);
            }
            return None;
        };
        if self.is_too_late(call, at) {
            let deadline = Deadline::Confirmation { call, request };
            heard.push((self.next_unrecorded(), passed(deadline, at)));
        }
        it.request = request;
        if heard.is_empty() && self.is_one_too_many(at, &it) {
            self.leave_open(call, Unknown::ApprovedTooFast);
            return None;
        }
        if let Some(course) = self.courses.get_mut(&call) {
            course.was_answered = true;
        }
        Some(it)
    }

    /// A yes of the other world: the answer, or an approval if more of them are needed there.
    fn weighed(&self, it: ConfirmationAnswered) -> Observation {
        if it.confirmed && self.missing(it.request) > 1 {
            ApprovalGiven::from(it).into()
        } else {
            it.into()
        }
    }

    /// Translates a recorded approval that did not decide its question. In the other world it may
    /// decide. `None` if that world has no such question, or if the approval does not count on
    /// record.
    fn translate_approval(&mut self, seq: Seq, mut it: ApprovalGiven) -> Option<ApprovalGiven> {
        let call = self.requests.get(&it.request).copied()?;
        let asked = self.courses.get_mut(&call)?.waits_for(it.request)?;
        if !asked.count(seq, &it) {
            return None;
        }
        it.request = self.question(call)?;
        Some(it)
    }

    /// True if the other world refuses an approval because its approver has given as many in a
    /// minute as allowed there.
    fn is_one_too_many(&self, at: Timestamp, it: &ConfirmationAnswered) -> bool {
        if !it.confirmed || self.other.terms.policies.answers_per_minute.is_none() {
            return false;
        }
        let command = Command::AnswerConfirmation {
            request: it.request,
            answer: Ok(ToolConfirmation::recorded(it.clone(), None)),
            by: it.by.clone(),
        };
        let refused = admit_at(&self.other, at, command);
        matches!(refused, Err(Rejection::TooManyAnswers { .. }))
    }

    /// Adds the policies that a record names, with the changes applied.
    fn add_terms(&mut self, catalog: ObjectHash, policies_at: ObjectHash) {
        let library = self.other.library_mut();
        let catalog = library.catalog(&catalog).cloned().unwrap_or_default();
        let policies = library.policies(&policies_at).cloned().unwrap_or_default();
        self.tools.extend(catalog.tools.keys().cloned());
        let tools = catalog.tools.keys().map(String::as_str);
        // The start of a call is taken from the record, so the limit of parallel runs stays.
        let running_max = policies.running_max;
        let policies = self.changes.applied_to(PolicySet::clone(&policies), tools);
        let policies = PolicySet {
            running_max,
            ..policies
        };
        library.add_policies(policies_at, Arc::new(policies));
    }

    /// Starts a call in the other world together with its recorded run, if it is ready there. Free
    /// slots do not matter.
    pub(super) fn start_in_other_world(&mut self, at: Timestamp, recorded: &CallStarted) {
        let ready = self.other.calls.get(&recorded.call).filter(|call| {
            let next = call.attempts + 1 == recorded.attempt;
            let waits = matches!(
                call.phase,
                Phase::Ready { .. } | Phase::AwaitingCalls { open: 0, .. }
            );
            next && waits
        });
        let Some(limit) = ready.map(|call| self.time_limit(&call.name)) else {
            return;
        };
        let started = Decision::CallStarted(CallStarted {
            deadline_us: limit.map(|limit| at.after(limit)),
            ..recorded.clone()
        });
        if let Some(course) = self.courses.get_mut(&recorded.call) {
            course.in_other_world(at, &started);
        }
        let seq = self.next_unrecorded();
        self.observe(seq, at, Event::Decided(started), &[]);
    }

    /// The time limit of a run of the tool in the other world.
    fn time_limit(&self, tool: &str) -> Option<Duration> {
        let terms = &self.other.terms;
        let policy = terms.policies.of(tool);
        let declared = terms.catalog.tools.get(tool);
        let inline = policy.background.is_none() && declared.is_some_and(|it| it.kind.is_inline());
        policy.timeout.or(terms.policies.timeout.filter(|_| inline))
    }

    /// The runs of the other world whose recorded run has not begun.
    fn early(&self) -> Vec<Start> {
        let runs = |(call, course): (&Seq, &CallCourse)| {
            let attempt = self.other.calls.get(call).filter(|it| it.runs())?.attempts;
            (course.attempts < attempt).then_some(Start {
                call: *call,
                attempt,
            })
        };
        self.courses.iter().filter_map(runs).collect()
    }

    /// The open question about a call in the other world.
    fn question(&self, call: Seq) -> Option<Seq> {
        if let Phase::AwaitingConfirmation { request, about, .. } =
            self.other.calls.get(&call)?.phase
        {
            let same = self
                .courses
                .get(&call)
                .is_some_and(|it| it.asked_about == Some(about));
            return same.then_some(request);
        }
        None
    }

    /// True if the tool reports after its time limit in the other world.
    fn has_timed_out(&self, call: Seq, at: Timestamp) -> bool {
        let runs = self.other.calls.get(&call).filter(|it| it.runs());
        let course = self.courses.get(&call);
        runs.zip(course).is_some_and(|(call, course)| {
            course.runs_on_record(call.attempts) && course.is_over_limit(at)
        })
    }

    /// True if an answer comes after its question in the other world has expired.
    fn is_too_late(&self, call: Seq, at: Timestamp) -> bool {
        let course = self.courses.get(&call);
        course.is_some_and(|it| it.has_expired(at))
    }

    /// The deadline of the other world that passes with this recorded one, if there is one.
    fn translate_deadline(&mut self, deadline: Deadline, at: Timestamp) -> Option<Deadline> {
        match deadline {
            Deadline::Run { call, .. } => {
                let course = self.courses.get(&call)?;
                (course.has_recorded_limit() || course.is_over_limit(at)).then_some(deadline)
            }
            Deadline::Confirmation { call, request } => {
                self.courses.get_mut(&call)?.waits_for(request)?;
                let course = self.courses.get(&call)?;
                let request = self.question(call)?;
                let passed = course.has_recorded_expiry() || course.has_expired(at);
                passed.then_some(Deadline::Confirmation { call, request })
            }
            // A time that has not passed in the other world has no effect there.
            Deadline::Retry { .. } | Deadline::Lease { .. } | Deadline::Acknowledgement { .. } => {
                Some(deadline)
            }
        }
    }
}

fn passed(deadline: Deadline, due_us: Timestamp) -> Observation {
    DeadlinePassed { deadline, due_us }.into()
}

/// The call and the attempt about which a tool reports.
fn reported(observation: &Observation) -> Option<(Seq, u32)> {
    if let Observation::ToolReturned(it) = observation {
        return Some((it.call, it.attempt));
    }
    if let Observation::ToolYielded(it) = observation {
        return Some((it.call, it.attempt));
    }
    if let Observation::ToolPaused(it) = observation {
        return Some((it.call, it.attempt));
    }
    if let Observation::LlmReplied(it) = observation {
        return Some((it.call, it.attempt));
    }
    if let Observation::ToolAsked(it) = observation {
        return Some((it.call, it.attempt));
    }
    if let Observation::StateChanged(it) = observation
        && let Author::Tool { call, attempt } = it.author
    {
        return Some((call, attempt));
    }
    None
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
#[path = "catalog_tests.rs"]
mod catalog_tests;
