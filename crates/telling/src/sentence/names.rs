//! The names of the calls of a session, as sentences use them.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::one_line;
use recount::session::{
    Actor, ConfirmationRequested, Event, Fact, Json, ObjectHash, Observation, ResponseIssued, Seq,
};

/// The names and arguments of the calls of a session, learned from its events.
#[derive(Debug, Default)]
pub struct Names {
    calls: BTreeMap<Seq, (String, Json)>,
    /// The number of calls of each tool.
    alike: BTreeMap<String, usize>,
    /// The arguments with which approvers replaced those of a call, oldest first.
    edited: BTreeMap<Seq, Vec<Json>>,
    /// The call of each request, each answer that gave a leave, and each response.
    about: BTreeMap<Seq, Seq>,
    /// The people who gave each standing leave, by the answer.
    leaves: BTreeMap<Seq, Vec<Actor>>,
    /// The approvals so far of each request that needs several.
    approvals: BTreeMap<Seq, Vec<Actor>>,
    /// The calls that paused, and the records that say so.
    paused: BTreeSet<Seq>,
}

impl Names {
    /// Remembers the facts to which later events refer.
    pub fn learn(&mut self, fact: &Fact) {
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => {
                let name = it
                    .name
                    .clone()
                    .unwrap_or_else(|| "a call without a name".to_owned());
                let args = it.args.clone().unwrap_or_else(Json::empty_object);
                let before = self.calls.insert(fact.seq, (name.clone(), args));
                if before.is_none() {
                    *self.alike.entry(name).or_default() += 1;
                }
            }
            Event::Observed(Observation::ConfirmationAnswered(it)) => {
                if let (Some(args), Some(call)) = (&it.edited_args, self.about.get(&it.request)) {
                    self.edited.entry(*call).or_default().push(args.clone());
                }
                if it.allow_for.is_some() {
                    let mut givers = self.approvals.remove(&it.request).unwrap_or_default();
                    givers.push(it.by.clone());
                    self.leaves.insert(fact.seq, givers);
                    let call = self.about.get(&it.request).copied();
                    self.about.extend(call.map(|call| (fact.seq, call)));
                }
            }
            Event::Observed(Observation::ApprovalGiven(it)) => {
                let approvals = self.approvals.entry(it.request).or_default();
                approvals.push(it.by.clone());
            }
            Event::Observed(Observation::ToolPaused(it)) => {
                self.paused.extend([it.call, fact.seq]);
            }
            Event::Observed(_) => {}
            Event::Decided(decision) => {
                if let Some(call) = decision.call() {
                    self.about.insert(fact.seq, call);
                }
            }
        }
    }

    /// The tool of a call, with the seq of the call if several calls have that tool.
    pub fn call(&self, seq: Seq) -> String {
        let Some((name, _)) = self.calls.get(&seq) else {
            return format!("call {seq}");
        };
        let alike = self.alike.get(name).copied().unwrap_or_default();
        let name = one_line(name);
        if alike > 1 {
            format!("{name} #{seq}")
        } else {
            name.into_owned()
        }
    }

    /// The people who gave a standing leave. Empty if its answer is not among the known events.
    pub(super) fn givers(&self, leave: Seq) -> &[Actor] {
        self.leaves.get(&leave).map_or(&[], Vec::as_slice)
    }

    /// The tool of a request or a response.
    pub fn about(&self, seq: Seq) -> String {
        match self.about.get(&seq) {
            Some(call) => self.call(*call),
            None => format!("record {seq}"),
        }
    }

    /// The state of a call that an interim response reports; `None` for an interim result.
    ///
    /// A response without a record of its own acknowledges the call: it waits for approval, or for
    /// its result if it has paused.
    pub(super) fn wait(&self, response: &ResponseIssued) -> Option<&'static str> {
        let reported = response.of.unwrap_or(response.call);
        match (response.of, self.paused.contains(&reported)) {
            (_, true) => Some("waiting for its result"),
            (None, false) => Some("waiting for approval"),
            (Some(_), false) => None,
        }
    }

    /// The arguments that a request binds: the newest ones on record with its hash.
    pub fn args(&self, question: &ConfirmationRequested) -> &str {
        let edited = self.edited.get(&question.call).into_iter().flatten().rev();
        let called = self.calls.get(&question.call).map(|(_, args)| args);
        let bound = edited
            .chain(called)
            .find(|args| ObjectHash::of(args.as_str().as_bytes()) == question.args_sha256);
        bound.map_or("", Json::as_str)
    }
}
