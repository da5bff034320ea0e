//! The analysis of a session under other policies: each call is decided again.
//!
//! Observations are taken from the record. The decisions that follow are made under the other
//! policies, by the rules of their time. For this, a second session is folded next to the recorded
//! one: the other world. It receives each observation that can have been made there, too.
//!
//! ```text
//! record   call ─▶ allowed ─▶ started ─▶ returned, state written   next call ─▶ allowed
//! other    call ─▶ asked ─▶ (no answer)                            next call ─▶ unknown, if it
//!                                                                                reads that state
//! ```
//!
//! When a call differs between the two worlds, nothing is invented: outcomes that are not recorded
//! are unknown. A later verdict is unknown, too, if it reads something that this call changed:
//!
//! * the state that its tool wrote, and the phase that follows from it,
//! * its result, if equal calls share it,
//! * its count towards a limit that is nearly reached.
//!
//! All other calls are decided. The record does not show what a model says after other responses,
//! nor what a tool reads. Therefore calls are taken as recorded, and [`CallReport::heard`] marks
//! those for which this is an assumption. A recorded run stands for the run in the other world, as
//! long as the arguments are the same. It does so even if the tool would have run earlier. The
//! limit of parallel runs is ignored, because it changes when a call starts and not whether it
//! starts.

mod course;
mod doubt;
mod heard;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Error, Ledger};
use crate::session::{
    Author, CallCancelled, CancelReason, Decision, Event, Fact, Library, Observation, Outcome,
    Phase, PolicyChanges, Request, Seq, Session, SessionId, StateChanged, Timestamp, decide,
    evolve_in_place,
};
use course::CallCourse;
use doubt::Doubt;
pub use report::{CallReport, Report, Standing, Told, Unknown};

/// The number of records in one read.
const PAGE: usize = 1024;

/// Decides a session again under other policies. Calls `read` after each page with its number of
/// records.
///
/// It does not check if the record follows from its own policies; [`verify`](super::verify) does.
///
/// # Errors
/// An error of the journal, such as [`Error::Sealed`] if the session is sealed and its key is
/// missing.
pub async fn what_if(
    ledger: &Ledger,
    session: SessionId,
    changes: &PolicyChanges,
    mut read: impl FnMut(u64),
) -> Result<Report, Error> {
    let mut world = WhatIf::new(session, Library::default(), changes);
    let mut next = Seq(1);
    loop {
        let entries = ledger.entries(session, next, PAGE).await?;
        if entries.is_empty() {
            break;
        }
        read(entries.len() as u64);
        for entry in &entries {
            next = entry.seq.next();
            if ledger.passes_over(entry) {
                continue;
            }
            let fact = entry.fact()?;
            ledger.provide(&mut world.other, &fact).await?;
            world.tell(fact);
        }
    }
    if next == Seq(1) {
        return Err(Error::UnknownSession { session });
    }
    Ok(world.end())
}

/// A what-if analysis of one session, which is fed fact by fact.
///
/// ```
/// use recount::replay::what_if::{Unknown, WhatIf};
/// use recount::session::{GateChange, PolicyChanges, ToolPolicyChanges, Verdict};
/// use recount::testing::{history, toolbox};
/// use serde_json::json;
///
/// let told = history().opened("support").attached(&toolbox().plain("pay")).connected();
/// let told = told.call("c1", "pay", json!({})).returned(json!({"paid": true}));
/// let confirm = Some(GateChange::Closed { hint: None });
/// let gate = ToolPolicyChanges { confirm, ..Default::default() };
/// let changes = PolicyChanges { tools: [("pay".to_owned(), gate)].into(), ..Default::default() };
///
/// let mut world = WhatIf::new(told.session().id, told.session().library().clone(), &changes);
/// told.facts().iter().cloned().for_each(|fact| world.tell(fact));
/// let report = world.end();
/// assert_eq!(report.calls[0].recorded.verdict, Some(Verdict::Allowed));
/// assert_eq!(report.calls[0].under.verdict, Some(Verdict::Ask));
/// assert_eq!(report.calls[0].unknown, Some(Unknown::NobodyAsked));
/// ```
#[derive(Debug)]
pub struct WhatIf<'c> {
    changes: &'c PolicyChanges,
    /// The session in the other world.
    other: Session,
    /// The calls that are open on record.
    courses: BTreeMap<Seq, CallCourse>,
    ended: Vec<CallReport>,
    /// The last recorded observation, and the decisions recorded after it.
    batch: Vec<Fact>,
    doubt: Doubt,
    /// The call of each recorded question.
    requests: BTreeMap<Seq, Seq>,
    /// The first call about which the model would have received another response.
    heard: Option<Seq>,
    /// The tools that were declared.
    tools: BTreeSet<String>,
    /// The calls that the current batch starts in the other world.
    started: Vec<Seq>,
    /// The seq of the next fact that is not recorded.
    unrecorded: Seq,
}

impl<'c> WhatIf<'c> {
    /// An analysis before the first fact. `library` has the catalogs and policies that the facts
    /// name, as they were recorded.
    #[must_use]
    pub fn new(session: SessionId, library: Library, changes: &'c PolicyChanges) -> WhatIf<'c> {
        WhatIf {
            changes,
            other: Session::with_library(session, library),
            courses: BTreeMap::new(),
            ended: Vec::new(),
            batch: Vec::new(),
            doubt: Doubt::default(),
            requests: BTreeMap::new(),
            heard: None,
            tools: BTreeSet::new(),
            started: Vec::new(),
            // Larger than the seq of any record.
            unrecorded: Seq(1 << 60),
        }
    }

    /// Adds the next recorded fact.
    pub fn tell(&mut self, fact: Fact) {
        if let Event::Observed(_) = fact.event {
            self.decide_batch();
        }
        self.batch.push(fact);
    }

    /// Ends the analysis after the last recorded fact.
    #[must_use]
    pub fn end(mut self) -> Report {
        self.decide_batch();
        let open: Vec<Seq> = self.courses.keys().copied().collect();
        for call in open {
            self.conclude(call);
        }
        self.ended.sort_by_key(|call| call.call);
        Report {
            session: self.other.id,
            tools: self.tools,
            calls: self.ended,
        }
    }

    /// Decides the current batch again.
    fn decide_batch(&mut self) {
        let mut batch = std::mem::take(&mut self.batch).into_iter();
        let Some(first) = batch.next() else {
            return;
        };
        let recorded: Vec<Fact> = batch.collect();
        let Event::Observed(observation) = first.event else {
            // A stream begins with an observation, so there is no batch.
            return;
        };
        let at = first.at;
        let is_claim = matches!(observation, Observation::CallClaimed(_));
        self.open_course(first.seq, at, &observation);
        for observation in self.translate(first.seq, at, observation) {
            let (seq, observation) = observation;
            let event = Event::Observed(observation);
            self.observe(seq, at, event, &recorded);
        }
        let mut over = Vec::new();
        for fact in &recorded {
            let Event::Decided(decision) = &fact.event else {
                continue;
            };
            let Some(call) = decision.call() else {
                continue;
            };
            if let Some(course) = self.courses.get_mut(&call) {
                course.on_record(fact.at, decision);
                if let Decision::CallStarted(it) = decision {
                    course.is_at_client = is_claim && it.runner == first.seq;
                }
                if let Some(question) = decision.question() {
                    course.requests.push(fact.seq);
                    course.open_request = Some((fact.seq, Request::asked(question)));
                    self.requests.insert(fact.seq, call);
                }
                if course.recorded.standing.is_end() {
                    over.push(call);
                }
            }
            if let Decision::CallStarted(it) = decision {
                self.doubt.ran(call);
                self.start_in_other_world(fact.at, it);
            }
        }
        for call in std::mem::take(&mut self.started) {
            let attempts = self.attempts(call);
            let early =
                |it: &CallCourse| it.attempts < attempts && it.recorded.verdict != it.under.verdict;
            if self.courses.get(&call).is_some_and(early) {
                self.doubt.runs_early(call);
            }
        }
        over.dedup();
        over.into_iter().for_each(|call| self.conclude(call));
        // A redelivered call is not a call of its own.
        if !self.other.calls.contains_key(&first.seq)
            && self
                .courses
                .get(&first.seq)
                .is_some_and(CallCourse::is_empty)
        {
            self.courses.remove(&first.seq);
        }
    }

    fn open_course(&mut self, seq: Seq, at: Timestamp, observation: &Observation) {
        if let Observation::FunctionCallReceived(it) = observation {
            let of_conversation = it.by.is_none() && it.parent.is_none();
            let heard = self.heard.filter(|_| of_conversation);
            let tool = it.name.clone().unwrap_or_default();
            let course = CallCourse::new(tool, at, !of_conversation, heard);
            self.courses.insert(seq, course);
        }
    }

    /// Folds an event of the other world, and the decisions that follow from it.
    fn observe(&mut self, seq: Seq, at: Timestamp, event: Event, recorded: &[Fact]) {
        let (is_change, is_turn_end) = match &event {
            Event::Observed(Observation::StateChanged(it)) => {
                self.note_writes(it);
                (true, false)
            }
            Event::Observed(Observation::TurnCompleted(_)) => {
                self.doubt.turn_ended();
                (false, true)
            }
            Event::Observed(_) | Event::Decided(_) => (false, false),
        };
        self.fold(seq, at, event);
        if let Some(call) = self.other.calls.get(&seq)
            && let Some(course) = self.courses.get_mut(&seq)
        {
            course.keys = [call.cache_key, call.repeat_key];
        }
        if is_change || is_turn_end {
            self.doubt.phase_looks(&self.other);
        }
        let mut free: Vec<&Fact> = recorded.iter().collect();
        // The limit of decisions in a step; see `session::step`.
        let open = self.other.calls.len() + self.other.deliveries.len();
        let mut left = 16 + 8 * (open + self.other.terms.policies.phases.len());
        while let Some(decision) = decide(&self.other).filter(|_| left > 0) {
            left -= 1;
            if let Decision::PolicyDecided(it) = &decision
                && let Some(call) = self.other.calls.get(&it.call)
                && let Some(because) = self.doubt.of_verdict(&self.other, call, it)
            {
                self.leave_open(it.call, Unknown::DependsOn(because));
                continue;
            }
            // The same decision keeps its recorded seq, because answers and reports refer to it.
            let same = |fact: &&Fact| match &fact.event {
                Event::Decided(it) => it.kind() == decision.kind() && it.call() == decision.call(),
                Event::Observed(_) => false,
            };
            let seq = match free.iter().position(same) {
                Some(place) => free.remove(place).seq,
                None => self.next_unrecorded(),
            };
            if let Some(course) = decision.call().and_then(|it| self.courses.get_mut(&it)) {
                course.in_other_world(at, &decision);
            }
            if let Decision::CallStarted(it) = &decision {
                self.started.push(it.call);
            }
            self.fold(seq, at, Event::Decided(decision));
        }
    }

    fn fold(&mut self, seq: Seq, at: Timestamp, event: Event) {
        let cause = None;
        let fact = Fact {
            seq,
            at,
            cause,
            event,
        };
        evolve_in_place(&mut self.other, &fact);
    }

    fn next_unrecorded(&mut self) -> Seq {
        let seq = self.unrecorded;
        self.unrecorded = seq.next();
        seq
    }

    /// Notes state that was written, or would not have been written.
    fn note_writes(&mut self, it: &StateChanged) {
        let Author::Tool { call, attempt } = it.author else {
            return self.doubt.written(it);
        };
        let runs = self.other.calls.get(&call);
        let runs = runs.is_some_and(|it| it.runs() && it.attempts == attempt);
        // Writes after the end of a run do not count in either world.
        match self.courses.get(&call) {
            Some(_) if runs => self.doubt.written(it),
            Some(course) if course.agrees() => {}
            Some(course) if course.runs_on_record(attempt) => self.doubt.unwritten(it, call),
            Some(_) | None => {}
        }
    }

    /// Compares the two worlds for a call that ended on record, and marks the rest as unknown.
    fn conclude(&mut self, call: Seq) {
        if let Some(why) = self.why_unknown(call) {
            self.leave_open(call, why);
        }
        let Some(mut course) = self.courses.remove(&call) else {
            return;
        };
        let waits = course.waits_for_place();
        if waits && !course.under.standing.is_end() {
            course.under.standing = course.recorded.standing;
        }
        course.recorded.attempts = Some(course.attempts);
        course.under.attempts = match course.unknown {
            None if waits => Some(course.attempts),
            None => Some(self.attempts(call)),
            Some(_) => None,
        };
        let parted = course.unknown.is_some()
            || course.recorded.standing != course.under.standing
            || course.under.attempts < course.recorded.attempts;
        if parted {
            if !course.is_the_programs {
                self.heard = self.heard.or(Some(call));
            }
            if course.unknown.is_some() || !gives_result(course.under.standing) {
                self.doubt.may_answer(course.keys, call);
            }
            if course
                .unknown
                .is_some_and(|why| may_have_run(why, course.attempts))
            {
                self.doubt.ran_unrecorded(call);
            }
            self.other.forget_deliveries(call);
        }
        self.doubt.ran(call);
        for request in &course.requests {
            self.requests.remove(request);
        }
        self.ended.push(course.report(call));
    }

    /// The number of approvals that a question of the other world still needs.
    pub(super) fn missing(&self, request: Seq) -> u32 {
        self.other
            .requests
            .get(&request)
            .map_or(0, Request::missing)
    }

    fn attempts(&self, call: Seq) -> u32 {
        let open = self.other.calls.get(&call).map(|it| it.attempts);
        let settled = || self.other.settled.get(&call).map(|it| it.attempts);
        open.or_else(settled).unwrap_or_default()
    }

    /// The reason why the outcome of a call is unknown at the end of its record.
    fn why_unknown(&self, call: Seq) -> Option<Unknown> {
        let course = self.courses.get(&call)?;
        if course.unknown.is_some() {
            return None;
        }
        if self.attempts(call) > course.attempts && !course.waits_for_place() {
            return Some(Unknown::NoRun);
        }
        let (recorded, under) = (course.recorded.standing, course.under.standing);
        if under == recorded || under.is_end() || course.waits_for_place() {
            return None;
        }
        let asked = course.asked_about;
        Some(match self.other.calls.get(&call).map(|it| &it.phase) {
            Some(Phase::AwaitingConfirmation { request, .. })
                if course.was_answered && self.missing(*request) > 0 =>
            {
                Unknown::ApprovalsMissing(self.missing(*request))
            }
            Some(Phase::AwaitingConfirmation { about, .. }) if asked == Some(*about) => {
                Unknown::AskedLonger
            }
            Some(Phase::AwaitingConfirmation { .. }) => Unknown::NobodyAsked,
            Some(Phase::Running { .. }) => Unknown::RunsOn,
            Some(Phase::AwaitingHook | Phase::AwaitingVerdict) => Unknown::ProgramNotAsked,
            Some(
                Phase::Received
                | Phase::Refused { .. }
                | Phase::Gated
                | Phase::Asking { .. }
                | Phase::Withdrawn
                | Phase::Approved { .. }
                | Phase::Unanswered { .. }
                | Phase::Denied { .. }
                | Phase::Permitted { .. }
                | Phase::Ready { .. }
                | Phase::AwaitingCalls { .. }
                | Phase::InDoubt { .. }
                | Phase::Paused { .. }
                | Phase::Returned { .. }
                | Phase::Retrying { .. }
                | Phase::Supplied { .. }
                | Phase::Found { .. }
                | Phase::TimedOut { .. },
            )
            | None => Unknown::Elsewhere,
        })
    }

    /// Marks the outcome of a call as unknown. The call is cancelled in the other world, so that
    /// nothing there waits for it.
    fn leave_open(&mut self, call: Seq, why: Unknown) {
        let at = self.other.at;
        if let Some(course) = self.courses.get_mut(&call) {
            course.unknown = Some(why);
            course.under.standing = Standing::Unknown;
            if why.may_still_wait() {
                self.doubt.may_wait(&course.tool, call);
            }
            if let Unknown::DependsOn(_) = why {
                course.under = Told {
                    standing: Standing::Unknown,
                    ..Told::default()
                };
                self.doubt.may_count(&course.tool, at, call);
            }
        }
        if self.other.calls.contains_key(&call) {
            let seq = self.next_unrecorded();
            let reason = CancelReason::Operator;
            let gone = Decision::CallCancelled(CallCancelled { call, reason });
            self.fold(seq, at, Event::Decided(gone));
        }
    }
}

/// True if the tool may have run in the other world without a recorded run that stands for it.
fn may_have_run(why: Unknown, attempts_on_record: u32) -> bool {
    match why {
        Unknown::NoRun | Unknown::RunsOn | Unknown::AskedLonger => true,
        Unknown::DependsOn(_)
        | Unknown::NobodyAsked
        | Unknown::ApprovalsMissing(_)
        | Unknown::ProgramNotAsked
        | Unknown::WithoutAnswer
        | Unknown::ApprovedTooFast
        | Unknown::Elsewhere => attempts_on_record == 0,
    }
}

/// True if an equal call could reuse the result.
fn gives_result(standing: Standing) -> bool {
    standing == Standing::Ended(Outcome::Returned)
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail"
)]
#[path = "what_if_tests.rs"]
mod tests;

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
#[path = "asking_tests.rs"]
mod asking_tests;

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
#[path = "approving_tests.rs"]
mod approving_tests;
