//! The outcomes for which a connection is opened, read from the records.

use recount_session::{Decision, Fact, Observation, OnSettled, Outcome, Route, Seq};

use super::recording::{Recording, decided, observed};

/// The connection and the agent's `on_settled` policy, according to the records.
#[derive(Default)]
pub(crate) struct Dialling {
    wanted: bool,
    runs: bool,
    live: Option<Seq>,
    /// True if a reconnect is scheduled.
    comes: bool,
}

impl Dialling {
    /// Reads a record. Returns true if it issues an outcome for which a connection must be opened.
    pub(crate) fn read(&mut self, recording: &Recording, fact: &Fact) -> bool {
        match observed(fact) {
            Some(Observation::RunnerAttached(_)) => {
                let policies = recording.tools[&fact.seq].policies();
                self.wanted = policies.on_settled == OnSettled::Connect;
                if !recording.renews(fact.seq) {
                    (self.runs, self.comes) = (true, false);
                }
            }
            Some(Observation::CatalogChanged(_)) if self.runs => {
                let policies = recording.tools[&fact.seq].policies();
                self.wanted = policies.on_settled == OnSettled::Connect;
            }
            Some(Observation::RunnerDetached(_)) => (self.runs, self.comes) = (false, false),
            Some(Observation::Connected(_)) => (self.live, self.comes) = (Some(fact.seq), false),
            Some(Observation::Disconnected(it)) if self.live == Some(it.epoch) => self.live = None,
            Some(Observation::ReconnectScheduled(_)) => {
                self.comes = self.runs && self.live.is_none();
            }
            Some(Observation::ConnectFailed(it)) => self.comes &= it.rejected.is_some(),
            Some(Observation::ReconnectsExhausted(_)) => self.comes = false,
            _ => {}
        }
        let (outcome, route) = match decided(fact) {
            Some(Decision::ResponseIssued(it)) => (it.outcome, it.route),
            Some(Decision::OutcomeReconciled(it)) => (Outcome::Supplied, it.route),
            _ => return false,
        };
        let waits = self.comes && self.wanted && outcome != Outcome::Interim;
        route == Route::Connect || (route == Route::Parked && waits)
    }
}
