//! Law 6: the fold of the journal equals the live session, and owes exactly what is unsettled.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    Deadline, Decision, Effect, Event, Fact, FunctionCallReceived, Hook, Observation, OpenKind,
    OpenWork, Outcome, PROGRESS_EVENT, PauseScope, Route, Seq, Session, Start, Timestamp, WaitsFor,
    evolve, open_work, owed,
};

use super::Verdict;
use super::acknowledging::Quiet;
use super::agents::Asked;
use super::claims::Claims;
use super::dialling::Dialling;
use super::gate_verdicts::GateVerdicts;
use super::in_place::{Turn, Waits};
use super::quorum::Approvals;
use super::recording::{Recording, body, decided, observed};
use super::standing::Leaves;

/// Folding the records, parsed back from their bytes, gives the state of the live session at every
/// step.
pub(crate) fn fold_equals_live(recording: &Recording) -> Verdict {
    let mut folded = recording.start.clone();
    let mut steps = recording.steps.iter();
    for batch in recording.batches() {
        for fact in batch {
            let event =
                Event::decode(fact.event.kind(), &body(fact)).map_err(|it| it.to_string())?;
            folded = evolve(
                folded,
                &Fact {
                    event,
                    ..fact.clone()
                },
            );
        }
        if steps.next().map(|(_, live)| live) != Some(&folded) {
            return Err(format!("the fold differs after {}", folded.head));
        }
    }
    Ok(())
}

/// The folded session owes exactly what the records asked for and no later record settled.
pub(crate) fn owed_is_what_the_records_left_unsettled(recording: &Recording) -> Verdict {
    let mut debts = Debts::default();
    for ((facts, session), batch) in recording.steps.iter().zip(recording.batches()) {
        for fact in batch {
            if debts.quiet.is_early(recording, debts.attached, fact) {
                return Err(format!("acknowledged too early: {fact:?}"));
            }
            debts.read(recording, fact);
        }
        let mut found = owed(session);
        found.sort();
        let expected: Vec<Effect> = debts.owed(recording, session);
        if found != expected {
            return Err(format!(
                "after {facts} facts: expected {expected:#?}, owed {found:#?}"
            ));
        }
    }
    Ok(())
}

/// The index of open work names exactly the open session and its open calls. Its kinds and
/// deadlines are those of the owed effects.
pub(crate) fn open_work_names_what_is_open(recording: &Recording) -> Verdict {
    let mut open: BTreeSet<Seq> = BTreeSet::new();
    let mut connects: BTreeSet<Seq> = BTreeSet::new();
    let mut dialling = Dialling::default();
    let mut closing: Option<Seq> = None;
    let mut paused: BTreeMap<PauseScope, Seq> = BTreeMap::new();
    let mut was_closed = false;
    let mut leaves = Leaves::default();
    for ((_, session), batch) in recording.steps.iter().zip(recording.batches()) {
        for fact in batch {
            leaves.read(recording, fact)?;
            match observed(fact) {
                Some(Observation::SessionOpened(_)) => _ = open.insert(fact.seq),
                Some(Observation::FunctionCallReceived(_))
                    if recording.calls().contains_key(&fact.seq) =>
                {
                    open.insert(fact.seq);
                }
                Some(Observation::SessionClosed(_)) => {
                    was_closed = true;
                    open.remove(&Seq(1));
                    std::mem::take(&mut paused)
                        .values()
                        .for_each(|at| _ = open.remove(at));
                    closing.take().map(|of| open.remove(&of));
                }
                Some(Observation::Paused(it)) if !was_closed => {
                    let before = paused.insert(it.scope.clone(), fact.seq);
                    before.map(|at| open.remove(&at));
                    open.insert(fact.seq);
                }
                Some(Observation::Unpaused(it)) => {
                    paused.remove(&it.scope).map(|at| open.remove(&at));
                }
                _ => {}
            }
            if let Some(call) = ended(fact) {
                open.remove(&call);
            }
            if dialling.read(recording, fact) {
                connects.insert(fact.seq);
            }
        }
        if let (None, Some(asked)) = (
            closing,
            session.closing.as_ref().filter(|_| !session.closed),
        ) {
            // The session decides which request to close counts; `owed` is checked elsewhere.
            closing = Some(asked.of);
            open.insert(asked.of);
        }
        let mut listed = open_work(session);
        if !listed.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Err(format!("listed out of order: {listed:#?}"));
        }
        let untold: BTreeSet<Seq> = listed
            .iter()
            .filter(|(_, it)| it.kind == OpenKind::Untold)
            .map(|(seq, _)| *seq)
            .collect();
        listed.retain(|(seq, _)| !untold.contains(seq));
        let mut in_force = leaves.in_force(session.at);
        in_force.retain(|_| !session.closed);
        let of_leaves = |it: &OpenWork| it.kind == OpenKind::Leave;
        let kept = listed.iter().filter(|(_, it)| of_leaves(it));
        if !kept.map(|it| it.0).eq(in_force.iter().copied()) {
            return Err(format!(
                "leaves {in_force:?} are in force, listed {listed:#?}"
            ));
        }
        listed.retain(|(_, it)| !of_leaves(it));
        let wants = owed(session).contains(&Effect::Connect);
        let apart = session.connection.is_none() && !session.closed;
        if !untold.is_subset(&connects) || wants != (apart && !untold.is_empty()) {
            return Err(format!("untold {untold:?}, a connection is owed: {wants}"));
        }
        if !listed.iter().map(|(seq, _)| seq).eq(open.iter()) {
            return Err(format!("open {open:?}, listed {listed:#?}"));
        }
        let mut by_owed: BTreeMap<Seq, (Option<Seq>, Option<Timestamp>)> = BTreeMap::new();
        for effect in owed(session) {
            match effect {
                Effect::AskConfirmation { call, request } => {
                    by_owed.entry(call).or_default().0 = Some(request)
                }
                Effect::ArmTimer {
                    deadline:
                        Deadline::Run { call, .. }
                        | Deadline::Confirmation { call, .. }
                        | Deadline::Retry { call, .. }
                        | Deadline::Lease { call, .. },
                    due_us,
                } => {
                    let due = &mut by_owed.entry(call).or_default().1;
                    *due = Some(due.map_or(due_us, |first: Timestamp| first.min(due_us)));
                }
                // Without a connection there is no model to tell, so the index need not wake the
                // session for it.
                Effect::ArmTimer {
                    deadline: Deadline::Acknowledgement { .. },
                    ..
                }
                | Effect::RunTool { .. }
                | Effect::AskHook { .. }
                | Effect::SendResponse { .. }
                | Effect::SendInstruction { .. }
                | Effect::CloseSession { .. }
                | Effect::Connect => {}
            }
        }
        for (call, item) in &listed {
            let owed = by_owed.get(call).copied().unwrap_or_default();
            let asks = item.kind == OpenKind::Confirmation;
            if (item.request, item.deadline) != owed || item.request.is_some() != asks {
                return Err(format!("{call} is listed as {item:?} and owes {owed:?}"));
            }
        }
    }
    Ok(())
}

fn ended(fact: &Fact) -> Option<Seq> {
    match decided(fact) {
        Some(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => Some(it.call),
        Some(Decision::CallCancelled(it)) => Some(it.call),
        _ => None,
    }
}

/// A second implementation of `owed`: the records add obligations and settle them. Only what a call
/// waits for is read from the session, because the end of a session may depend on it.
#[derive(Default)]
struct Debts<'r> {
    runs: BTreeMap<(Seq, u32), (Seq, Option<Timestamp>)>,
    /// The runs that wait in place, and the rest of each one's time limit.
    in_place: Waits,
    approvals: Approvals,
    asked: Asked,
    /// The runs that clients hold, and no runner owes.
    claims: Claims,
    left: BTreeMap<Seq, i64>,
    /// The calls whose gate the program decides, and the runner that asks it.
    verdicts: GateVerdicts<'r>,
    runner: Option<Seq>,
    /// The record of the tools in force, of a runner that is attached or not.
    attached: Option<Seq>,
    waits: BTreeMap<(Seq, u32), Timestamp>,
    /// The calls whose waits are not acknowledged yet.
    quiet: Quiet,
    questions: BTreeMap<Seq, (Seq, Option<Timestamp>)>,
    responses: BTreeMap<Seq, (Seq, Route, bool)>,
    /// The responses that were issued without a connection and need one.
    connects: BTreeSet<Seq>,
    dialling: Dialling,
    connection: Option<Seq>,
    ended: BTreeSet<Seq>,
    /// The last response to each call that ended with one.
    answers: BTreeMap<Seq, Seq>,
    /// The first response to each call whose outcome was reconciled later.
    outdated: BTreeMap<Seq, Seq>,
    /// The current phases with whether each has an instruction, and the current stay in one of
    /// them.
    instructions: BTreeMap<String, bool>,
    stay: Option<(String, Seq)>,
    told: BTreeSet<(Seq, Seq)>,
    /// The `tool_returned` by which a tool asked to close the session, and its call.
    closing: Option<(Seq, Seq)>,
    closed: bool,
}

impl<'r> Debts<'r> {
    fn read(&mut self, recording: &'r Recording, fact: &Fact) {
        let runs = &self.runs;
        let attempt = |call| runs.keys().find(|(of, _)| *of == call).map(|it| it.1);
        if let Some(it) = self.asked.read(fact, attempt).filter(|it| it.calls() > 0) {
            self.runs.remove(&(it.call, it.attempt));
        }
        match &fact.event {
            Event::Observed(observation) => self.observed(recording, fact, observation),
            Event::Decided(decision) => self.decided(fact, decision),
        }
        if let Some(decides) = self.approvals.read(fact) {
            self.questions.remove(&decides.request);
        }
        if self.dialling.read(recording, fact) {
            self.connects.insert(fact.seq);
        }
        self.verdicts.read(recording, fact);
        if let Some(ended) = self.claims.read(fact) {
            self.runs.remove(&(ended.call, ended.attempt));
        }
        match self.in_place.read(fact) {
            Some(Turn::Waits(call)) => {
                for ((of, _), (_, due)) in &mut self.runs {
                    if let Some(due) = due.take_if(|_| *of == call) {
                        self.left.insert(call, due.0 - fact.at.0);
                    }
                }
            }
            Some(Turn::GoesOn(call)) => {
                let left = self.left.remove(&call);
                for ((of, _), (_, due)) in &mut self.runs {
                    if *of == call {
                        *due = left.map(|left| Timestamp(fact.at.0 + left));
                    }
                }
            }
            None => {}
        }
        if let Some(ended) = ended(fact) {
            self.runs.retain(|(call, _), _| *call != ended);
            self.waits.retain(|(call, _), _| *call != ended);
            self.questions.retain(|_, (call, _)| *call != ended);
            self.quiet.ends(ended);
            self.ended.insert(ended);
        }
    }

    fn observed(&mut self, recording: &Recording, fact: &Fact, observation: &Observation) {
        if let (Some(epoch), Some(live)) = (epoch_of_server(observation), self.connection)
            && epoch == live
        {
            self.responses.retain(|_, (_, _, sent)| !*sent);
        }
        match observation {
            Observation::RunnerAttached(_) | Observation::CatalogChanged(_)
                if recording.takes_terms(fact) =>
            {
                if !recording.renews(fact.seq) {
                    self.runs.retain(|(call, _), _| self.claims.holds(*call));
                    self.runner = Some(fact.seq);
                }
                self.attached = Some(fact.seq);
                let phases = recording.tools[&fact.seq].policies().phases.iter();
                self.instructions = phases
                    .map(|phase| (phase.name.clone(), phase.instruction.is_some()))
                    .collect();
            }
            Observation::RunnerDetached(_) => {
                self.runs.retain(|(call, _), _| self.claims.holds(*call));
                self.runner = None;
            }
            Observation::Paused(it) => {
                // A pause takes nothing back from a client, nor a run that waits in place.
                let taken = |start: &&Start| {
                    !self.in_place.waits(start.call) && !self.claims.holds(start.call)
                };
                for start in it.not_begun.iter().filter(taken) {
                    self.runs.remove(&(start.call, start.attempt));
                }
            }
            // Only for the live connection and the current stay.
            Observation::InstructionSent(it) if self.connection == Some(it.epoch) => {
                self.told_of(it.phase, it.epoch);
            }
            Observation::Connected(it) => {
                self.connection = Some(fact.seq);
                if let Some(phase) = it.phase {
                    self.told_of(phase, fact.seq);
                }
                self.responses
                    .values_mut()
                    .for_each(|(_, _, sent)| *sent = false);
            }
            Observation::Disconnected(it) if self.connection == Some(it.epoch) => {
                self.connection = None
            }
            Observation::ToolReturned(it) => {
                let ran = self.runs.remove(&(it.call, it.attempt)).is_some();
                if ran && !it.failed && it.ends_session.is_some() {
                    self.closing.get_or_insert((fact.seq, it.call));
                }
            }
            // A client's run does not pause or ask.
            Observation::ToolPaused(it) if self.claims.holds(it.call) => {}
            Observation::ToolAsked(it) if self.claims.holds(it.call) => {}
            Observation::ToolPaused(it) => {
                let ran = self.runs.remove(&(it.call, it.attempt)).is_some();
                ran.then(|| self.quiet.begins(it.call, fact.at));
            }
            Observation::ToolAsked(it) if !it.in_place => {
                self.runs.remove(&(it.call, it.attempt));
            }
            Observation::DeadlinePassed(it) => match it.deadline {
                Deadline::Run { call, attempt } if !self.in_place.waits(call) => {
                    self.runs.remove(&(call, attempt));
                }
                Deadline::Run { .. } | Deadline::Lease { .. } => {}
                Deadline::Retry { call, attempt } => _ = self.waits.remove(&(call, attempt)),
                Deadline::Acknowledgement { call } => {
                    self.quiet.passed(recording, self.attached, call, fact.at);
                }
                Deadline::Confirmation { call, request } => {
                    self.questions
                        .retain(|at, (of, _)| (*at, *of) != (request, call));
                }
            },
            Observation::ResponsesSent(it) if self.connection == Some(it.epoch) => {
                for (at, (_, _, sent)) in &mut self.responses {
                    *sent |= it.responses.contains(at);
                }
            }
            // Open calls that the model cancelled get no response. A response to an ended call
            // needs another route than its id.
            Observation::CallCancellationReceived(it) if self.connection == Some(it.epoch) => {
                let named = |call: &Seq| recording.names(*call, it.epoch, &it.ids);
                let ended = &self.ended;
                self.responses
                    .retain(|_, (call, ..)| ended.contains(call) || !named(call));
                for (call, route, _) in self.responses.values_mut() {
                    if matches!(route, Route::ToolResponse { .. }) && named(call) {
                        *route = Route::Parked;
                    }
                }
            }
            Observation::FunctionCallReceived(_) => {
                let of = recording.repeats().get(&fact.seq).copied();
                if let Some((of, at)) = of.and_then(|of| Some((of, *self.answers.get(&of)?))) {
                    if let Some(outdated) = self.outdated.get(&of) {
                        self.responses.remove(outdated);
                    }
                    self.responses.insert(at, (of, Route::Parked, false));
                }
            }
            Observation::SessionClosed(_) => {
                self.responses.clear();
                self.closed = true;
            }
            Observation::ToolYielded(it) => {
                self.progressed(recording, fact, (it.call, it.attempt), it.runner);
            }
            Observation::ToolEventEmitted(it) if it.name == PROGRESS_EVENT => {
                self.progressed(recording, fact, (it.call, it.attempt), None);
            }
            _ => {}
        }
    }

    /// Handles a sign of progress of a run. Its time limit starts again if the current policy says
    /// so.
    fn progressed(&mut self, recording: &Recording, fact: &Fact, run: (Seq, u32), by: Option<Seq>) {
        let calls = recording.calls();
        let name = calls.get(&run.0).and_then(|it| it.name.as_deref());
        let tools = self.attached.and_then(|at| recording.tools.get(&at));
        let (Some(name), Some(tools)) = (name, tools) else {
            return;
        };
        let policy = tools.policies().of(name);
        let declared = tools.catalog().get(name);
        let is_inline = declared.is_some_and(|it| it.kind.is_inline());
        let usual = tools.policies().timeout;
        let usual = usual.filter(|_| is_inline && policy.background.is_none());
        let Some(limit) = policy
            .timeout
            .or(usual)
            .filter(|_| policy.progress.is_some())
        else {
            return;
        };
        if let Some((runner, Some(due))) = self.runs.get_mut(&run)
            && by.is_none_or(|by| by == *runner)
        {
            *due = (*due).max(fact.at.after(limit));
        }
    }

    fn decided(&mut self, fact: &Fact, decision: &Decision) {
        match decision {
            Decision::CallStarted(it) => {
                self.runs
                    .insert((it.call, it.attempt), (it.runner, it.deadline_us));
            }
            Decision::ConfirmationRequested(it) => {
                self.questions.insert(fact.seq, (it.call, it.expires_at_us));
                self.quiet.begins(it.call, fact.at);
            }
            Decision::ConfirmationReopened(it) => {
                // A question that replaces an open one continues its wait.
                if self.questions.remove(&it.request).is_none() {
                    self.quiet.begins(it.question.call, fact.at);
                }
                self.questions
                    .insert(fact.seq, (it.question.call, it.question.expires_at_us));
            }
            Decision::ConfirmationExpired(it) => _ = self.questions.remove(&it.request),
            Decision::ConfirmationWithdrawn(it) => _ = self.questions.remove(&it.request),
            Decision::ResponseIssued(it) => {
                if it.outcome != Outcome::Interim {
                    self.answers.insert(it.call, fact.seq);
                }
                _ = self.responses.insert(fact.seq, (it.call, it.route, false))
            }
            Decision::OutcomeReconciled(it) => {
                if let Some(unknown) = self.answers.insert(it.call, fact.seq) {
                    self.outdated.insert(it.call, unknown);
                }
                _ = self.responses.insert(fact.seq, (it.call, it.route, false));
            }
            Decision::DeliveryChosen(it) => {
                if let Some((_, route, _)) = self.responses.get_mut(&it.response) {
                    *route = it.route;
                }
            }
            Decision::RetryScheduled(it) => {
                _ = self.waits.insert((it.call, it.attempt), it.due_us);
            }
            Decision::PhaseEntered(it) => self.stay = Some((it.phase.clone(), fact.seq)),
            Decision::ResultReused(_)
            | Decision::PolicyDecided(_)
            | Decision::BackgroundSpawned(_)
            | Decision::GateWaived(_)
            | Decision::LeaveUsed(_)
            | Decision::CallReady(_)
            | Decision::CallCancelled(_) => {}
        }
    }

    fn told_of(&mut self, phase: Seq, epoch: Seq) {
        if self.stay.as_ref().is_some_and(|(_, at)| *at == phase) {
            self.told.insert((phase, epoch));
        }
    }

    fn owed(&self, recording: &Recording, session: &Session) -> Vec<Effect> {
        let mut effects = Vec::new();
        for call in self.verdicts.asked(recording) {
            effects.extend(self.runner.map(|runner| Effect::AskHook {
                hook: Hook::ConfirmWhen,
                call,
                of: None,
                runner,
            }));
        }
        for (&(call, attempt), &(runner, due)) in &self.runs {
            let runs_here = !self.claims.holds(call);
            effects.extend(runs_here.then_some(Effect::RunTool {
                call,
                attempt,
                runner,
            }));
            let deadline = Deadline::Run { call, attempt };
            effects.extend(due.map(|due_us| Effect::ArmTimer { deadline, due_us }));
        }
        for (&call, held) in self.claims.held() {
            let attempt = held.attempt;
            let deadline = Deadline::Lease { call, attempt };
            let due_us = held.until;
            effects.push(Effect::ArmTimer { deadline, due_us });
        }
        for (&(call, attempt), &due_us) in &self.waits {
            let deadline = Deadline::Retry { call, attempt };
            effects.push(Effect::ArmTimer { deadline, due_us });
        }
        for (&request, &(call, due)) in &self.questions {
            effects.push(Effect::AskConfirmation { call, request });
            let deadline = Deadline::Confirmation { call, request };
            effects.extend(due.map(|due_us| Effect::ArmTimer { deadline, due_us }));
        }
        let expiries = self.questions.values().copied().collect();
        effects.extend(
            self.quiet
                .timers(recording, self.attached, session, &expiries),
        );
        let untold = self
            .connects
            .iter()
            .any(|it| self.responses.contains_key(it));
        if untold && self.connection.is_none() && !self.closed {
            effects.push(Effect::Connect);
        }
        for (&response, &(call, route, sent)) in &self.responses {
            let (epoch, as_conversation) = match route {
                Route::ToolResponse { epoch } => (epoch, false),
                Route::Conversation { epoch } => (epoch, true),
                Route::Parked | Route::Connect | Route::Notify | Route::Caller | Route::Parent => {
                    continue;
                }
            };
            if !sent && self.connection == Some(epoch) {
                effects.push(Effect::SendResponse {
                    response,
                    call,
                    epoch,
                    as_conversation,
                });
            }
        }
        if let (Some((phase, entered)), Some(epoch)) = (&self.stay, self.connection)
            && self.instructions.get(phase) == Some(&true)
            && !self.told.contains(&(*entered, epoch))
            && !self.closed
        {
            let phase = *entered;
            effects.push(Effect::SendInstruction { phase, epoch });
        }
        if let Some((of, ending)) = self.closing.filter(|_| !self.closed) {
            let calls = recording.calls();
            let call = ancestors(&calls, ending).last().unwrap_or(ending);
            let leaves = |effect: &Effect| {
                let sends = matches!(effect, Effect::SendResponse { .. });
                sends && effect.call() == Some(call)
            };
            let is_heard = match calls[&call].by {
                Some(_) => self.runner.is_some(),
                None => self.connection.is_some(),
            };
            let is_open = |it: &Seq| *it <= session.head && !self.ended.contains(it);
            let below = calls.keys().copied().filter(is_open);
            let mut below = below.filter(|it| ancestors(&calls, *it).any(|it| it == call));
            let replies = is_heard
                && is_open(&call)
                && below.all(|it| self.ends_by_itself(recording, session, it));
            if !replies && !effects.iter().any(leaves) {
                effects.push(Effect::CloseSession { of, call });
            }
        }
        effects.sort();
        effects
    }

    /// True if the call will continue without anyone outside.
    fn ends_by_itself(&self, recording: &Recording, session: &Session, seq: Seq) -> bool {
        let Some(call) = session.calls.get(&seq) else {
            return true;
        };
        match call.phase.waits_for() {
            WaitsFor::Person | WaitsFor::Response => false,
            WaitsFor::Runner => self.declares(recording, &call.name),
            WaitsFor::Tool => {
                let mut runs = self.runs.iter().filter(|((of, _), _)| *of == seq);
                let timed = runs.any(|(_, (_, due))| due.is_some());
                call.agent.is_some() || timed || self.claims.holds(seq)
            }
            WaitsFor::Calls | WaitsFor::Hook | WaitsFor::Time | WaitsFor::Nothing => true,
        }
    }

    /// True if the runner attached last runs, or ran, the tool itself.
    fn declares(&self, recording: &Recording, name: &str) -> bool {
        let last = self.attached.and_then(|at| recording.tools.get(&at));
        let declared = last.and_then(|tools| tools.catalog().get(name));
        declared.is_some_and(|it| !it.kind.runs_at_client())
    }
}

/// Returns a call, the agent that made it, the agent that made that, and so on.
fn ancestors(calls: &Calls<'_>, call: Seq) -> impl Iterator<Item = Seq> {
    std::iter::successors(Some(call), |call| calls.get(call)?.parent)
}

type Calls<'r> = BTreeMap<Seq, &'r FunctionCallReceived>;

fn epoch_of_server(observation: &Observation) -> Option<Seq> {
    match observation {
        Observation::GoAwayReceived(it) => Some(it.epoch),
        Observation::ResumptionHandleReceived(it) => Some(it.epoch),
        Observation::FunctionCallReceived(it) => {
            (it.by.is_none() && it.parent.is_none()).then_some(it.epoch)
        }
        Observation::CallCancellationReceived(it) => Some(it.epoch),
        Observation::ModelOutputReceived(it) => Some(it.epoch),
        Observation::TranscriptReceived(it) => Some(it.epoch),
        Observation::TurnCompleted(it) => Some(it.epoch),
        Observation::TurnInterrupted(it) => Some(it.epoch),
        Observation::UsageReported(it) => Some(it.epoch),
        Observation::FrameRejected(it) => Some(it.epoch),
        _ => None,
    }
}
