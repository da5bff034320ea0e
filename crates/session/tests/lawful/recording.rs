//! A history: all facts, the session after each step, and the results of the commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use recount_session::testing::Toolbox;
use recount_session::{
    Command, Decision, Event, Fact, FunctionCallReceived, Observation, Outcome, Rejection, Route,
    Seq, Session, Timestamp,
};

/// A history.
pub(crate) struct Recording {
    /// The session before the first fact, with every object that the history refers to.
    pub(crate) start: Session,
    /// All facts.
    pub(crate) facts: Vec<Fact>,
    /// After each step: the number of facts, and the session.
    pub(crate) steps: Vec<(usize, Session)>,
    /// Each command with the number of facts before it, and its rejection.
    pub(crate) commands: Vec<(usize, Command, Option<Rejection>)>,
    /// The time of each command.
    pub(crate) times: Vec<Timestamp>,
    /// The tools that records put in force: of each runner, and of each changed catalog.
    pub(crate) tools: BTreeMap<Seq, Toolbox>,
}

impl Recording {
    /// Returns the calls by seq. Repeated ids on one connection and redelivered calls are left out.
    pub(crate) fn calls(&self) -> BTreeMap<Seq, &FunctionCallReceived> {
        Deliveries::of(&self.facts).calls
    }

    /// Returns the redelivered calls: the record of the redelivery, and the call.
    pub(crate) fn repeats(&self) -> BTreeMap<Seq, Seq> {
        Deliveries::of(&self.facts).repeats
    }

    /// True if one of these ids names the call on that connection, which received or redelivered
    /// it.
    pub(crate) fn names(&self, call: Seq, epoch: Seq, ids: &[String]) -> bool {
        let Deliveries { calls, repeats, .. } = Deliveries::of(&self.facts);
        let received = calls[&call];
        let again = repeats.iter().filter(|(_, of)| **of == call);
        let mut epochs = again.map(|(at, _)| match observed(&self.facts[at.0 as usize - 1]) {
            Some(Observation::FunctionCallReceived(it)) => it.epoch,
            _ => Seq(0),
        });
        let here = received.epoch == epoch || epochs.any(|it| it == epoch);
        let here = here && received.parent.is_none();
        here && received.id.as_ref().is_some_and(|id| ids.contains(id))
    }

    /// Returns the tools in force before the fact at `index`.
    pub(crate) fn tools_at(&self, index: usize) -> Option<&Toolbox> {
        let mut before = self.facts[..index].iter().rev();
        let named = before.find(|fact| self.takes_terms(fact))?;
        self.tools.get(&named.seq)
    }

    /// True if the record puts other tools in force: an attachment, or a changed catalog of an
    /// attached runner.
    pub(crate) fn takes_terms(&self, fact: &Fact) -> bool {
        match observed(fact) {
            Some(Observation::RunnerAttached(_)) => true,
            Some(Observation::CatalogChanged(_)) => self.has_runner_before(fact.seq),
            _ => false,
        }
    }

    /// True if the record puts other tools in force while the runner stays.
    pub(crate) fn renews(&self, at: Seq) -> bool {
        match observed(&self.facts[at.0 as usize - 1]) {
            Some(Observation::RunnerAttached(it)) => it.goes_on && self.has_runner_before(at),
            Some(Observation::CatalogChanged(_)) => self.has_runner_before(at),
            _ => false,
        }
    }

    fn has_runner_before(&self, at: Seq) -> bool {
        let before = self.facts[..at.0 as usize - 1].iter().rev();
        let mut runners = before.filter_map(|fact| match observed(fact) {
            Some(Observation::RunnerAttached(_)) => Some(true),
            Some(Observation::RunnerDetached(_)) => Some(false),
            _ => None,
        });
        runners.next() == Some(true)
    }

    /// Returns the facts of each step.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &[Fact]> {
        let ends = self.steps.iter().map(|(end, _)| *end);
        let starts = std::iter::once(0).chain(ends.clone());
        starts.zip(ends).map(|(from, to)| &self.facts[from..to])
    }
}

/// Returns the observation of a fact, if it is one.
pub(crate) fn observed(fact: &Fact) -> Option<&Observation> {
    match &fact.event {
        Event::Observed(observation) => Some(observation),
        Event::Decided(_) => None,
    }
}

/// Returns the decision of a fact, if it is one.
pub(crate) fn decided(fact: &Fact) -> Option<&Decision> {
    match &fact.event {
        Event::Observed(_) => None,
        Event::Decided(decision) => Some(decision),
    }
}

/// Returns the body as the journal writes it.
pub(crate) fn body(fact: &Fact) -> String {
    fact.event.body().expect("every body can be written")
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (runner, tools) in &self.tools {
            let (catalog, policies) = (tools.catalog().to_bytes(), tools.policies().to_bytes());
            writeln!(f, "runner {runner}: {}", String::from_utf8_lossy(&catalog))?;
            writeln!(f, "          {}", String::from_utf8_lossy(&policies))?;
        }
        for fact in &self.facts {
            let indent = if observed(fact).is_some() { "" } else { "  " };
            let (seq, kind) = (fact.seq, fact.event.kind());
            writeln!(f, "{seq:>4} {indent}{kind} {}", body(fact))?;
        }
        Ok(())
    }
}

/// The deliveries of calls and responses, read from the records one by one.
#[derive(Default)]
struct Deliveries<'r> {
    calls: BTreeMap<Seq, &'r FunctionCallReceived>,
    repeats: BTreeMap<Seq, Seq>,
    /// The idempotency keys of programs.
    keys: BTreeSet<&'r str>,
    /// The ids that this connection has received.
    seen: BTreeSet<(Seq, &'r str)>,
    live: Option<Seq>,
    resumed: bool,
    handle: Option<&'r str>,
    /// The calls since the handle, by id.
    since: BTreeMap<&'r str, Seq>,
    answered: BTreeSet<Seq>,
    /// The last response to each call of the model.
    answers: BTreeMap<Seq, Seq>,
    /// The first response to each call whose outcome was reconciled later.
    outdated: BTreeMap<Seq, Seq>,
    /// The responses that may not have arrived, each with its call and whether it was written.
    unheard: BTreeMap<Seq, (Seq, bool)>,
    withdrawn: BTreeSet<Seq>,
    closed: bool,
}

impl<'r> Deliveries<'r> {
    fn of(facts: &'r [Fact]) -> Self {
        let mut deliveries = Deliveries::default();
        for fact in facts {
            match (observed(fact), decided(fact)) {
                (Some(observation), _) => deliveries.observed(fact.seq, observation),
                (None, Some(Decision::ResponseIssued(it))) if it.outcome != Outcome::Interim => {
                    deliveries.answered.insert(it.call);
                    if !matches!(it.route, Route::Caller | Route::Parent) {
                        deliveries.answers.insert(it.call, fact.seq);
                    }
                    // Responses for programs only are not delivered to the model.
                    if !matches!(it.route, Route::Caller | Route::Parent | Route::Notify) {
                        deliveries.unheard.insert(fact.seq, (it.call, false));
                    }
                }
                (None, Some(Decision::CallCancelled(it))) => {
                    deliveries.withdrawn.insert(it.call);
                }
                (None, Some(Decision::OutcomeReconciled(it))) => {
                    if it.route != Route::Caller
                        && let Some(unknown) = deliveries.answers.insert(it.call, fact.seq)
                    {
                        deliveries.outdated.insert(it.call, unknown);
                    }
                    if !matches!(it.route, Route::Caller | Route::Notify) {
                        deliveries.unheard.insert(fact.seq, (it.call, false));
                    }
                }
                (None, Some(_) | None) => {}
            }
        }
        deliveries
    }

    fn observed(&mut self, at: Seq, observation: &'r Observation) {
        if let Observation::ResumptionHandleReceived(it) = observation
            && it.resumable
            && self.live == Some(it.epoch)
            && let Some(handle) = &it.fingerprint
        {
            // The handle may be older than the latest write.
            self.handle = Some(handle);
            self.forget_what_arrived();
        }
        if self.live.is_some() && said_on(observation) == self.live {
            self.unheard.retain(|_, (_, written)| !*written);
            if self.handle.is_none() {
                // The first handle covers everything that arrived before it.
                self.forget_what_arrived();
            }
        }
        match observation {
            Observation::ResponsesSent(it) if self.live == Some(it.epoch) => {
                for response in &it.responses {
                    if let Some((_, written)) = self.unheard.get_mut(response) {
                        *written = true;
                    }
                }
            }
            Observation::Connected(it) => {
                self.seen.clear();
                self.unheard.values_mut().for_each(|it| it.1 = false);
                self.live = Some(at);
                self.resumed = it.resumed.is_some();
                if !self.resumed {
                    self.since.clear();
                    self.handle = None;
                }
            }
            Observation::Disconnected(it) if self.live == Some(it.epoch) => self.live = None,
            Observation::ConnectFailed(it) if it.rejected.as_deref() == self.handle => {
                self.handle = None;
            }
            Observation::CallCancellationReceived(it) if self.live == Some(it.epoch) => {
                for id in &it.ids {
                    self.since.remove(id.as_str());
                }
            }
            Observation::SessionClosed(_) => self.closed = true,
            Observation::FunctionCallReceived(it) => self.received(at, it),
            _ => {}
        }
    }

    /// Forgets answered calls, except those with a response that is unsent or not known to have
    /// arrived.
    fn forget_what_arrived(&mut self) {
        let (answered, unheard) = (&self.answered, &self.unheard);
        let on_its_way = |call: &Seq| unheard.values().any(|(of, _)| of == call);
        self.since
            .retain(|_, call| !answered.contains(call) || on_its_way(call));
    }

    fn received(&mut self, at: Seq, it: &'r FunctionCallReceived) {
        // One key of a program is one call.
        if let (Some(key), Some(_)) = (&it.key, &it.by)
            && !self.keys.insert(key)
        {
            return;
        }
        // The ids of calls by an agent's model are not ids of the connection.
        let Some(id) = it.id.as_deref().filter(|_| it.parent.is_none()) else {
            self.calls.insert(at, it);
            return;
        };
        if !self.seen.insert((it.epoch, id)) {
            return;
        }
        let of = self.since.get(id).copied().filter(|of| {
            let before = self.calls[of];
            let same = (&before.name, &before.args, &before.malformed_args)
                == (&it.name, &it.args, &it.malformed_args);
            let here = self.resumed && self.live == Some(it.epoch) && !self.closed;
            same && here && !self.withdrawn.contains(of)
        });
        if let Some(of) = of {
            self.repeats.insert(at, of);
            if let Some(answer) = self.answers.get(&of) {
                if let Some(outdated) = self.outdated.get(&of) {
                    self.unheard.remove(outdated);
                }
                self.unheard.insert(*answer, (of, false));
            }
            return;
        }
        self.calls.insert(at, it);
        // A handle received while the call is open does not cover the call, even if it is the
        // first.
        self.since.insert(id, at);
    }
}

/// Returns the connection of an observation that comes from the service.
fn said_on(observation: &Observation) -> Option<Seq> {
    match observation {
        Observation::GoAwayReceived(it) => Some(it.epoch),
        Observation::ResumptionHandleReceived(it) => Some(it.epoch),
        Observation::FunctionCallReceived(it) => {
            (it.by.is_none() && it.parent.is_none()).then_some(it.epoch)
        }
        Observation::CallCancellationReceived(it) => Some(it.epoch),
        Observation::ModelOutputReceived(it) => Some(it.epoch),
        Observation::TurnCompleted(it) => Some(it.epoch),
        Observation::TurnInterrupted(it) => Some(it.epoch),
        Observation::UsageReported(it) => Some(it.epoch),
        Observation::FrameRejected(it) => Some(it.epoch),
        Observation::TranscriptReceived(it) => Some(it.epoch),
        _ => None,
    }
}
