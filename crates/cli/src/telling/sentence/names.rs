//! What the calls of a session are called, wherever one is spoken of.

use std::collections::BTreeMap;

use crate::text::one_line;
use recount::session::{ConfirmationRequested, Event, Fact, Json, ObjectHash, Observation, Seq};

/// What the calls of a session are called, learned from its events.
#[derive(Debug, Default)]
pub(crate) struct Names {
    calls: BTreeMap<Seq, (String, Json)>,
    /// The number of calls of each tool.
    alike: BTreeMap<String, usize>,
    /// The arguments that approvers put in the place of a call's, oldest first.
    edited: BTreeMap<Seq, Vec<Json>>,
    /// The call of each request and each response.
    about: BTreeMap<Seq, Seq>,
}

impl Names {
    /// Remembers what later events refer to.
    pub(crate) fn learn(&mut self, fact: &Fact) {
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => {
                let name = it
                    .name
                    .clone()
                    .unwrap_or_else(|| "a nameless call".to_owned());
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
            }
            Event::Observed(_) => {}
            Event::Decided(decision) => {
                if let Some(call) = decision.call() {
                    self.about.insert(fact.seq, call);
                }
            }
        }
    }

    /// The tool of a call; with the call's seq where several calls have that tool.
    pub(crate) fn call(&self, seq: Seq) -> String {
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

    /// The tool that a request or a response is about.
    pub(crate) fn about(&self, seq: Seq) -> String {
        match self.about.get(&seq) {
            Some(call) => self.call(*call),
            None => format!("record {seq}"),
        }
    }

    /// The arguments that a question binds: the newest on record that have its hash.
    pub(crate) fn args(&self, question: &ConfirmationRequested) -> &str {
        let edited = self.edited.get(&question.call).into_iter().flatten().rev();
        let called = self.calls.get(&question.call).map(|(_, args)| args);
        let bound = edited
            .chain(called)
            .find(|args| ObjectHash::of(args.as_str().as_bytes()) == question.args_sha256);
        bound.map_or("", Json::as_str)
    }
}
