//! What if: a session decided again under other policies.
//!
//! What the world did is taken from the record, and what follows from it is decided under the other
//! policies by the rules of its time. Beside the record goes a second session, the other world. It
//! hears every observation that can have been made there too.
//!
//! ```text
//! record   call ─▶ allowed ─▶ started ─▶ returned, state written ─▶ told      next call ─▶ allowed
//! other    call ─▶ asked ──────────────▶ (nobody answers)                    next call ─▶ unknown, if it reads that state
//! ```
//!
//! Where the two worlds part for a call, nothing is invented: what the record does not tell stays
//! unknown, and so does every later verdict that would have read what this call changed (the state
//! that its tool wrote, the phase that came of it, its result where equal calls share it, its place
//! in a limit that is near). Everything else goes on. What a model says after it heard something
//! else, and what a tool reads inside, is on no record: calls are taken as they came, and
//! [`CallReport::heard`] says where that is an assumption. A run that is on record stands for the
//! run in the other world as long as the tool runs there with the same arguments, also where it
//! would have run earlier. How many calls may run at the same time changes when a call starts and
//! not whether, so it is left out of account.

mod doubt;
mod heard;
mod report;
mod story;

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Error, Ledger};
use crate::session::{
    Author, CallCancelled, CancelReason, Decision, Event, Fact, Library, Observation, Outcome,
    Phase, PolicyChanges, Seq, Session, SessionId, StateChanged, Timestamp, decide,
    evolve_in_place,
};
use doubt::Doubt;
pub use report::{CallReport, Report, Standing, Told, Unknown};
use story::Story;

/// How many records are read at a time.
const PAGE: usize = 1024;

/// Decides a session again under other policies; `read` is told after each page how many records
/// were read.
///
/// Whether the record follows from its own policies is not looked at here; see
/// [`verify`](super::verify).
///
/// # Errors
/// Whatever keeps the journal from being read, such as [`Error::Sealed`] where the session is
/// sealed and its key is not here.
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

/// A session on its way through other policies, fact by fact.
///
/// ```
/// use recount::replay::what_if::{Unknown, WhatIf};
/// use recount::session::{GateChange, PolicyChanges, ToolPolicyChanges, Verdict};
/// use recount::testing::{history, toolbox};
/// use serde_json::json;
///
/// let told = history().opened("support").attached(&toolbox().plain("pay")).connected();
/// let told = told.call("c1", "pay", json!({})).returned(json!({"paid": true}));
/// let gate = ToolPolicyChanges { confirm: Some(GateChange::Closed { hint: None }), ..Default::default() };
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
    /// The calls that have not ended on record.
    stories: BTreeMap<Seq, Story>,
    ended: Vec<CallReport>,
    /// The observation last told, and what was decided on record because of it.
    batch: Vec<Fact>,
    doubt: Doubt,
    /// The questions on record, by the call they are about.
    requests: BTreeMap<Seq, Seq>,
    /// The first call of which the model heard what it would not have heard.
    heard: Option<Seq>,
    /// The tools that were declared.
    tools: BTreeSet<String>,
    /// The calls that the batch starts in the other world.
    started: Vec<Seq>,
    /// The number of the next fact that is on no record.
    unrecorded: Seq,
}

impl<'c> WhatIf<'c> {
    /// Nothing is told yet. `library` has the catalogs and policies that the facts name, with the
    /// policies of their time.
    #[must_use]
    pub fn new(session: SessionId, library: Library, changes: &'c PolicyChanges) -> WhatIf<'c> {
        WhatIf {
            changes,
            other: Session::with_library(session, library),
            stories: BTreeMap::new(),
            ended: Vec::new(),
            batch: Vec::new(),
            doubt: Doubt::default(),
            requests: BTreeMap::new(),
            heard: None,
            tools: BTreeSet::new(),
            started: Vec::new(),
            // No record has such a number, and what has it stands behind all that is on record.
            unrecorded: Seq(1 << 60),
        }
    }

    /// The next fact on record.
    pub fn tell(&mut self, fact: Fact) {
        if let Event::Observed(_) = fact.event {
            self.retell();
        }
        self.batch.push(fact);
    }

    /// Nothing more is on record.
    #[must_use]
    pub fn end(mut self) -> Report {
        self.retell();
        let open: Vec<Seq> = self.stories.keys().copied().collect();
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

    /// Decides the batch again.
    fn retell(&mut self) {
        let mut batch = std::mem::take(&mut self.batch).into_iter();
        let Some(first) = batch.next() else {
            return;
        };
        let recorded: Vec<Fact> = batch.collect();
        let Event::Observed(observation) = first.event else {
            // A stream begins with an observation, so there is nothing to decide.
            return;
        };
        let at = first.at;
        self.open_story(first.seq, at, &observation);
        for observation in self.heard_there(first.seq, at, observation) {
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
            if let Some(story) = self.stories.get_mut(&call) {
                story.on_record(fact.at, decision);
                if decision.question().is_some() {
                    story.requests.push(fact.seq);
                    story.open_request = Some(fact.seq);
                    self.requests.insert(fact.seq, call);
                }
                if story.recorded.standing.is_end() {
                    over.push(call);
                }
            }
            if let Decision::CallStarted(it) = decision {
                self.doubt.ran(call);
                self.start_there(fact.at, it);
            }
        }
        for call in std::mem::take(&mut self.started) {
            let attempts = self.attempts(call);
            let early =
                |it: &Story| it.attempts < attempts && it.recorded.verdict != it.under.verdict;
            if self.stories.get(&call).is_some_and(early) {
                self.doubt.runs_early(call);
            }
        }
        over.dedup();
        over.into_iter().for_each(|call| self.conclude(call));
        // What was delivered again is no call of its own.
        if !self.other.calls.contains_key(&first.seq)
            && self.stories.get(&first.seq).is_some_and(Story::is_empty)
        {
            self.stories.remove(&first.seq);
        }
    }

    fn open_story(&mut self, seq: Seq, at: Timestamp, observation: &Observation) {
        if let Observation::FunctionCallReceived(it) = observation {
            let of_conversation = it.by.is_none() && it.parent.is_none();
            let heard = self.heard.filter(|_| of_conversation);
            let tool = it.name.clone().unwrap_or_default();
            let story = Story::new(tool, at, !of_conversation, heard);
            self.stories.insert(seq, story);
        }
    }

    /// Folds what happens in the other world, and what follows from it there.
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
            && let Some(story) = self.stories.get_mut(&seq)
        {
            story.keys = [call.cache_key, call.repeat_key];
        }
        if is_change || is_turn_end {
            self.doubt.phase_looks(&self.other);
        }
        let mut free: Vec<&Fact> = recorded.iter().collect();
        // As many as a step may take; see `session::step`.
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
            // The same decision has the same number, because answers and reports go by it.
            let same = |fact: &&Fact| match &fact.event {
                Event::Decided(it) => it.kind() == decision.kind() && it.call() == decision.call(),
                Event::Observed(_) => false,
            };
            let seq = match free.iter().position(same) {
                Some(place) => free.remove(place).seq,
                None => self.next_unrecorded(),
            };
            if let Some(story) = decision.call().and_then(|it| self.stories.get_mut(&it)) {
                story.in_the_other_world(at, &decision);
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

    /// The state that is written, and that would not have been.
    fn note_writes(&mut self, it: &StateChanged) {
        let Author::Tool { call, attempt } = it.author else {
            return self.doubt.written(it);
        };
        let runs = self.other.calls.get(&call);
        let runs = runs.is_some_and(|it| it.runs() && it.attempts == attempt);
        // What comes after the end of a run counts nowhere.
        match self.stories.get(&call) {
            Some(_) if runs => self.doubt.written(it),
            Some(story) if story.agrees() => {}
            Some(story) if story.runs_on_record(attempt) => self.doubt.unwritten(it, call),
            Some(_) | None => {}
        }
    }

    /// The call ended on record: what the two worlds have of it is compared, and what the record
    /// does not tell is left open.
    fn conclude(&mut self, call: Seq) {
        if let Some(why) = self.why_unknown(call) {
            self.leave_open(call, why);
        }
        let Some(mut story) = self.stories.remove(&call) else {
            return;
        };
        let waits = story.waits_for_place();
        if waits && !story.under.standing.is_end() {
            story.under.standing = story.recorded.standing;
        }
        story.recorded.attempts = Some(story.attempts);
        story.under.attempts = match story.unknown {
            None if waits => Some(story.attempts),
            None => Some(self.attempts(call)),
            Some(_) => None,
        };
        let parted = story.unknown.is_some()
            || story.recorded.standing != story.under.standing
            || story.under.attempts < story.recorded.attempts;
        if parted {
            if !story.is_the_programs {
                self.heard = self.heard.or(Some(call));
            }
            if story.unknown.is_some() || !gives_result(story.under.standing) {
                self.doubt.may_answer(story.keys, call);
            }
            if story
                .unknown
                .is_some_and(|why| may_have_run(why, story.attempts))
            {
                self.doubt.ran_unrecorded(call);
            }
            self.other.forget_deliveries(call);
        }
        self.doubt.ran(call);
        for request in &story.requests {
            self.requests.remove(request);
        }
        self.ended.push(story.report(call));
    }

    fn attempts(&self, call: Seq) -> u32 {
        let open = self.other.calls.get(&call).map(|it| it.attempts);
        let settled = || self.other.settled.get(&call).map(|it| it.attempts);
        open.or_else(settled).unwrap_or_default()
    }

    /// What the record does not tell of a call that has ended there, or stands where it ends.
    fn why_unknown(&self, call: Seq) -> Option<Unknown> {
        let story = self.stories.get(&call)?;
        if story.unknown.is_some() {
            return None;
        }
        if self.attempts(call) > story.attempts && !story.waits_for_place() {
            return Some(Unknown::NoRun);
        }
        let (recorded, under) = (story.recorded.standing, story.under.standing);
        if under == recorded || under.is_end() || story.waits_for_place() {
            return None;
        }
        let asked = story.asked_about;
        Some(match self.other.calls.get(&call).map(|it| &it.phase) {
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

    /// Nobody can tell what becomes of the call: it leaves the other world, so that nothing there
    /// waits for it.
    fn leave_open(&mut self, call: Seq, why: Unknown) {
        let at = self.other.at;
        if let Some(story) = self.stories.get_mut(&call) {
            story.unknown = Some(why);
            story.under.standing = Standing::Unknown;
            if let Unknown::DependsOn(_) = why {
                story.under = Told {
                    standing: Standing::Unknown,
                    ..Told::default()
                };
                self.doubt.may_count(&story.tool, at, call);
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

/// Whether the tool may have run in the other world without a run on record that stands for it.
fn may_have_run(why: Unknown, attempts_on_record: u32) -> bool {
    match why {
        Unknown::NoRun | Unknown::RunsOn | Unknown::AskedLonger => true,
        Unknown::DependsOn(_)
        | Unknown::NobodyAsked
        | Unknown::ProgramNotAsked
        | Unknown::WithoutAnswer
        | Unknown::Elsewhere => attempts_on_record == 0,
    }
}

/// Whether an equal call could use the result.
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
