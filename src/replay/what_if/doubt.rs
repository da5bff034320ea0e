//! The facts that are unknown once a call would have gone differently, and the verdicts that read
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::session::{
    Call, Condition, Limits, ObjectHash, PolicyDecided, PolicySet, Rule, S, Scope, Seq, Session,
    StateChanged, Timestamp, ToolPolicy,
};

/// The unknown facts, each with the call that made it unknown.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The state keys that a recorded run wrote, although it would not have run under the other
    /// policies.
    keys: BTreeMap<String, Seq>,
    /// The call whose unrecorded run may have written any key.
    all_keys: Option<Seq>,
    /// The keys that were written since that run.
    sure_keys: BTreeSet<String>,
    /// The calls that already run under the other policies, while the recorded run that stands for
    /// them has not begun.
    early: BTreeSet<Seq>,
    /// The call that made the phase unknown.
    phase: Option<Seq>,
    /// The calls that may have been allowed, and so may count towards limits, by tool.
    counted: BTreeMap<String, Vec<(Timestamp, Seq)>>,
    /// The calls that may still wait for approval, by tool.
    may_wait: Vec<(String, Seq)>,
    /// The calls whose results or tickets would have answered equal calls.
    equal: BTreeMap<ObjectHash, Seq>,
}

impl Doubt {
    /// Notes state changes that would not have been made.
    pub(super) fn unwritten(&mut self, it: &StateChanged, because: Seq) {
        for change in &it.changes {
            let (_, key) = Scope::of(&change.key);
            self.sure_keys.remove(key);
            self.keys.entry(key.to_owned()).or_insert(because);
        }
    }

    /// Notes state changes that were made in both sessions, so that their keys are known again.
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

    /// Drops the keys with the lifetime of a turn.
    pub(super) fn turn_ended(&mut self) {
        self.keys.retain(|key, _| !key.starts_with("turn:"));
    }

    /// Notes an unrecorded run, which may have written any key.
    pub(super) fn ran_unrecorded(&mut self, call: Seq) {
        if self.all_keys.is_none() {
            self.all_keys = Some(call);
            self.sure_keys.clear();
        }
    }

    /// Notes that the call runs under the other policies, but not on record so far.
    pub(super) fn runs_early(&mut self, call: Seq) {
        self.early.insert(call);
    }

    /// Notes that the call has a recorded run, or has ended on record.
    pub(super) fn ran(&mut self, call: Seq) {
        self.early.remove(&call);
    }

    /// Notes that the call may count towards the limits of its tool.
    pub(super) fn may_count(&mut self, tool: &str, at: Timestamp, call: Seq) {
        let counted = self.counted.entry(tool.to_owned()).or_default();
        counted.push((at, call));
    }

    /// Notes that the call may still wait for approval.
    pub(super) fn may_wait(&mut self, tool: &str, call: Seq) {
        self.may_wait.push((tool.to_owned(), call));
    }

    /// Notes that the outcome of this call may have answered equal calls.
    pub(super) fn may_answer(&mut self, keys: [Option<ObjectHash>; 2], call: Seq) {
        for key in keys.into_iter().flatten() {
            self.equal.entry(key).or_insert(call);
        }
    }

    /// Marks the phase as unknown if a guard of the current phase reads an unknown key. Called when
    /// the state changed or the turn ended, because the phase may change then.
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

    /// The call on which a verdict depends in an unknown way, if there is one.
    ///
    /// A verdict reads the policies in the order of the rules, up to the rule that decided.
    pub(super) fn of_verdict(
        &self,
        session: &Session,
        call: &Call,
        it: &PolicyDecided,
    ) -> Option<Seq> {
        let policies = &session.terms.policies;
        let policy = policies.of(&call.name);
        let phase = || self.phase.filter(|_| reads_phase(policies, policy));
        // Early runs may write to the state at any time.
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
                .or_else(|| self.of_limits(session, call, policy.limits, it))
                .or_else(|| self.of_open_requests(session, call, it)),
            Rule::Confirm | Rule::Default => phase()
                .or_else(condition)
                .or_else(equal)
                .or_else(|| self.of_limits(session, call, policy.limits, it))
                .or_else(gate)
                .or_else(|| self.of_open_requests(session, call, it)),
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

    /// The first call that may count, if counting these calls changes the verdict of a limit.
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
        // The verdict is certain if one limit is reached without them.
        if full(limits.per_session, used.session) || full(limits.per_minute, used.minute) {
            return None;
        }
        let differs = differs(limits.per_session, used.session, counted.len())
            || differs(limits.per_minute, used.minute, recent);
        differs.then_some(*first)
    }

    /// The first call that may still wait for approval, if counting these calls changes the verdict
    /// of a limit of open requests.
    fn of_open_requests(&self, session: &Session, call: &Call, it: &PolicyDecided) -> Option<Seq> {
        let (_, first) = self.may_wait.first().filter(|_| it.rule != Rule::Default)?;
        let inputs: Inputs = serde_json::from_str(it.inputs.as_ref()?.as_str()).ok()?;
        let open = inputs.open_requests?;
        let of_tool = self.may_wait.iter();
        let of_tool = of_tool.filter(|(tool, _)| *tool == call.name).count();
        let policies = &session.terms.policies;
        let limits = [
            (
                policies.max_open_requests,
                open.session,
                self.may_wait.len(),
            ),
            (
                policies.of(&call.name).gate_terms.max_open_requests,
                open.tool,
                of_tool,
            ),
        ];
        let max = |max: Option<u32>| max.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let mut reached = limits.iter();
        // The verdict is certain if one limit is reached without them.
        if reached.any(|(limit, surely, _)| max(*limit).is_some_and(|max| *surely >= max)) {
            return None;
        }
        let mut perhaps = limits.iter();
        let differs = perhaps.any(|(limit, surely, perhaps)| {
            max(*limit).is_some_and(|max| surely.saturating_add(*perhaps) >= max)
        });
        differs.then_some(*first)
    }
}

/// The usage of the tool, in the inputs of a verdict.
#[derive(Deserialize)]
struct Inputs {
    used: Option<Used>,
    open_requests: Option<OpenRequests>,
}

#[derive(Deserialize)]
struct OpenRequests {
    session: usize,
    tool: usize,
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
