//! Waits that are acknowledged later: their beginnings and ends, read from the records.

use std::collections::BTreeMap;
use std::time::Duration;

use recount_session::{
    Call, Deadline, Decision, Effect, Fact, Outcome, Seq, Session, Timestamp, WaitsFor,
};

use super::recording::{Recording, decided};

/// The beginnings of the waits for which no passed time is on record, by call.
#[derive(Default)]
pub(crate) struct Quiet(BTreeMap<Seq, Timestamp>);

impl Quiet {
    pub(crate) fn begins(&mut self, call: Seq, at: Timestamp) {
        self.0.insert(call, at);
    }

    pub(crate) fn ends(&mut self, call: Seq) {
        self.0.remove(&call);
    }

    /// The time of a wait has passed, unless the tools in force want a longer one.
    pub(crate) fn passed(
        &mut self,
        recording: &Recording,
        attached: Option<Seq>,
        call: Seq,
        at: Timestamp,
    ) {
        if self
            .due(recording, attached, call)
            .is_some_and(|due| due <= at)
        {
            self.ends(call);
        }
    }

    /// True if this record acknowledges a wait whose time has not passed.
    pub(crate) fn is_early(
        &self,
        recording: &Recording,
        attached: Option<Seq>,
        fact: &Fact,
    ) -> bool {
        let Some(Decision::ResponseIssued(it)) = decided(fact) else {
            return false;
        };
        // Other interim responses are results of the tool.
        let acknowledges = it.outcome == Outcome::Interim && it.response.is_some();
        acknowledges && self.due(recording, attached, it.call).is_some()
    }

    /// Returns the timers that are owed for these waits. `expiries` are those of the open requests.
    pub(crate) fn timers(
        &self,
        recording: &Recording,
        attached: Option<Seq>,
        session: &Session,
        expiries: &BTreeMap<Seq, Option<Timestamp>>,
    ) -> Vec<Effect> {
        let acknowledges = attached.is_some_and(|at| recording.tools[&at].policies().acknowledges);
        let waiting = self.0.keys().filter(|_| acknowledges);
        let timers = waiting.filter_map(|call| {
            let due_us = self.due(recording, attached, *call)?;
            let open = session.calls.get(call)?;
            let expiry = expiries.get(call).copied().flatten();
            let expires_first = expiry.is_some_and(|expiry| expiry <= due_us);
            let deadline = Deadline::Acknowledgement { call: *call };
            (waits_by_id(session, open) && !expires_first)
                .then_some(Effect::ArmTimer { deadline, due_us })
        });
        timers.collect()
    }

    fn due(&self, recording: &Recording, attached: Option<Seq>, call: Seq) -> Option<Timestamp> {
        let since = *self.0.get(&call)?;
        let calls = recording.calls();
        let name = calls.get(&call)?.name.as_deref()?;
        Some(since.after(delay(recording, attached, name)?))
    }
}

fn delay(recording: &Recording, attached: Option<Seq>, name: &str) -> Option<Duration> {
    let policies = recording.tools.get(&attached?)?.policies();
    let own = policies.tools.get(name).and_then(|it| it.acknowledge_after);
    own.or(policies.acknowledge_after)
}

/// True if the model waits for this call's id on the live connection, and would be told so.
fn waits_by_id(session: &Session, call: &Call) -> bool {
    let answered = session.single_response && call.told_meanwhile;
    let inside = call.made_by_program || call.parent.is_some();
    let is_live = session.connection == Some(call.epoch);
    let waits = match call.phase.waits_for() {
        WaitsFor::Person => true,
        WaitsFor::Response => session.single_response,
        _ => false,
    };
    waits && is_live && !inside && !answered && !call.acknowledged && !call.model_lost_interest
}
