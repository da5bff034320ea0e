//! The gates that a program decides, read from the records one by one.

use std::collections::BTreeSet;

use recount_session::testing::Toolbox;
use recount_session::{Decision, Event, Fact, Hook, Observation, Seq, Verdict as Says};

use super::recording::Recording;

/// The calls about which the program is asked, and those whose gates it left open.
#[derive(Default)]
pub(crate) struct GateVerdicts<'r> {
    asked: BTreeSet<Seq>,
    open: BTreeSet<Seq>,
    tools: Option<&'r Toolbox>,
}

impl<'r> GateVerdicts<'r> {
    /// Reads the next record. Returns the calls whose gates are open from here on.
    pub(crate) fn read(&mut self, recording: &'r Recording, fact: &Fact) -> Vec<Seq> {
        let mut opened = Vec::new();
        match &fact.event {
            Event::Decided(Decision::PolicyDecided(it)) if it.verdict == Says::AskProgram => {
                self.asked.insert(it.call);
            }
            Event::Observed(Observation::HookAnswered(it)) if it.hook == Hook::ConfirmWhen => {
                if self.is_declared(recording, it.call) && self.asked.remove(&it.call) {
                    opened.extend((it.gated == Some(false)).then_some(it.call));
                }
            }
            Event::Observed(Observation::RunnerAttached(_) | Observation::CatalogChanged(_))
                if recording.takes_terms(fact) =>
            {
                self.tools = recording.tools.get(&fact.seq);
                // A declared tool with another kind of gate needs no verdict, and without a gate it
                // needs no approval.
                for call in std::mem::take(&mut self.asked) {
                    let name = recording.calls()[&call].name.clone().unwrap_or_default();
                    let policy = self.tools.map(|it| it.policies().of(&name).clone());
                    let policy = policy.unwrap_or_default();
                    let asks = policy.confirm && policy.gate_terms.asks_program;
                    if asks || !self.is_declared(recording, call) {
                        self.asked.insert(call);
                    } else if !policy.confirm {
                        opened.push(call);
                    }
                }
            }
            Event::Decided(Decision::ResponseIssued(it)) => _ = self.asked.remove(&it.call),
            Event::Decided(Decision::CallCancelled(it)) => _ = self.asked.remove(&it.call),
            Event::Observed(_) | Event::Decided(_) => {}
        }
        self.open.extend(&opened);
        opened
    }

    /// True if the program left the call's gate open.
    pub(crate) fn is_open(&self, call: Seq) -> bool {
        self.open.contains(&call)
    }

    /// Returns the calls about which the program can be asked now.
    pub(crate) fn asked(&self, recording: &Recording) -> impl Iterator<Item = Seq> {
        let asked = self.asked.iter().copied();
        asked.filter(|call| self.is_declared(recording, *call))
    }

    fn is_declared(&self, recording: &Recording, call: Seq) -> bool {
        let calls = recording.calls();
        let name = calls.get(&call).and_then(|it| it.name.as_deref());
        let tool = name.and_then(|name| self.tools?.catalog().get(name));
        tool.is_some()
    }
}
