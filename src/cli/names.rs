//! What the calls of a session are called, wherever one is spoken of.

use std::collections::BTreeMap;

use super::one_line::one_line;
use crate::session::{Event, Fact, Json, Observation, Seq};

/// What the calls of a session are called, learned from its events.
#[derive(Debug, Default)]
pub(super) struct Names {
    calls: BTreeMap<Seq, (String, Json)>,
    /// The call of each request and each response.
    about: BTreeMap<Seq, Seq>,
}

impl Names {
    /// Remembers what later events refer to.
    pub(super) fn learn(&mut self, fact: &Fact) {
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => {
                let name = it
                    .name
                    .clone()
                    .unwrap_or_else(|| "a nameless call".to_owned());
                let args = it.args.clone().unwrap_or_else(Json::empty_object);
                self.calls.insert(fact.seq, (name, args));
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
    pub(super) fn call(&self, seq: Seq) -> String {
        let Some((name, _)) = self.calls.get(&seq) else {
            return format!("call {seq}");
        };
        let alike = self.calls.values().filter(|(other, _)| other == name);
        let name = one_line(name);
        if alike.count() > 1 {
            format!("{name} #{seq}")
        } else {
            name.into_owned()
        }
    }

    /// The tool that a request or a response is about.
    pub(super) fn about(&self, seq: Seq) -> String {
        match self.about.get(&seq) {
            Some(call) => self.call(*call),
            None => format!("record {seq}"),
        }
    }

    /// The arguments of a call, as they are on record.
    pub(super) fn args(&self, call: Seq) -> &str {
        self.calls.get(&call).map_or("", |(_, args)| args.as_str())
    }
}
