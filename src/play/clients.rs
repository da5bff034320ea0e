//! The recorded requests of clients that ran calls, made again.

use std::collections::BTreeMap;
use std::time::Duration;

use super::driver::Driver;
use super::relayed::is_claim_of_relay;
use super::serving::Serving;
use super::tools::result_in_words;
use crate::engine::{self, ClaimKey, ClaimRequest, ClientAction, Operated, Operation};
use crate::fixture::playback::run_of;
use crate::fixture::{Fixture, Step};
use crate::session::{
    Actor, CallClaimed, ClaimEnded, Finding, Lease, LeaseRenewed, Observation, OutcomeFound, Seq,
    Timestamp,
};

/// The claims of a fixture, by the number of their call and its start.
pub(super) type Claims = BTreeMap<(Seq, u32), (String, Actor)>;

/// Returns the claims of a fixture.
pub(super) fn claims_of(fixture: &Fixture) -> Claims {
    let claims = fixture.steps().iter().filter_map(|timed| {
        if let Step::Observed(observation) = &timed.step
            && let Observation::CallClaimed(it) = observation
        {
            return Some(((it.call, it.attempt), (it.claim.clone(), it.by.clone())));
        }
        None
    });
    claims.collect()
}

impl Driver<'_> {
    /// True if a client made the report.
    pub(super) fn is_of_client(&self, observation: &Observation) -> bool {
        run_of(observation).is_some_and(|run| self.claims.contains_key(&run))
    }

    pub(super) fn claim_again(&mut self, it: &CallClaimed) {
        // The engine itself claims calls for the client of a relayed connection.
        if is_claim_of_relay(self.fixture, &it.claim) {
            return;
        }
        let Some(call) = self.numbers.call_at(it.call) else {
            return self.undone(format!("call {} was not made", it.call));
        };
        let request = ClaimRequest::new(it.claim.clone())
            .lease(lease(it.until_us))
            .of_call(self.session(), call);
        let (by, serving) = (it.by.clone(), self.serving.clone());
        self.attempt("a claim", async move { serving.claim(&request, by).await });
    }

    pub(super) fn renew_again(&mut self, it: &LeaseRenewed) {
        let action = ClientAction::Renew(lease(it.until_us));
        self.client(
            "a renewal",
            (it.call, it.attempt),
            &it.claim,
            it.by.clone(),
            action,
        );
    }

    pub(super) fn end_claim_again(&mut self, it: &ClaimEnded) {
        let action = ClientAction::End {
            reason: it.reason.clone(),
            not_begun: it.not_begun,
        };
        self.client(
            "the end of a claim",
            (it.call, it.attempt),
            &it.claim,
            it.by.clone(),
            action,
        );
    }

    /// Repeats a result that came after its lease.
    pub(super) fn return_late(&mut self, it: &OutcomeFound, attempt: u32) {
        let result = match it.found.clone() {
            Finding::Done(result) => Ok(result),
            Finding::Failed(reason) => Err(reason),
        };
        self.report_of_client((it.call, attempt), ClientAction::Return(result));
    }

    /// Repeats a report of a client: a result, one of several, or an event.
    pub(super) fn reported_by_client(&mut self, observation: &Observation) {
        let Some(run) = run_of(observation) else {
            return;
        };
        let action = if let Observation::ToolReturned(it) = observation {
            ClientAction::Return(result_in_words(it))
        } else if let Observation::ToolYielded(it) = observation {
            ClientAction::Yield(it.response.clone())
        } else if let Observation::ToolEventEmitted(it) = observation {
            let (name, data) = (it.name.clone(), it.data.clone());
            ClientAction::Report { name, data }
        } else {
            let kind = observation.kind();
            return self.undone(format!("a client does nothing such as {kind}"));
        };
        self.report_of_client(run, action);
    }

    fn report_of_client(&mut self, run: (Seq, u32), action: ClientAction) {
        let Some((claim, by)) = self.claims.get(&run).cloned() else {
            return self.undone(format!("start {} of call {} has no claim", run.1, run.0));
        };
        self.client("a client's report", run, &claim, by, action);
    }

    fn client(
        &mut self,
        what: &'static str,
        (number, attempt): (Seq, u32),
        claim: &str,
        by: Actor,
        action: ClientAction,
    ) {
        let Some(call) = self.numbers.call_at(number) else {
            return self.undone(format!("call {number} was not made"));
        };
        let key = ClaimKey {
            session: self.session(),
            call,
            attempt: Some(attempt),
            claim: claim.to_owned(),
        };
        let serving = self.serving.clone();
        self.attempt(what, async move {
            serving.operate(Operation::Client { key, action }, by).await
        });
    }
}

impl Serving {
    async fn claim(&self, request: &ClaimRequest, by: Actor) -> Result<(), engine::Error> {
        match self {
            Serving::Engine(engine) => engine.claim(request, by).await.map(drop),
            Serving::Desk(desk) => desk.claim(request, by).await.map(drop),
        }
    }

    /// Makes an operation. The record shows a refusal.
    async fn operate(&self, operation: Operation, by: Actor) -> Result<(), engine::Error> {
        let done = match self {
            Serving::Engine(engine) => engine.operate(operation, by).await?,
            Serving::Desk(desk) => desk.operate(operation, by).await?,
        };
        match done {
            Operated::OnRecord(_) | Operated::Refused(_) => Ok(()),
            Operated::OnRecordBut(_, error) => Err(error),
        }
    }
}

/// Returns the recorded lease. It is somewhat shorter than the one that was asked for, because the
/// record was written later.
fn lease(length: Timestamp) -> Lease {
    let us = u64::try_from(length.0).unwrap_or_default();
    let short = Lease::new(Lease::MIN).unwrap_or(Lease::DEFAULT);
    Lease::new(Duration::from_micros(us)).unwrap_or(short)
}
