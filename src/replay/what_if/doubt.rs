//! What cannot be told any more once a call would have gone otherwise, and which verdicts would
//! have read it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::session::{
    Call, Condition, Limits, ObjectHash, PolicyDecided, PolicySet, Rule, S, Scope, Seq, Session,
    StateChanged, Timestamp, ToolPolicy,
};

/// What nobody can tell, each with the call because of which.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The values of the state that a run on record wrote which would not have been.
    keys: BTreeMap<String, Seq>,
    /// A run that is not on record may have written anything.
    all_keys: Option<Seq>,
    /// What was written since then.
    sure_keys: BTreeSet<String>,
    /// The calls that run in the other world, while the run on record that may stand for it has not
    /// begun.
    early: BTreeSet<Seq>,
    /// The phase.
    phase: Option<Seq>,
    /// The calls that may have been let through, and so may have counted, by tool.
    counted: BTreeMap<String, Vec<(Timestamp, Seq)>>,
    /// The calls by whose results or tickets equal ones would be answered.
    equal: BTreeMap<ObjectHash, Seq>,
}

impl Doubt {
    /// Changes of the state would not have been made.
    pub(super) fn unwritten(&mut self, it: &StateChanged, because: Seq) {
        for change in &it.changes {
            let (_, key) = Scope::of(&change.key);
            self.sure_keys.remove(key);
            self.keys.entry(key.to_owned()).or_insert(because);
        }
    }

    /// Changes of the state were made, whatever stood there before.
    pub(super) fn written(&mut self, it: &StateChanged) {
        if self.keys.is_empty() && self.all_keys.is_none() {
            return;
        }
        for change in &it.changes {
            let (_, key) = Scope::of(&change.key);
            self.keys.remove(key);
            if self.all_keys.is_some() {
                self.sure_keys.insert(key.to_owned());
            }
        }
    }

    /// What lived for the turn is gone, whoever wrote it.
    pub(super) fn turn_ended(&mut self) {
        self.keys.retain(|key, _| !key.starts_with("turn:"));
    }

    /// A run of which nothing is on record may have written to the state.
    pub(super) fn ran_unrecorded(&mut self, call: Seq) {
        if self.all_keys.is_none() {
            self.all_keys = Some(call);
            self.sure_keys.clear();
        }
    }

    /// The call runs, and does not on record so far.
    pub(super) fn runs_early(&mut self, call: Seq) {
        self.early.insert(call);
    }

    /// A run on record stands for that of the call, or the call has ended there.
    pub(super) fn ran(&mut self, call: Seq) {
        self.early.remove(&call);
    }

    /// The call may have counted towards the limits of its tool.
    pub(super) fn may_count(&mut self, tool: &str, at: Timestamp, call: Seq) {
        let counted = self.counted.entry(tool.to_owned()).or_default();
        counted.push((at, call));
    }

    /// Equal calls may have been answered by what this one comes to.
    pub(super) fn may_answer(&mut self, keys: [Option<ObjectHash>; 2], call: Seq) {
        for key in keys.into_iter().flatten() {
            self.equal.entry(key).or_insert(call);
        }
    }

    /// The state has changed or the turn ended, so the phase may: it is in doubt where a guard
    /// reads what is.
    pub(super) fn phase_looks(&mut self, session: &Session) {
        if self.phase.is_some() || (self.keys.is_empty() && self.all_keys.is_none()) {
            return;
        }
        let Some(stay) = &session.phase else {
            return;
        };
        let declared = session.terms.policies.phase(&stay.phase);
        let mut ways = declared.into_iter().flat_map(|it| &it.transitions);
        self.phase = ways.find_map(|way| self.of_condition(&way.when));
    }

    /// The call on which a verdict depends that nobody can tell, if there is one.
    ///
    /// A verdict reads as far as the rule that says it, in the order of the rules.
    pub(super) fn of_verdict(
        &self,
        session: &Session,
        call: &Call,
        it: &PolicyDecided,
    ) -> Option<Seq> {
        let policies = &session.terms.policies;
        let policy = policies.of(&call.name);
        let phase = || self.phase.filter(|_| reads_phase(policies, policy));
        // What runs may write at any time.
        let of_condition = |it: &Condition| {
            let reads = reads_state(it);
            let early = || self.early.first().copied().filter(|_| reads);
            self.of_condition(it).or_else(early)
        };
        let condition = || policy.when.as_ref().and_then(of_condition);
        let equal = || {
            let mut keys = [call.cache_key, call.repeat_key].into_iter().flatten();
            keys.find_map(|key| self.equal.get(&key).copied())
        };
        let gate = || {
            let gate = policy.gate_terms.when.as_ref().filter(|_| policy.confirm);
            gate.and_then(of_condition)
        };
        match it.rule {
            Rule::MissingName | Rule::UnknownTool | Rule::MalformedArgs | Rule::InvalidArgs => None,
            Rule::Phase => phase(),
            Rule::Condition => phase().or_else(condition),
            Rule::Cached | Rule::Pending => phase().or_else(condition).or_else(equal),
            Rule::Limit => phase()
                .or_else(condition)
                .or_else(equal)
                .or_else(|| self.of_limits(session, call, policy.limits, it)),
            Rule::Confirm | Rule::Default => phase()
                .or_else(condition)
                .or_else(equal)
                .or_else(|| self.of_limits(session, call, policy.limits, it))
                .or_else(gate),
        }
    }

    fn of_condition(&self, condition: &Condition) -> Option<Seq> {
        if self.keys.is_empty() && self.all_keys.is_none() {
            return None;
        }
        let argument = S::arg("");
        let keys = condition.keys().into_iter();
        let mut keys = keys.filter(|key| !key.starts_with(&argument));
        keys.find_map(|key| {
            let (_, key) = Scope::of(key);
            let any = self.all_keys.filter(|_| !self.sure_keys.contains(key));
            self.keys.get(key).copied().or(any)
        })
    }

    /// Whether the calls that may have counted make a difference to a limit.
    fn of_limits(
        &self,
        session: &Session,
        call: &Call,
        limits: Limits,
        it: &PolicyDecided,
    ) -> Option<Seq> {
        let counted = self.counted.get(&call.name)?;
        let (_, first) = counted.first()?;
        let inputs = it.inputs.as_ref()?;
        let used: Inputs = serde_json::from_str(inputs.as_str()).ok()?;
        let used = used.used?;
        let since = session.at.before_ms(60_000);
        let recent = counted.iter().rev().take_while(|(at, _)| *at > since);
        let recent = recent.count();
        let differs = |max: Option<u32>, surely: u32, perhaps: usize| {
            let most = usize::try_from(surely)
                .unwrap_or(usize::MAX)
                .saturating_add(perhaps);
            max.is_some_and(|max| {
                surely < max && most >= usize::try_from(max).unwrap_or(usize::MAX)
            })
        };
        let full = |max: Option<u32>, used: u32| max.is_some_and(|max| used >= max);
        // One limit that is reached for sure is enough.
        if full(limits.per_session, used.session) || full(limits.per_minute, used.minute) {
            return None;
        }
        let differs = differs(limits.per_session, used.session, counted.len())
            || differs(limits.per_minute, used.minute, recent);
        differs.then_some(*first)
    }
}

/// Of a verdict's inputs, how often the tool was used.
#[derive(Deserialize)]
struct Inputs {
    used: Option<Used>,
}

#[derive(Deserialize)]
struct Used {
    session: u32,
    minute: u32,
}

fn reads_state(condition: &Condition) -> bool {
    let argument = S::arg("");
    let keys = condition.keys();
    keys.iter().any(|key| !key.starts_with(&argument))
}

fn reads_phase(policies: &PolicySet, policy: &ToolPolicy) -> bool {
    policy.phases.is_some() || policies.phases.iter().any(|it| it.tools.is_some())
}
