//! A second implementation of the session's state, for comparison.
//!
//! It reads state, phase, runs, use counts and results from the records one by one.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::catalog::contract_hash;
use recount_session::testing::Toolbox;
use recount_session::{
    Author, Comparison, Condition, Deadline, Decision, Event, Fact, FunctionCallReceived, Limits,
    ObjectHash, Observation, Outcome, Repeats, Rule, Seq, Timestamp, ToolPolicy, Verdict as Says,
};
use serde_json::{Map, Value};

use crate::lawful::agents::Asked;
use crate::lawful::asking::OpenRequests;
use crate::lawful::claims::{Claims, How};
use crate::lawful::in_place::Waits;
use crate::recording::Recording;

/// The content of the records up to one of them.
pub(crate) struct Model<'r> {
    recording: &'r Recording,
    calls: BTreeMap<Seq, &'r FunctionCallReceived>,
    /// The calls that were received while results of their tool could be reused.
    shared: BTreeSet<Seq>,
    /// The open calls that were received while their tool's policy answered repeats with a ticket.
    repeatable: BTreeSet<Seq>,
    /// The tools of the attached runner, or of the last one.
    pub(crate) tools: Option<&'r Toolbox>,
    /// The running attempt of each running call.
    pub(crate) running: BTreeMap<Seq, u32>,
    /// The values of the state.
    pub(crate) state: BTreeMap<String, Value>,
    /// The name of the phase entered last, and the seq of its `phase_entered`.
    pub(crate) stay: Option<(String, Seq)>,
    /// True if the session is closed.
    pub(crate) closed: bool,
    /// Every call that was allowed, and whether its tool had a limit per minute then.
    let_through: Vec<(String, Timestamp, bool)>,
    results: Vec<Found<'r>>,
    in_place: Waits,
    asked: Asked,
    pub(crate) requests: OpenRequests,
    judged: BTreeSet<Seq>,
    enforced: bool,
    claims: Claims,
    /// The number of starts of each call that clients gave back.
    pub(crate) given_back: BTreeMap<Seq, u32>,
}

/// A result that a tool returned.
struct Found<'r> {
    of: Seq,
    at: Timestamp,
    call: &'r FunctionCallReceived,
    contract: Option<ObjectHash>,
}

impl<'r> Model<'r> {
    pub(crate) fn new(recording: &'r Recording) -> Model<'r> {
        Model {
            recording,
            calls: recording.calls(),
            shared: BTreeSet::new(),
            repeatable: BTreeSet::new(),
            tools: None,
            running: BTreeMap::new(),
            state: BTreeMap::new(),
            stay: None,
            closed: false,
            let_through: Vec::new(),
            results: Vec::new(),
            in_place: Waits::default(),
            asked: Asked::default(),
            requests: OpenRequests::default(),
            judged: BTreeSet::new(),
            enforced: true,
            claims: Claims::default(),
            given_back: BTreeMap::new(),
        }
    }

    /// Reads the next record.
    pub(crate) fn read(&mut self, fact: &'r Fact) {
        let running = &self.running;
        let replied = self.asked.read(fact, |call| running.get(&call).copied());
        if let Some(it) = replied.filter(|it| it.calls() > 0) {
            self.running.remove(&it.call);
        }
        match &fact.event {
            Event::Observed(observation) => self.observed(fact, observation),
            Event::Decided(decision) => self.decided(fact, decision),
        }
        if let Some(ended) = self.claims.read(fact) {
            self.ends(ended.call, ended.attempt);
            if ended.how == How::NotBegun {
                *self.given_back.entry(ended.call).or_default() += 1;
            }
        }
        self.in_place.read(fact);
        self.requests.read(fact);
        if let Event::Decided(Decision::PolicyDecided(it)) = &fact.event {
            self.judged.insert(it.call);
        }
    }

    /// True if there is a verdict on the call.
    pub(crate) fn is_judged(&self, call: Seq) -> bool {
        self.judged.contains(&call)
    }

    /// Returns the number of open requests as a verdict records it, if it is limited.
    pub(crate) fn open_requests(&self, call: Seq) -> Option<Value> {
        let name = name_of(self.call(call));
        let policies = self.tools?.policies();
        let policy = policies.of(name);
        let limits = [
            policies.max_open_requests,
            policy.gate_terms.max_open_requests,
        ];
        let terms = &policy.gate_terms;
        let restricted =
            !terms.approvers.is_empty() || terms.not_requester || terms.quorum.is_some();
        let enforced = self.enforced || restricted;
        if !policy.confirm || !enforced || limits == [None, None] {
            return None;
        }
        let (session, tool) = self.requests.count(self.recording, name);
        Some(serde_json::json!({"session": session, "tool": tool}))
    }

    /// Returns the call received at this seq.
    pub(crate) fn call(&self, call: Seq) -> &'r FunctionCallReceived {
        self.calls[&call]
    }

    /// Returns the current policy of a tool.
    pub(crate) fn policy(&self, name: &str) -> ToolPolicy {
        let tools = self.tools.map(|tools| tools.policies().of(name).clone());
        tools.unwrap_or_default()
    }

    /// Returns the current contract of a declared tool.
    pub(crate) fn contract(&self, name: &str) -> Option<ObjectHash> {
        let declared = self.tools?.catalog().get(name)?;
        Some(contract_hash(declared, &self.policy(name)))
    }

    /// Returns the running calls with the current contracts of their tools.
    fn running_contracts(&self) -> impl Iterator<Item = (Seq, Option<ObjectHash>)> {
        let calls = self.running.keys();
        calls.map(|call| (*call, self.contract(name_of(self.call(*call)))))
    }

    /// Returns the current phase: the one entered last, if it is declared.
    pub(crate) fn phase(&self) -> Option<&str> {
        let (name, _) = self.stay.as_ref()?;
        self.tools?
            .policies()
            .phase(name)
            .map(|it| it.name.as_str())
    }

    /// True if the call may reuse and share results.
    pub(crate) fn shares(&self, call: Seq) -> bool {
        self.shared.contains(&call) && self.policy(name_of(self.call(call))).cache
    }

    /// True if two calls have equal names and arguments.
    pub(crate) fn equal(&self, one: Seq, other: Seq) -> bool {
        same(self.call(one), self.call(other))
    }

    /// Returns the result that the call may reuse at this time.
    pub(crate) fn result_for(&self, call: Seq, now: Timestamp) -> Option<Seq> {
        let received = self.call(call);
        let mut equal = self.results.iter().filter(|it| same(it.call, received));
        let found = equal.next_back().filter(|_| self.shares(call))?;
        let max_age = self.policy(name_of(received)).cache_max_age;
        let age_us = u128::try_from(now.0 - found.at.0).unwrap_or_default();
        let young = max_age.is_none_or(|max| age_us <= max.as_micros());
        let same_tool = found.contract == self.contract(name_of(received));
        (young && same_tool).then_some(found.of)
    }

    /// Returns the oldest open call that this call repeats.
    pub(crate) fn pending_for(&self, call: Seq) -> Option<Seq> {
        let answered = self.policy(name_of(self.call(call))).repeats == Repeats::PendingTicket;
        let mut open = self.repeatable.iter().copied();
        let first = open.find(|it| *it < call && self.equal(*it, call));
        first.filter(|_| answered && self.repeatable.contains(&call))
    }

    /// Returns the number of allowed calls of the tool: in the session, and in the last minute.
    pub(crate) fn used(&self, name: &str, now: Timestamp) -> (usize, usize) {
        let of_tool = self.let_through.iter().filter(|(tool, ..)| tool == name);
        let minute = of_tool
            .clone()
            .filter(|(_, at, limited)| *limited && now.0 - at.0 < 60_000_000);
        (of_tool.count(), minute.count())
    }

    /// Returns the inputs that a verdict on the call must record.
    pub(crate) fn inputs(&self, call: Seq, rule: Rule, now: Timestamp) -> Option<Value> {
        let name = name_of(self.call(call));
        let policy = self.policy(name);
        let mut inputs = Map::new();
        if let Some(phase) = self.phase() {
            inputs.insert("phase".into(), phase.into());
        }
        if let Some(condition) = &policy.when {
            let mut read = Map::new();
            for key in keys(condition) {
                if let Some(value) = self.value(&key) {
                    read.insert(key, value.clone());
                }
            }
            inputs.insert("state".into(), read.into());
        }
        if policy.limits != Limits::default() {
            let (session, minute) = self.used(name, now);
            let used = serde_json::json!({"session": session, "minute": minute});
            inputs.insert("used".into(), used);
        }
        if let Some(open) = self.open_requests(call) {
            inputs.insert("open_requests".into(), open);
        }
        if rule == Rule::Pending {
            let of = self.pending_for(call).map(|of| of.0);
            inputs.insert("of".into(), of.into());
        }
        if rule == Rule::Cached {
            let of = self.result_for(call, now).map(|of| of.0);
            inputs.insert("of".into(), of.into());
        }
        (!inputs.is_empty()).then_some(Value::Object(inputs))
    }

    /// Returns a value of the state.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.state.get(key.strip_prefix("session:").unwrap_or(key))
    }

    fn observed(&mut self, fact: &'r Fact, observation: &'r Observation) {
        match observation {
            Observation::RunnerAttached(_) | Observation::CatalogChanged(_)
                if self.recording.takes_terms(fact) =>
            {
                if let Observation::RunnerAttached(it) = observation {
                    self.enforced = it.gates.enforced;
                }
                let before: Vec<_> = self.running_contracts().collect();
                self.tools = self.recording.tools.get(&fact.seq);
                if matches!(observation, Observation::CatalogChanged(_)) {
                    // The result of a run is not shared with calls of the changed tool.
                    let now: Vec<_> = self.running_contracts().collect();
                    let changed = before.iter().filter(|it| !now.contains(it));
                    for (call, _) in changed {
                        self.shared.remove(call);
                    }
                }
                if !self.recording.renews(fact.seq) {
                    self.running.retain(|call, _| self.claims.holds(*call));
                }
            }
            Observation::RunnerDetached(_) => {
                self.running.retain(|call, _| self.claims.holds(*call));
            }
            Observation::Paused(it) => {
                for start in &it.not_begun {
                    if !self.claims.holds(start.call) && !self.in_place.waits(start.call) {
                        self.ends(start.call, start.attempt);
                    }
                }
            }
            Observation::ToolPaused(it) if self.claims.holds(it.call) => {}
            Observation::ToolAsked(it) if self.claims.holds(it.call) => {}
            Observation::FunctionCallReceived(it) if self.calls.contains_key(&fact.seq) => {
                let policy = self.policy(name_of(it));
                if policy.cache {
                    self.shared.insert(fact.seq);
                }
                if policy.repeats == Repeats::PendingTicket
                    && it.by.is_none()
                    && it.parent.is_none()
                {
                    self.repeatable.insert(fact.seq);
                }
            }
            Observation::ToolReturned(it) if self.ends(it.call, it.attempt) => {
                let call = self.call(it.call);
                if !it.failed && self.shared.contains(&it.call) {
                    let contract = self.contract(name_of(call));
                    self.results.push(Found {
                        of: fact.seq,
                        at: fact.at,
                        call,
                        contract,
                    });
                }
            }
            Observation::ToolPaused(it) => _ = self.ends(it.call, it.attempt),
            Observation::ToolAsked(it) if !it.in_place => _ = self.ends(it.call, it.attempt),
            Observation::DeadlinePassed(it) => {
                if let Deadline::Run { call, attempt } = it.deadline
                    && !self.in_place.waits(call)
                {
                    self.ends(call, attempt);
                }
            }
            Observation::StateChanged(it) if !self.closed => {
                let counts = match &it.author {
                    Author::Tool { call, attempt } => self.running.get(call) == Some(attempt),
                    Author::Hook(_) | Author::Program(_) => true,
                };
                for change in it.changes.iter().filter(|_| counts) {
                    let key = change.key.strip_prefix("session:").unwrap_or(&change.key);
                    match change.value.to_value() {
                        _ if key.starts_with("temp:") => {}
                        Value::Null => _ = self.state.remove(key),
                        value => _ = self.state.insert(key.to_owned(), value),
                    }
                }
            }
            Observation::TurnCompleted(_) => self.state.retain(|key, _| !key.starts_with("turn:")),
            Observation::SessionClosed(_) => self.closed = true,
            _ => {}
        }
    }

    fn decided(&mut self, fact: &Fact, decision: &Decision) {
        match decision {
            Decision::CallStarted(it) => _ = self.running.insert(it.call, it.attempt),
            Decision::CallCancelled(it) => {
                self.running.remove(&it.call);
                self.repeatable.remove(&it.call);
            }
            Decision::ResponseIssued(it) if it.outcome != Outcome::Interim => {
                self.repeatable.remove(&it.call);
                self.running.remove(&it.call);
            }
            Decision::PolicyDecided(it)
                if it.verdict != Says::Refused && it.rule != Rule::Cached =>
            {
                let name = name_of(self.call(it.call)).to_owned();
                let limited = self.policy(&name).limits.per_minute.is_some();
                self.let_through.push((name, fact.at, limited));
            }
            Decision::PhaseEntered(it) => self.stay = Some((it.phase.clone(), fact.seq)),
            _ => {}
        }
    }

    /// Ends the attempt. Returns true if it was running.
    fn ends(&mut self, call: Seq, attempt: u32) -> bool {
        let runs = self.running.get(&call) == Some(&attempt);
        if runs {
            self.running.remove(&call);
        }
        runs
    }
}

/// Returns the tool name of a call, or the empty string.
pub(crate) fn name_of(call: &FunctionCallReceived) -> &str {
    call.name.as_deref().unwrap_or_default()
}

/// True if two calls have equal names and arguments, compared as JSON values. `1` and `1.0` differ.
fn same(one: &FunctionCallReceived, other: &FunctionCallReceived) -> bool {
    let flawless = |call: &FunctionCallReceived| {
        call.malformed_args.is_none() && call.invalid_args.is_none() && call.beyond_max.is_none()
    };
    let args = |call: &FunctionCallReceived| {
        let args = call.args.as_ref().map(|args| args.to_value());
        args.unwrap_or_else(|| Value::Object(Map::new()))
    };
    let clean = flawless(one) && flawless(other);
    clean && one.name == other.name && args(one) == args(other)
}

/// True if a condition holds for these values.
pub(crate) fn holds(condition: &Condition, value_of: &dyn Fn(&str) -> Option<Value>) -> bool {
    match condition {
        Condition::IsTrue(key) => value_of(key) == Some(Value::Bool(true)),
        Condition::Exists(key) => value_of(key).is_some(),
        Condition::Equals(key, wanted) => match (value_of(key), wanted.as_f64()) {
            (Some(found), Some(wanted)) => found.as_f64() == Some(wanted),
            (found, _) => found.as_ref() == Some(wanted),
        },
        Condition::Compares(key, comparison, other) => {
            let found = value_of(key).and_then(|it| it.as_f64());
            let Some((found, other)) = found.zip(other.as_f64()) else {
                return false;
            };
            match comparison {
                Comparison::Less => found < other,
                Comparison::AtMost => found <= other,
                Comparison::AtLeast => found >= other,
                Comparison::Greater => found > other,
            }
        }
        Condition::And(all) => !all.iter().any(|it| !holds(it, value_of)),
        Condition::Or(any) => any.iter().any(|it| holds(it, value_of)),
        Condition::Not(it) => !holds(it, value_of),
    }
}

fn keys(condition: &Condition) -> Vec<String> {
    match condition {
        Condition::IsTrue(key)
        | Condition::Exists(key)
        | Condition::Equals(key, _)
        | Condition::Compares(key, _, _) => vec![key.clone()],
        Condition::And(all) | Condition::Or(all) => all.iter().flat_map(keys).collect(),
        Condition::Not(it) => keys(it),
    }
}
